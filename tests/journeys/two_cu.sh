# I have two .cu files of one kernel: a kernel folder, a reference, which is faster. Needs nvcc; with a GPU also a verdict.
for name in naive packed; do
    cat > $name.cu <<'CODE'
#include <cuda_runtime.h>
__global__ void scale(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] * 2;
}
CODE
done
ncu-assist init
ncu-assist new scale --from naive.cu
sed -i 's/raise NotImplementedError.*/return (x.double() * 2,)/' kernels/scale/reference.py
sed 's/256/512/g' kernels/scale/v0_naive.cu > kernels/scale/v1_packed.cu
ncu-assist list scale
status=0
ncu-assist check scale || status=$?
if [ "${WITH_GPU:-}" ]; then
    ncu-assist profile scale
    ncu-assist diff v0 v1
else
    [ $status = 6 ]  # built, but not checked
fi
