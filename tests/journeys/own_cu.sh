# I have vector_add.cu: profile it, change it, profile it again, compare. Needs nvcc, ncu and a GPU.
cat > vector_add.cu <<'CODE'
#include <cstdio>
__global__ void add(const float* a, const float* b, float* c, int n) {
    int i = threadIdx.x * gridDim.x + blockIdx.x;
    if (i < n) c[i] = a[i] + b[i];
}
int main() {
    const int n = 1 << 24;
    float *a, *b, *c;
    cudaMalloc(&a, n * 4), cudaMalloc(&b, n * 4), cudaMalloc(&c, n * 4);
    for (int k = 0; k < 3; k++) add<<<n / 256, 256>>>(a, b, c, n);
    printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
}
CODE
ncu-assist profile vector_add.cu
sed -i 's/threadIdx.x \* gridDim.x + blockIdx.x/blockIdx.x * blockDim.x + threadIdx.x/' vector_add.cu
ncu-assist profile vector_add.cu
ncu-assist diff
