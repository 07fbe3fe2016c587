// A thread a particle, over the cells around its own.
#include <cuda_runtime.h>

constexpr int THREADS = 128;

__global__ void sum_near(const float* position, const int* start, float* density, long long particles, int side) {
    long long i = static_cast<long long>(blockIdx.x) * THREADS + threadIdx.x;
    if (i >= particles) return;
    int cx = min(static_cast<int>(position[3 * i]), side - 1);
    int cy = min(static_cast<int>(position[3 * i + 1]), side - 1);
    int cz = min(static_cast<int>(position[3 * i + 2]), side - 1);
    float sum = 0.0f;
    for (int z = max(cz - 1, 0); z <= min(cz + 1, side - 1); ++z) {
        for (int y = max(cy - 1, 0); y <= min(cy + 1, side - 1); ++y) {
            for (int x = max(cx - 1, 0); x <= min(cx + 1, side - 1); ++x) {
                int cell = (z * side + y) * side + x;
                for (int j = start[cell]; j < start[cell + 1]; ++j) {
                    float dx = position[3 * i] - position[3 * j];
                    float dy = position[3 * i + 1] - position[3 * j + 1];
                    float dz = position[3 * i + 2] - position[3 * j + 2];
                    float squared = dx * dx + dy * dy + dz * dz;
                    if (squared < 1.0f) sum += (1.0f - squared) * (1.0f - squared) * (1.0f - squared);
                }
            }
        }
    }
    density[i] = sum;
}

extern "C" cudaError_t particle_density(const float* position, const int* start, float* density, long long particles,
                                        long long side, cudaStream_t stream) {
    unsigned blocks = static_cast<unsigned>((particles + THREADS - 1) / THREADS);
    sum_near<<<blocks, THREADS, 0, stream>>>(position, start, density, particles, static_cast<int>(side));
    return cudaGetLastError();
}
