// Two streams and nested NVTX ranges: push/pop in the default domain and in a domain of its own, one start/end range.
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#include <nvtx3/nvToolsExt.h>

#define CHECK(call)                                                                      \
    do {                                                                                 \
        cudaError_t status = (call);                                                     \
        if (status != cudaSuccess) {                                                     \
            std::fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(status));         \
            std::exit(1);                                                                \
        }                                                                                \
    } while (0)

namespace ops {
template <typename T, int SCALE>
__global__ void scale(T *data, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) data[i] *= T(SCALE);
}
}  // namespace ops

static void push(nvtxDomainHandle_t domain, const char *text) {
    nvtxEventAttributes_t event = {};
    event.version = NVTX_VERSION;
    event.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    event.messageType = NVTX_MESSAGE_TYPE_ASCII;
    event.message.ascii = text;
    nvtxDomainRangePushEx(domain, &event);
}

int main() {
    const int n = 1 << 20;
    float *a;
    double *b;
    cudaStream_t first, second;
    CHECK(cudaMalloc(&a, n * sizeof(float)));
    CHECK(cudaMalloc(&b, n * sizeof(double)));
    CHECK(cudaMemset(a, 0, n * sizeof(float)));
    CHECK(cudaMemset(b, 0, n * sizeof(double)));
    CHECK(cudaStreamCreate(&first));
    CHECK(cudaStreamCreate(&second));
    nvtxDomainHandle_t domain = nvtxDomainCreateA("model");
    nvtxRangeId_t whole = nvtxRangeStartA("whole run");
    nvtxRangePushA("step 1");
    nvtxRangePushA("layer/0 \"quoted\"");
    ops::scale<float, 2><<<n / 256, 256, 0, first>>>(a, n);
    nvtxRangePop();
    push(domain, "attention");
    ops::scale<double, 3><<<n / 128, 128, 0, second>>>(b, n);
    nvtxDomainRangePop(domain);
    nvtxRangePop();
    ops::scale<float, 2><<<n / 512, 512, 0, second>>>(a, n);
    nvtxRangeEnd(whole);
    ops::scale<float, 4><<<n / 256, 256>>>(a, n);
    CHECK(cudaDeviceSynchronize());
    return 0;
}
