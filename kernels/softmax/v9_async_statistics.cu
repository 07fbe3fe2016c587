// Changes, to v8: statistics are sent to the other blocks by asynchronous stores (PTX ISA, "st.async"), each of which
// tells the receiver's barrier in shared memory how many bytes came. A block waits for the bytes of all warps, and then
// nobody writes to it any more: one arrival at the cluster's barrier for two, and none that needs a fence.
// Bytes that come before a block has said how many it expects open nothing: its barrier waits for that arrival, too.
//
// expected: `at-dram-roofline` at c64k: no warp waits for a fence, 29 % of the states in v8. 1.05 to 1.12 times v8,
//   0.95 to 1.00 of the copy. All else as v8. A bench of a variant had shown 1.10 at c64k before it became a version.
// measured: 515 us at c64k, 0.99 of the copy, 1.098 times v8, 2.02 times v1, `at-dram-roofline`. No warp waits for a
//   fence or a barrier, 60 % of the states wait for data, 21 % in v8; a warp lives 7.1 us for 7.9. 62 clusters fit, as
//   in v8: the eight SMs without work were not the loss. Else as v8: 31.3 us at c4k, 1.79 times v1.
#include "spread.cuh"

struct Exchange;
#if HAS_CLUSTERS
struct Exchange {
    Statistics parts[MOST_BLOCKS * WARPS];  // of every warp of the cluster
    Arrivals arrivals;

    __device__ void begin(int blocks) {
        if (threadIdx.x == 0) expect_bytes(arrivals, blocks * WARPS * sizeof(Statistics));
        __syncwarp();
        arrive_without_fence();
    }
    __device__ void tell(int lane, int warp, Statistics of_warp, int blocks) {
        await_cluster();  // none is sent to that has not started
        if (lane < blocks) send_to(lane, parts + warp, of_warp, arrivals);
        await_bytes(arrivals);
    }
};
#endif

extern "C" cudaError_t softmax(const float* x, float* y, long long rows, long long cols, cudaStream_t stream) {
    return softmax_of_any<Exchange>(x, y, rows, cols, stream);
}
