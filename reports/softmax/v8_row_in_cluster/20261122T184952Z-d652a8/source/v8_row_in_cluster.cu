// Changes, to v7: rows of more than 8192 columns are spread over a cluster of two to eight blocks. Up to 65,536
// columns they stay in registers, 32 values a thread, and are read once. Each warp writes its statistics into the
// shared memory of all blocks of the cluster, so that a row costs one barrier. Longer rows are still read twice, by a
// cluster of eight, so that fewer of them are in work at a time.
//
// expected: `at-dram-roofline` at c64k: four blocks of 32 KB in flight an SM, 66 rows in work, one read, one write.
//   0.92 to 0.98 of the copy, 1.45 times v6; what is missing is waiting for the slowest of eight blocks, and for room
//   for the eight of the next row at once. The other workloads as v7.
// measured: 563 us at c64k, 0.90 of the copy, 1.39 times v7, 1.85 times v1; `unexplained`: one read, but 29 % of the
//   warp states wait for a fence, which is in barrier.cluster.arrive, and 62 clusters fit, not 66. Else as v7: 31.3 us
//   at c4k, 1.80 times v1.
#include "spread.cuh"

struct Exchange;
#if HAS_CLUSTERS
struct Exchange {
    Statistics parts[MOST_BLOCKS * WARPS];  // of every warp of the cluster

    __device__ void begin(int) { arrive_in_cluster(); }
    __device__ void tell(int lane, int warp, Statistics of_warp, int blocks) {
        await_cluster();  // none is written to that has not started
        if (lane < blocks) write_to(lane, parts + warp, of_warp);
        __syncwarp();
        arrive_in_cluster();
        await_cluster();  // from here on nobody writes to another block, which may have ended
    }
};
#endif

extern "C" cudaError_t softmax(const float* x, float* y, long long rows, long long cols, cudaStream_t stream) {
    return softmax_of_any<Exchange>(x, y, rows, cols, stream);
}
