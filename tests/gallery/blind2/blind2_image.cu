// Images and volumes: convolution through shared memory, filters a channel, smoothing of a volume, gradient histograms.
#include "../gallery.cuh"

constexpr int SIDE = 4096, PITCH = SIDE + 32, TAPS = 9;

__constant__ float image_taps[TAPS * TAPS];

static void set_image_taps() {
    static bool done = [] {
        float taps[TAPS * TAPS];
        for (int i = 0; i < TAPS * TAPS; ++i) taps[i] = (i * 5 % 11 + 1) / 512.0f;
        CHECK(cudaMemcpyToSymbol(image_taps, taps, sizeof taps));
        return true;
    }();
    (void)done;
}

// A load from shared memory for every product: 81 wavefronts an output of a warp where the FMA pipe needs 20 cycles.
// By the arithmetic the strip of the fix (24 loads for 144 products) is bound by the FMA pipe: about 3x.
extern "C" __global__ void __launch_bounds__(512) conv9_output_a_thread(const float *in, float *out) {
    __shared__ float tile[24][40];
    int tx = threadIdx.x % 32, ty = threadIdx.x / 32;
    int x0 = blockIdx.x * 32, y0 = blockIdx.y * 16;
    for (int i = threadIdx.x; i < 24 * 40; i += 512) tile[i / 40][i % 40] = in[(y0 + i / 40) * PITCH + x0 + i % 40];
    __syncthreads();
    float sum = 0;
#pragma unroll
    for (int dy = 0; dy < TAPS; ++dy)
#pragma unroll
        for (int dx = 0; dx < TAPS; ++dx)
            sum = fmaf(tile[ty + dy][tx + dx], image_taps[dy * TAPS + dx], sum);  // FAULT
    out[(y0 + ty) * SIDE + x0 + tx] = sum;
}

extern "C" __global__ void __launch_bounds__(128) conv9_output_a_thread_fix(const float *in, float *out) {
    __shared__ float tile[72][40];
    int tx = threadIdx.x % 32, ty = threadIdx.x / 32 * 16;
    int x0 = blockIdx.x * 32, y0 = blockIdx.y * 64;
    for (int i = threadIdx.x; i < 72 * 40; i += 128) tile[i / 40][i % 40] = in[(y0 + i / 40) * PITCH + x0 + i % 40];
    __syncthreads();
    float sum[16] = {};
#pragma unroll
    for (int dx = 0; dx < TAPS; ++dx) {
        float column[24];
#pragma unroll
        for (int i = 0; i < 24; ++i) column[i] = tile[ty + i][tx + dx];
#pragma unroll
        for (int i = 0; i < 16; ++i)
#pragma unroll
            for (int dy = 0; dy < TAPS; ++dy) sum[i] = fmaf(column[i + dy], image_taps[dy * TAPS + dx], sum[i]);
    }
#pragma unroll
    for (int i = 0; i < 16; ++i) out[(y0 + ty + i) * SIDE + x0 + tx] = sum[i];
}

CASE(conv9_output_a_thread, OUT, (long)SIDE *SIDE, 1, nullptr, set_image_taps();
     conv9_output_a_thread<<<dim3(SIDE / 32, SIDE / 16), 512>>>(A, OUT))
CASE(conv9_output_a_thread_fix, OUT, (long)SIDE *SIDE, 1, "conv9_output_a_thread", set_image_taps();
     conv9_output_a_thread_fix<<<dim3(SIDE / 32, SIDE / 64), 128>>>(A, OUT))

constexpr int CHANNELS = 64, EDGE = 256, IMAGES = 4;

__constant__ float channel_weights[CHANNELS * 9];
__device__ float weights_by_tap[9 * CHANNELS];

static void set_channel_weights() {
    static bool done = [] {
        float weights[CHANNELS * 9], turned[CHANNELS * 9];
        for (int c = 0; c < CHANNELS; ++c)
            for (int k = 0; k < 9; ++k) turned[k * CHANNELS + c] = weights[c * 9 + k] = (c * 7 + k * 3) % 13 / 32.0f;
        CHECK(cudaMemcpyToSymbol(channel_weights, weights, sizeof weights));
        CHECK(cudaMemcpyToSymbol(weights_by_tap, turned, sizeof turned));
        return true;
    }();
    (void)done;
}

