// The link to the host: wasted bytes and small requests from uncoalesced loads, whole lines in any order, few blocks.
#include "gallery.cuh"

constexpr int ROW = 32;  // floats of a row: a line of 128 bytes
constexpr int LINES = HOST_COUNT / ROW;
constexpr int MEMBERS = 8;  // floats of a struct: a sector
constexpr int STRUCTS = HOST_COUNT / MEMBERS;

// ---- uncoalesced loads

// Sums of rows, a thread a row. Each lane stands in a line of its own and caches keep its sector until all of it was
// used: 8 MiB cross the link, as they must, but in 262,144 requests of a sector. At 660 million a second, which is what
// `kernels/fast_h2d` saw, that is 397 µs.
extern "C" __global__ void link_thread_a_row(const float *__restrict__ in, float *out, int width) {
    int row = blockIdx.x * 256 + threadIdx.x;
    float sum = 0;
#pragma unroll 8  // a sector: one at a time is under way for each thread
    for (int c = 0; c < width; ++c) sum += in[row * width + c];  // FAULT
    out[row] = sum;
}

// A warp a row: 65,536 requests of a line, 152 to 165 µs.
extern "C" __global__ void link_thread_a_row_fix(const float *__restrict__ in, float *out) {
    int row = (blockIdx.x * 256 + threadIdx.x) / 32, lane = threadIdx.x % 32;
    float sum = warp_sum(in[row * ROW + lane]);
    if (lane == 0) out[row] = sum;
}

// One float of every 32-byte struct: all lines cross, an eighth of each is used. 8 MiB, 152 to 165 µs.
extern "C" __global__ void link_struct_member(const float *__restrict__ particles, float *out) {
    int i = blockIdx.x * 256 + threadIdx.x;
    out[i] = 0.5f * particles[i * MEMBERS + 3];  // FAULT
}

// The same floats in an array of their own: 1 MiB, 19 to 21 µs.
extern "C" __global__ void link_struct_member_fix(const float *__restrict__ speeds, float *out) {
    int i = blockIdx.x * 256 + threadIdx.x;
    out[i] = 0.5f * speeds[i];
}

extern "C" __global__ void link_split_particles(const float *particles, float *speeds) {
    int i = blockIdx.x * 256 + threadIdx.x;
    speeds[i] = particles[i * MEMBERS + 3];
}

static float *host_speeds() {
    static float *speeds = nullptr;
    if (!speeds) {
        CHECK(cudaHostAlloc(&speeds, STRUCTS * 4, cudaHostAllocMapped));
        link_split_particles<<<STRUCTS / 256, 256>>>(HOST, speeds);
        CHECK(cudaDeviceSynchronize());
    }
    return speeds;
}

CASE(link_thread_a_row, OUT, LINES, 1, nullptr, link_thread_a_row<<<LINES / 256, 256>>>(HOST, OUT, ROW))
CASE(link_thread_a_row_fix, OUT, LINES, 1, "link_thread_a_row", link_thread_a_row_fix<<<LINES / 8, 256>>>(HOST, OUT))
CASE(link_struct_member, OUT, STRUCTS, 1, nullptr, link_struct_member<<<STRUCTS / 256, 256>>>(HOST, OUT))
CASE(link_struct_member_fix, OUT, STRUCTS, 1, "link_struct_member",
     link_struct_member_fix<<<STRUCTS / 256, 256>>>(host_speeds(), OUT))

// ---- loads that need what they ask for

// Lines in any order, a warp a line: scattered, and yet no byte and no request too many.
extern "C" __global__ void link_scattered_rows(const float *__restrict__ in, float *out) {
    unsigned warp = (blockIdx.x * 256 + threadIdx.x) / 32, lane = threadIdx.x % 32;
    unsigned row = warp * 2654435761u & (LINES - 1);
    out[warp * ROW + lane] = in[row * ROW + lane];
}

CASE(link_scattered_rows, OUT, HOST_COUNT, 1, nullptr, link_scattered_rows<<<LINES / 8, 256>>>(HOST, OUT))

// ---- few blocks

// Records of 32 bytes in any order, two lanes a record, in 16 blocks: 262,144 requests of a sector, whose bytes leave
// the link more than half empty. 8,192 of them are under way at a time, where a link of 660 million a second
// and some 1.5 µs wants 1,000: more blocks would bring nothing.
extern "C" __global__ void __launch_bounds__(1024) link_records_few_blocks(const float4 *__restrict__ in, float4 *out) {
    for (unsigned i = blockIdx.x * 1024 + threadIdx.x; i < HOST_COUNT / 4; i += gridDim.x * 1024) {
        unsigned record = i / 2 * 2654435761u & (STRUCTS - 1);
        out[i] = in[record * 2 + i % 2];
    }
}

// One block of 512 threads has 8 KiB under way where the link wants 75 and more: 5 GB/s, nine tenths of it empty.
extern "C" __global__ void link_one_block(const float4 *__restrict__ in, float4 *out) {
#pragma unroll 1
    for (int i = threadIdx.x; i < HOST_COUNT / 4; i += 512) out[i] = in[i];
}

extern "C" __global__ void link_one_block_fix(const float4 *__restrict__ in, float4 *out) {
    int i = blockIdx.x * 256 + threadIdx.x;
    out[i] = in[i];
}

CASE(link_records_few_blocks, OUT, HOST_COUNT, 1, nullptr,
     link_records_few_blocks<<<16, 1024>>>((float4 *)HOST, (float4 *)OUT))
CASE(link_one_block, OUT, HOST_COUNT, 1, nullptr, link_one_block<<<1, 512>>>((float4 *)HOST, (float4 *)OUT))
CASE(link_one_block_fix, OUT, HOST_COUNT, 1, "link_one_block",
     link_one_block_fix<<<HOST_COUNT / 1024, 256>>>((float4 *)HOST, (float4 *)OUT))
