// How many bytes a second DRAM delivers to reads of SECTORS adjacent sectors of 32 bytes at random places.
//
// nvcc -O3 -lineinfo -arch=sm_90a -o scattered_reads scattered_reads.cu; ./scattered_reads [once]
//
// Each lane reads 4 bytes of a sector, so that the bytes printed are those of the sectors that were asked for. 16 GiB
// are far more than any L2 holds. `once` launches each kernel once, for ncu. Results of an H200:
// results/scattered_reads_h200.txt.
#include <cstdio>
#include <cuda_runtime.h>

constexpr int THREADS = 256, BLOCKS_TO_EACH = 4, ROUNDS = 64, FLOATS_IN_A_SECTOR = 8;

__device__ unsigned long long mixed(unsigned long long x) {
    x ^= x >> 31;
    x *= 0x7fb5d329728ea185ull;
    x ^= x >> 27;
    x *= 0x81dadef4bc2dd44dull;
    return x ^ x >> 33;
}

template <int SECTORS>
__global__ void gather(const float* from, float* to, unsigned long long places, int rounds, int seed) {
    unsigned long long id = blockIdx.x * (unsigned long long)blockDim.x + threadIdx.x;
    unsigned long long group = id / SECTORS, part = id % SECTORS;
    unsigned long long groups = (unsigned long long)gridDim.x * blockDim.x / SECTORS;
    float sum = 0;
#pragma unroll 4
    for (int r = 0; r < rounds; ++r) {
        unsigned long long place = mixed(group + groups * (r + (unsigned long long)seed * rounds)) % places;
        sum += from[(place * SECTORS + part) * FLOATS_IN_A_SECTOR];
    }
    if (sum == 12345.0f) to[id] = sum;  // never: the compiler does not know
}

template <int SECTORS>
void run(const float* from, float* to, size_t bytes, int threads, int repeats) {
    cudaEvent_t begin, end;
    cudaEventCreate(&begin);
    cudaEventCreate(&end);
    int sms;
    cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0);
    int blocks = sms * (threads / THREADS) * BLOCKS_TO_EACH;
    float best = 1e9;
    for (int i = 0; i < repeats; ++i) {
        cudaEventRecord(begin);
        gather<SECTORS><<<blocks, THREADS>>>(from, to, bytes / (32 * SECTORS), ROUNDS, i);
        cudaEventRecord(end);
        cudaEventSynchronize(end);
        float ms;
        cudaEventElapsedTime(&ms, begin, end);
        best = ms < best ? ms : best;
    }
    double sectors = (double)blocks * THREADS * ROUNDS;
    const char* error = cudaGetErrorString(cudaGetLastError());
    printf("%d sectors, %4d threads an SM: %7.1f GB/s asked (%s)\n", SECTORS, threads, sectors * 32 / best / 1e6, error);
}

int main(int argc, char**) {
    int repeats = argc > 1 ? 1 : 6;
    size_t bytes = 16ull << 30;
    float *from, *to;
    cudaMalloc(&from, bytes);
    cudaMalloc(&to, 64 << 20);
    cudaMemset(from, 0, bytes);
    for (int threads : {256, 512, 1024, 2048}) {
        run<1>(from, to, bytes, threads, repeats);
        run<2>(from, to, bytes, threads, repeats);
        run<4>(from, to, bytes, threads, repeats);
        run<8>(from, to, bytes, threads, repeats);
        run<32>(from, to, bytes, threads, repeats);
    }
}