// Channels are innermost, so the lanes of a warp want 32 different weights of constant memory at every tap: 9 x 32
// turns of the constant cache an output of a warp, where loads from L1 and DRAM need about 15 cycles. More than 3x.
extern "C" __global__ void __launch_bounds__(256) depthwise_weights_constant(const float *in, float *out) {
    int c = threadIdx.x % CHANNELS, x = blockIdx.x * 4 + threadIdx.x / CHANNELS, y = blockIdx.y, n = blockIdx.z;
    const float *from = in + ((n * (EDGE + 2L) + y) * (EDGE + 2) + x) * CHANNELS + c;
    float sum = 0;
#pragma unroll
    for (int k = 0; k < 9; ++k)
        sum = fmaf(from[(k / 3 * (EDGE + 2) + k % 3) * CHANNELS], channel_weights[c * 9 + k], sum);  // FAULT
    out[((n * (long)EDGE + y) * EDGE + x) * CHANNELS + c] = sum;
}

extern "C" __global__ void __launch_bounds__(256) depthwise_weights_constant_fix(const float *in, float *out) {
    int c = threadIdx.x % CHANNELS, x = blockIdx.x * 4 + threadIdx.x / CHANNELS, y = blockIdx.y, n = blockIdx.z;
    const float *from = in + ((n * (EDGE + 2L) + y) * (EDGE + 2) + x) * CHANNELS + c;
    float sum = 0;
#pragma unroll
    for (int k = 0; k < 9; ++k)
        sum = fmaf(from[(k / 3 * (EDGE + 2) + k % 3) * CHANNELS], weights_by_tap[k * CHANNELS + c], sum);
    out[((n * (long)EDGE + y) * EDGE + x) * CHANNELS + c] = sum;
}

constexpr long DEPTHWISE = (long)IMAGES * EDGE * EDGE * CHANNELS;
CASE(depthwise_weights_constant, OUT, DEPTHWISE, 1, nullptr, set_channel_weights();
     depthwise_weights_constant<<<dim3(EDGE / 4, EDGE, IMAGES), 256>>>(A, OUT))
CASE(depthwise_weights_constant_fix, OUT, DEPTHWISE, 1, "depthwise_weights_constant", set_channel_weights();
     depthwise_weights_constant_fix<<<dim3(EDGE / 4, EDGE, IMAGES), 256>>>(A, OUT))

constexpr int NX = 256, NY = 256, NZ = 128, ROW = NX + 32, PLANE = ROW * (NY + 4);

__constant__ float volume_taps[125];

static void set_volume_taps() {
    static bool done = [] {
        float taps[125];
        for (int i = 0; i < 125; ++i) taps[i] = (i * 7 % 17 + 1) / 1024.0f;
        CHECK(cudaMemcpyToSymbol(volume_taps, taps, sizeof taps));
        return true;
    }();
    (void)done;
}

// 125 loads a point, nearly all from L1, an FMA each: 125 wavefronts or more where the FMA pipe needs 31 cycles.
// The fix keeps a column of twelve values for eight points, 37 loads a point: about 2.8x.
extern "C" __global__ void __launch_bounds__(1024) stencil125_point_a_thread(const float *in, float *out) {
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y, z = blockIdx.z * 4 + threadIdx.z;
    const float *from = in + z * PLANE + y * ROW + x;
    float sum = 0;
#pragma unroll
    for (int dy = 0; dy < 5; ++dy)
#pragma unroll
        for (int dx = 0; dx < 5; ++dx)
#pragma unroll
            for (int dz = 0; dz < 5; ++dz)
                sum = fmaf(__ldg(from + dz * PLANE + dy * ROW + dx), volume_taps[dz * 25 + dy * 5 + dx], sum);  // FAULT
    out[(z * NY + y) * NX + x] = sum;
}

