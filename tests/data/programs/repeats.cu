// Six kernels of different kinds, launched over and over with the same input: what the same binary gives when it is
// profiled again. Usage: repeats [LAUNCHES]
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

#define CHECK(call)                                                                      \
    do {                                                                                 \
        cudaError_t status = (call);                                                     \
        if (status != cudaSuccess) {                                                     \
            std::fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(status));         \
            std::exit(1);                                                                \
        }                                                                                \
    } while (0)

constexpr int TILE = 32;
constexpr int ROWS = 8;

// Bound by DRAM: 512 MB moved.
__global__ void stream_copy(const float4 *in, float4 *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = in[i];
}

// Too short to fill the GPU: 64 kB.
__global__ void small_scale(const float *in, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = 2.0f * in[i];
}

// Bound by the FMA pipe.
__global__ void chain_of_fma(const float *in, float *out, int rounds) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float a = in[i], b = a + 1.0f, c = a + 2.0f, d = a + 3.0f;
    for (int r = 0; r < rounds; ++r) {
        a = fmaf(a, 0.999f, 0.5f);
        b = fmaf(b, 0.998f, 0.5f);
        c = fmaf(c, 0.997f, 0.5f);
        d = fmaf(d, 0.996f, 0.5f);
    }
    out[i] = a + b + c + d;
}

// Bank conflicts: a column of the tile lies in one bank.
__global__ void transpose_unpadded(const float *in, float *out, int n) {
    __shared__ float tile[TILE][TILE];
    int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
    for (int j = 0; j < TILE; j += ROWS) tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * n + x];
    __syncthreads();
    x = blockIdx.y * TILE + threadIdx.x;
    y = blockIdx.x * TILE + threadIdx.y;
    for (int j = 0; j < TILE; j += ROWS) out[(y + j) * n + x] = tile[threadIdx.x][threadIdx.y + j];
}

// Served by L2: random reads of 16 MB.
__global__ void random_gather(const float *in, float *out, int n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x, at = i * 2654435761u;
    float sum = 0.0f;
    for (int k = 0; k < 16; ++k) {
        at = at * 1664525u + 1013904223u;
        sum += in[at % n];
    }
    out[i % n] = sum;
}

// Atomics, divergence and barriers.
__global__ void histogram(const float *in, int *bins, int n) {
    __shared__ int own[64];
    if (threadIdx.x < 64) own[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        int bin = int(in[i] * 1000.0f) & 63;
        if (bin & 1) atomicAdd(&own[bin], 1);
    }
    __syncthreads();
    if (threadIdx.x < 64) atomicAdd(&bins[threadIdx.x], own[threadIdx.x]);
}

__global__ void fill(float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = float(i % 1021) * 0.01f;
}

int main(int argc, char **argv) {
    int launches = argc > 1 ? std::atoi(argv[1]) : 12;
    const int n = 64 << 20, side = 4096;
    float *in, *out;
    int *bins;
    CHECK(cudaMalloc(&in, n * sizeof(float)));
    CHECK(cudaMalloc(&out, n * sizeof(float)));
    CHECK(cudaMalloc(&bins, 64 * sizeof(int)));
    CHECK(cudaMemset(bins, 0, 64 * sizeof(int)));
    fill<<<n / 256, 256>>>(in, n);
    CHECK(cudaDeviceSynchronize());
    for (int i = 0; i < launches; ++i) {
        switch (i % 6) {
            case 0: stream_copy<<<n / 4 / 256, 256>>>((float4 *)in, (float4 *)out, n / 4); break;
            case 1: small_scale<<<64, 256>>>(in, out, 64 * 256); break;
            case 2: chain_of_fma<<<132 * 8, 256>>>(in, out, 4096); break;
            case 3: transpose_unpadded<<<dim3(side / TILE, side / TILE), dim3(TILE, ROWS)>>>(in, out, side); break;
            case 4: random_gather<<<132 * 16, 256>>>(in, out, 4 << 20); break;
            default: histogram<<<132 * 4, 256>>>(in, bins, n / 4);
        }
        CHECK(cudaGetLastError());
    }
    CHECK(cudaDeviceSynchronize());
    return 0;
}
