// A great many launches of small kernels. Usage: many LAUNCHES
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

__global__ void add_one(float *data, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) data[i] += 1.0f;
}

__global__ void halve(float *data, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) data[i] *= 0.5f;
}

int main(int argc, char **argv) {
    int launches = argc > 1 ? std::atoi(argv[1]) : 2000;
    float *data;
    if (cudaMalloc(&data, 1 << 20) != cudaSuccess) return 1;
    cudaMemset(data, 0, 1 << 20);
    for (int i = 0; i < launches; ++i) {
        int n = 256 * (1 + i % 7);
        if (i % 2) halve<<<1 + i % 7, 256>>>(data, n);
        else add_one<<<1 + i % 7, 256>>>(data, n);
    }
    return cudaDeviceSynchronize() == cudaSuccess ? 0 : 1;
}