extern "C" __global__ void __launch_bounds__(256) stencil125_point_a_thread_fix(const float *in, float *out) {
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y, z = blockIdx.z * 8;
    const float *from = in + z * PLANE + y * ROW + x;
    float sum[8] = {};
#pragma unroll
    for (int dy = 0; dy < 5; ++dy)
#pragma unroll
        for (int dx = 0; dx < 5; ++dx) {
            float column[12];
#pragma unroll
            for (int i = 0; i < 12; ++i) column[i] = __ldg(from + i * PLANE + dy * ROW + dx);
#pragma unroll
            for (int i = 0; i < 8; ++i)
#pragma unroll
                for (int dz = 0; dz < 5; ++dz)
                    sum[i] = fmaf(column[i + dz], volume_taps[dz * 25 + dy * 5 + dx], sum[i]);
        }
#pragma unroll
    for (int i = 0; i < 8; ++i) out[((z + i) * NY + y) * NX + x] = sum[i];
}

CASE(stencil125_point_a_thread, OUT, (long)NX *NY *NZ, 1, nullptr, set_volume_taps();
     stencil125_point_a_thread<<<dim3(NX / 32, NY / 8, NZ / 4), dim3(32, 8, 4)>>>(A, OUT))
CASE(stencil125_point_a_thread_fix, OUT, (long)NX *NY *NZ, 1, "stencil125_point_a_thread", set_volume_taps();
     stencil125_point_a_thread_fix<<<dim3(NX / 32, NY / 8, NZ / 8), dim3(32, 8)>>>(A, OUT))

constexpr int BINS = 9, CELL = 64, CELLS = SIDE / CELL;

struct Gradient {
    int bin;
    float size;
};

__device__ __forceinline__ Gradient gradient_at(const float *in, int x, int y) {
    const float *at = in + (y + 1) * PITCH + x + 1;
    float gx = at[1] - at[-1], gy = at[PITCH] - at[-PITCH];
    float angle = atan2f(fabsf(gy), gx) * (BINS / 3.1415927f);
    return {min(BINS - 1, int(angle)), sqrtf(gx * gx + gy * gy)};
}

// Histogram of gradients: a cell's 4096 pixels add floats to nine words of shared memory. An addition of floats there
// is a compare-and-swap that goes round for every lane of the same bin, and again for other warps. 2x or more.
extern "C" __global__ void __launch_bounds__(256) gradients_nine_bins(const float *in, float *out) {
    __shared__ float bins[BINS];
    if (threadIdx.x < BINS) bins[threadIdx.x] = 0;
    __syncthreads();
    int x = blockIdx.x * CELL + threadIdx.x % CELL, y = blockIdx.y * CELL + threadIdx.x / CELL;
    for (int i = 0; i < CELL; i += 256 / CELL) {
        Gradient g = gradient_at(in, x, y + i);
        atomicAdd(&bins[g.bin], g.size);  // FAULT
    }
    __syncthreads();
    if (threadIdx.x < BINS) out[(blockIdx.y * CELLS + blockIdx.x) * BINS + threadIdx.x] = bins[threadIdx.x];
}

extern "C" __global__ void __launch_bounds__(256) gradients_nine_bins_fix(const float *in, float *out) {
    __shared__ float bins[BINS][256];
    for (int b = 0; b < BINS; ++b) bins[b][threadIdx.x] = 0;
    int x = blockIdx.x * CELL + threadIdx.x % CELL, y = blockIdx.y * CELL + threadIdx.x / CELL;
    for (int i = 0; i < CELL; i += 256 / CELL) {
        Gradient g = gradient_at(in, x, y + i);
        bins[g.bin][threadIdx.x] += g.size;
    }
    __syncthreads();
    for (int b = threadIdx.x / 32; b < BINS; b += 8) {
        float sum = 0;
        for (int i = threadIdx.x % 32; i < 256; i += 32) sum += bins[b][i];
        sum = warp_sum(sum);
        if (threadIdx.x % 32 == 0) out[(blockIdx.y * CELLS + blockIdx.x) * BINS + b] = sum;
    }
}

CASE(gradients_nine_bins, OUT, (long)CELLS *CELLS *BINS, 1, nullptr,
     gradients_nine_bins<<<dim3(CELLS, CELLS), 256>>>(A, OUT))
CASE(gradients_nine_bins_fix, OUT, (long)CELLS *CELLS *BINS, 1, "gradients_nine_bins",
     gradients_nine_bins_fix<<<dim3(CELLS, CELLS), 256>>>(A, OUT))
