// A thread a point.
#include <cuda_runtime.h>

constexpr int THREADS = 256;

__global__ void assign(const float* point, const float* centre, int* label, long long points, long long centres,
                       long long dim) {
    long long p = static_cast<long long>(blockIdx.x) * THREADS + threadIdx.x;
    if (p >= points) return;
    float least = INFINITY;
    int nearest = 0;
    for (long long c = 0; c < centres; ++c) {
        float distance = 0.0f;
        for (long long d = 0; d < dim; ++d) {
            float difference = point[p * dim + d] - centre[c * dim + d];
            distance += difference * difference;
        }
        if (distance < least) {
            least = distance;
            nearest = static_cast<int>(c);
        }
    }
    label[p] = nearest;
}

extern "C" cudaError_t nearest_centre(const float* point, const float* centre, int* label, long long points,
                                      long long centres, long long dim, cudaStream_t stream) {
    unsigned blocks = static_cast<unsigned>((points + THREADS - 1) / THREADS);
    assign<<<blocks, THREADS, 0, stream>>>(point, centre, label, points, centres, dim);
    return cudaGetLastError();
}
