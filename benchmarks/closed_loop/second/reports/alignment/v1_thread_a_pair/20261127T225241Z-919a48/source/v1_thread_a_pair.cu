// A thread a pair, with the last row of its table in local memory.
#include <cuda_runtime.h>

constexpr int THREADS = 128, LONGEST = 1024;

__global__ void align(const unsigned char* a, const unsigned char* b, int* score, long long pairs, long long rows,
                      long long columns) {
    long long pair = static_cast<long long>(blockIdx.x) * THREADS + threadIdx.x;
    if (pair >= pairs) return;
    int row[LONGEST + 1];
    for (int j = 0; j <= columns; ++j) row[j] = 0;
    int best = 0;
    for (int i = 1; i <= rows; ++i) {
        int diagonal = 0;
        for (int j = 1; j <= columns; ++j) {
            int above = row[j];
            int step = a[pair * rows + i - 1] == b[pair * columns + j - 1] ? 2 : -1;
            row[j] = max(max(0, diagonal + step), max(above, row[j - 1]) - 1);
            best = max(best, row[j]);
            diagonal = above;
        }
    }
    score[pair] = best;
}

extern "C" cudaError_t alignment(const unsigned char* a, const unsigned char* b, int* score, long long pairs,
                                 long long rows, long long columns, cudaStream_t stream) {
    if (columns > LONGEST) return cudaErrorInvalidValue;
    unsigned blocks = static_cast<unsigned>((pairs + THREADS - 1) / THREADS);
    align<<<blocks, THREADS, 0, stream>>>(a, b, score, pairs, rows, columns);
    return cudaGetLastError();
}
