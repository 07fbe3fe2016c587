// Global memory: wasted sectors, bytes in flight, ceilings, host memory, bytes moved more often than needed.
#include "gallery.cuh"

constexpr int SIDE = 6144;  // of the matrices: 144 MiB each
constexpr long CELLS = long(SIDE) * SIDE;
constexpr long PARTICLES = 8L << 20;
constexpr long COUNT = 64L << 20;

// ---- uncoalesced loads

extern "C" __global__ void load_struct_member(const float *__restrict__ particles, float *out) {
    long i = blockIdx.x * 256L + threadIdx.x;
    out[i] = 0.5f * particles[i * 8 + 3];  // FAULT
}

extern "C" __global__ void load_struct_member_fix(const float *__restrict__ speeds, float *out) {
    long i = blockIdx.x * 256L + threadIdx.x;
    out[i] = 0.5f * speeds[i];
}

extern "C" __global__ void split_particles(const float *particles, float *speeds) {
    long i = blockIdx.x * 256L + threadIdx.x;
    speeds[i] = particles[i * 8 + 3];
}

static float *speeds() {
    static float *own = nullptr;
    if (!own) {
        CHECK(cudaMalloc(&own, PARTICLES * 4));
        split_particles<<<PARTICLES / 256, 256>>>(A, own);
    }
    return own;
}

CASE(load_struct_member, OUT, PARTICLES, 1, nullptr, load_struct_member<<<PARTICLES / 256, 256>>>(A, OUT))
CASE(load_struct_member_fix, OUT, PARTICLES, 1, "load_struct_member",
     float *own = speeds(); load_struct_member_fix<<<PARTICLES / 256, 256>>>(own, OUT))

extern "C" __global__ void load_column_transpose(const float *__restrict__ in, float *out) {
    int x = blockIdx.x * 256 + threadIdx.x, y = blockIdx.y;
    out[long(y) * SIDE + x] = in[long(x) * SIDE + y];  // FAULT
}

CASE(load_column_transpose, OUT, CELLS, 1, nullptr,
     load_column_transpose<<<dim3(SIDE / 256, SIDE), 256>>>(A, OUT))

// A fifth sector a request, which the neighbour has just fetched: nothing more comes from DRAM.
extern "C" __global__ void load_shifted_by_one(const float *__restrict__ in, float *out) {
    long i = blockIdx.x * 1024L + threadIdx.x;
    float a = in[i + 1], b = in[i + 257], c = in[i + 513], d = in[i + 769];
    out[i] = a, out[i + 256] = b, out[i + 512] = c, out[i + 768] = d;
}

CASE(load_shifted_by_one, OUT, BIG - 1024, 1, nullptr,
     load_shifted_by_one<<<BIG / 1024 - 1, 256>>>(A, OUT))

// ---- uncoalesced stores

extern "C" __global__ void store_row_transpose_all(const float *__restrict__ in, float *out) {
    int x = blockIdx.x * 256 + threadIdx.x, y = blockIdx.y;
    out[long(x) * SIDE + y] = in[long(y) * SIDE + x];  // FAULT
}

CASE(store_row_transpose_all, OUT, CELLS, 1, nullptr, store_row_transpose_all<<<dim3(SIDE / 256, SIDE), 256>>>(A, OUT))

extern "C" __global__ void store_struct_member(const float *__restrict__ in, float *particles) {
    long i = blockIdx.x * 256L + threadIdx.x;
    particles[i * 8 + 3] = in[i] * 2.0f;  // FAULT
}

extern "C" __global__ void store_struct_member_fix(const float *__restrict__ in, float *speeds) {
    long i = blockIdx.x * 256L + threadIdx.x;
    speeds[i] = in[i] * 2.0f;
}

CASE(store_struct_member, OUT + 3, PARTICLES, 8, nullptr, store_struct_member<<<PARTICLES / 256, 256>>>(A, OUT))
CASE(store_struct_member_fix, OUT, PARTICLES, 1, "store_struct_member",
     store_struct_member_fix<<<PARTICLES / 256, 256>>>(A, OUT))

// One block in 1,024 writes its elements 32 bytes apart: 0.7 % more sectors.
extern "C" __global__ void store_strided_rarely(const float4 *__restrict__ in, float4 *out, float *far) {
    long i = blockIdx.x * 512L + threadIdx.x;
    float4 a = in[i], b = in[i + 256];
    out[i] = a, out[i + 256] = b;
    if (blockIdx.x % 1024 == 0) far[(blockIdx.x / 1024 * 256L + threadIdx.x) * 8] = a.x;
}

CASE(store_strided_rarely, OUT, BIG, 1, nullptr,
     store_strided_rarely<<<BIG / 2048, 256>>>((float4 *)A, (float4 *)OUT, SMALL))

// ---- bytes in flight

extern "C" __global__ void __launch_bounds__(256) flight_sum_one_float(const float *__restrict__ in, float *out) {
    float sum = 0;
#pragma unroll 1
    for (long i = blockIdx.x * 256L + threadIdx.x; i < COUNT; i += SMS * 8 * 256L) sum += in[i];  // FAULT
    add_block_sum(sum, out);
}

extern "C" __global__ void __launch_bounds__(256, 8) flight_sum_one_float_fix(const float4 *__restrict__ in, float *out) {
    float sum = 0;
    long i = blockIdx.x * 256L + threadIdx.x;
    const long step = SMS * 8 * 256L;
#pragma unroll 1
    for (; i + 3 * step < COUNT / 4; i += 4 * step) {
        float4 a = in[i], b = in[i + step], c = in[i + 2 * step], d = in[i + 3 * step];
        sum += (sum4(a) + sum4(b)) + (sum4(c) + sum4(d));
    }
    for (; i < COUNT / 4; i += step) sum += sum4(in[i]);
    add_block_sum(sum, out);
}

CASE(flight_sum_one_float, SMALL, 1, 1, nullptr, flight_sum_one_float<<<SMS * 8, 256>>>(A, SMALL))
CASE(flight_sum_one_float_fix, SMALL, 1, 1, "flight_sum_one_float",
     flight_sum_one_float_fix<<<SMS * 8, 256>>>((float4 *)A, SMALL))

extern "C" __global__ void __launch_bounds__(256) flight_halves_one_by_one(const half *__restrict__ in, half *out) {
#pragma unroll 1
    for (long i = blockIdx.x * 256L + threadIdx.x; i < COUNT; i += SMS * 8 * 256L)
        out[i] = in[i] * half(2.0f);  // FAULT
}

// Eight halves in a register quad, twice.
extern "C" __global__ void __launch_bounds__(256) flight_halves_one_by_one_fix(const uint4 *__restrict__ in, uint4 *out) {
    long i = blockIdx.x * 512L + threadIdx.x;
    uint4 both[2] = {in[i], in[i + 256]};
    for (uint4 &v : both) {
        half2 *h = (half2 *)&v;
        for (int k = 0; k < 4; ++k) h[k] = h[k] * half2(half(2.0f), half(2.0f));
    }
    out[i] = both[0], out[i + 256] = both[1];
}

CASE(flight_halves_one_by_one, OUT, COUNT / 2, 1, nullptr, flight_halves_one_by_one<<<SMS * 8, 256>>>((half *)B, (half *)OUT))
CASE(flight_halves_one_by_one_fix, OUT, COUNT / 2, 1, "flight_halves_one_by_one",
     flight_halves_one_by_one_fix<<<COUNT / 8 / 512, 256>>>((uint4 *)B, (uint4 *)OUT))

// Waits for memory most of the time, and has DRAM at its ceiling nevertheless.
extern "C" __global__ void flight_waits_at_ceiling(const float4 *__restrict__ in, float4 *out) {
    long i = blockIdx.x * 512L + threadIdx.x;
    float4 a = in[i], b = in[i + 256];
    out[i] = a, out[i + 256] = b;
}

CASE(flight_waits_at_ceiling, OUT, BIG, 1, nullptr,
     flight_waits_at_ceiling<<<BIG / 2048, 256>>>((float4 *)A, (float4 *)OUT))

// ---- healthy: at what DRAM can give

extern "C" __global__ void healthy_add(const float4 *__restrict__ a, const float4 *__restrict__ b, float4 *out) {
    long i = blockIdx.x * 512L + threadIdx.x;
    float4 p = a[i], q = a[i + 256], r = b[i], s = b[i + 256];
    out[i] = make_float4(p.x + r.x, p.y + r.y, p.z + r.z, p.w + r.w);
    out[i + 256] = make_float4(q.x + s.x, q.y + s.y, q.z + s.z, q.w + s.w);
}

CASE(healthy_add, OUT, 96L << 20, 1, nullptr,
     healthy_add<<<(96L << 20) / 2048, 256>>>((float4 *)A, (float4 *)B, (float4 *)OUT))

extern "C" __global__ void __launch_bounds__(512, 4) healthy_sum(const float4 *__restrict__ in, float *out) {
    float sum = 0;
    const long step = SMS * 4 * 512L;
    long i = blockIdx.x * 512L + threadIdx.x;
#pragma unroll 1
    for (; i + 3 * step < BIG / 4; i += 4 * step) {
        float4 a = in[i], b = in[i + step], c = in[i + 2 * step], d = in[i + 3 * step];
        sum += (sum4(a) + sum4(b)) + (sum4(c) + sum4(d));
    }
    for (; i < BIG / 4; i += step) sum += sum4(in[i]);
    add_block_sum(sum, out);
}

CASE(healthy_sum, SMALL, 1, 1, nullptr, healthy_sum<<<SMS * 4, 512>>>((float4 *)A, SMALL))

// Softmax of rows of 4,096: one block a row, the row stays in registers.
extern "C" __global__ void __launch_bounds__(256) healthy_softmax(const float4 *__restrict__ in, float4 *out) {
    __shared__ float sums[8], total;
    const float4 *row = in + blockIdx.x * 1024L;
    float4 v[4];
    float sum = 0;
    for (int k = 0; k < 4; ++k) v[k] = row[k * 256 + threadIdx.x];
    for (float4 &q : v) {  // values of 0 to 7: nothing overflows, so no maximum is taken off
        q = make_float4(__expf(q.x), __expf(q.y), __expf(q.z), __expf(q.w));
        sum += sum4(q);
    }
    sum = warp_sum(sum);
    if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x == 0) total = 1.0f / (sum4(*(float4 *)sums) + sum4(*(float4 *)(sums + 4)));
    __syncthreads();
    for (int k = 0; k < 4; ++k) {
        float4 q = v[k];
        out[blockIdx.x * 1024L + k * 256 + threadIdx.x] =
            make_float4(q.x * total, q.y * total, q.z * total, q.w * total);
    }
}

CASE(healthy_softmax, OUT, BIG, 1, nullptr, healthy_softmax<<<BIG / 4096, 256>>>((float4 *)A, (float4 *)OUT))

// Five points in y, four columns a thread: neighbours' rows come from L1 and L2.
extern "C" __global__ void __launch_bounds__(256) healthy_stencil(const float4 *__restrict__ in, float4 *out) {
    const int width = 4096 / 4, rows = 8;
    long x = blockIdx.x % 4 * 256 + threadIdx.x, y = blockIdx.x / 4 * rows;
    float4 v[rows + 4];
    for (int k = 0; k < rows + 4; ++k) v[k] = in[(y + k) * width + x];
    for (int k = 0; k < rows; ++k) {
        float4 a = v[k], b = v[k + 1], c = v[k + 2], d = v[k + 3], e = v[k + 4];
        out[(y + k) * width + x] = make_float4(a.x + b.x + c.x + d.x + e.x, a.y + b.y + c.y + d.y + e.y,
                                               a.z + b.z + c.z + d.z + e.z, a.w + b.w + c.w + d.w + e.w);
    }
}

CASE(healthy_stencil, OUT, (32768L - 8) * 4096, 1, nullptr,
     healthy_stencil<<<(32768 / 8 - 1) * 4, 256>>>((float4 *)A, (float4 *)OUT))

// ---- the link to the host

extern "C" __global__ void host_read(const float4 *__restrict__ in, float4 *out) {
    long i = blockIdx.x * 256L + threadIdx.x;
    float4 v = in[i];  // FAULT
    out[i] = make_float4(v.x + 1, v.y + 1, v.z + 1, v.w + 1);
}

extern "C" __global__ void host_read_fix(const float4 *__restrict__ in, float4 *out) {
    long i = blockIdx.x * 256L + threadIdx.x;
    float4 v = in[i];
    out[i] = make_float4(v.x + 1, v.y + 1, v.z + 1, v.w + 1);
}

extern "C" __global__ void host_write(const float4 *__restrict__ in, float4 *out) {
    long i = blockIdx.x * 256L + threadIdx.x;
    float4 v = in[i];
    out[i] = make_float4(v.x * 2, v.y * 2, v.z * 2, v.w * 2);  // FAULT
}

// Reads 128 bytes of its settings from the host, in one block of 65,536.
extern "C" __global__ void host_settings(const float4 *__restrict__ in, float4 *out, const float *settings) {
    long i = blockIdx.x * 512L + threadIdx.x;
    float4 a = in[i], b = in[i + 256];
    if (blockIdx.x == 0 && threadIdx.x < 32) a.x += settings[threadIdx.x];
    out[i] = a, out[i + 256] = b;
}

CASE(host_read, OUT, HOST_COUNT, 1, nullptr, host_read<<<HOST_COUNT / 1024, 256>>>((float4 *)HOST, (float4 *)OUT))
CASE(host_read_fix, OUT, HOST_COUNT, 1, "host_read",
     host_read_fix<<<HOST_COUNT / 1024, 256>>>((float4 *)A, (float4 *)OUT))
CASE(host_write, HOST_OUT, HOST_COUNT, 1, nullptr,
     host_write<<<HOST_COUNT / 1024, 256>>>((float4 *)A, (float4 *)HOST_OUT))
CASE(host_settings, OUT, BIG, 1, nullptr,
     host_settings<<<BIG / 2048, 256>>>((float4 *)A, (float4 *)OUT, HOST))

// ---- more bytes than the work needs

extern "C" __global__ void traffic_chain_scale(const float4 *in, float4 *out) {
    long i = blockIdx.x * 512L + threadIdx.x;
    float4 a = in[i], b = in[i + 256];
    out[i] = make_float4(a.x * 2, a.y * 2, a.z * 2, a.w * 2);
    out[i + 256] = make_float4(b.x * 2, b.y * 2, b.z * 2, b.w * 2);
}

extern "C" __global__ void traffic_chain_shift(const float4 *in, float4 *out) {
    long i = blockIdx.x * 512L + threadIdx.x;
    float4 a = in[i], b = in[i + 256];
    out[i] = make_float4(a.x - 5, a.y - 5, a.z - 5, a.w - 5);
    out[i + 256] = make_float4(b.x - 5, b.y - 5, b.z - 5, b.w - 5);
}

extern "C" __global__ void traffic_chain_clamp(const float4 *in, float4 *out) {
    long i = blockIdx.x * 512L + threadIdx.x;
    float4 a = in[i], b = in[i + 256];
    out[i] = make_float4(fmaxf(a.x, 0), fmaxf(a.y, 0), fmaxf(a.z, 0), fmaxf(a.w, 0));
    out[i + 256] = make_float4(fmaxf(b.x, 0), fmaxf(b.y, 0), fmaxf(b.z, 0), fmaxf(b.w, 0));
}

extern "C" __global__ void traffic_chain_fix(const float4 *in, float4 *out) {
    long i = blockIdx.x * 512L + threadIdx.x;
    float4 both[2] = {in[i], in[i + 256]};
    for (float4 &v : both)
        v = make_float4(fmaxf(v.x * 2 - 5, 0), fmaxf(v.y * 2 - 5, 0), fmaxf(v.z * 2 - 5, 0), fmaxf(v.w * 2 - 5, 0));
    out[i] = both[0], out[i + 256] = both[1];
}

CASE(traffic_chain, OUT, COUNT, 1, nullptr, {
    float4 *half_way = (float4 *)(OUT + COUNT);
    traffic_chain_scale<<<COUNT / 2048, 256>>>((float4 *)A, (float4 *)OUT);
    traffic_chain_shift<<<COUNT / 2048, 256>>>((float4 *)OUT, half_way);
    traffic_chain_clamp<<<COUNT / 2048, 256>>>(half_way, (float4 *)OUT);
})
CASE(traffic_chain_fix, OUT, COUNT, 1, "traffic_chain",
     traffic_chain_fix<<<COUNT / 2048, 256>>>((float4 *)A, (float4 *)OUT))

// Rows of 512 KiB, a block each, all 264 at once: by its second pass a row has left L2.
constexpr int LONG_ROW = 128 * 1024, LONG_ROWS = SMS * 2;

__device__ float total_of_block(float v) {
    __shared__ float sums[32];
    __syncthreads();
    v = warp_sum(v);
    if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = v;
    __syncthreads();
    v = 0;
    for (int k = 0; k < 32; ++k) v += sums[k];
    return v;
}

extern "C" __global__ void __launch_bounds__(1024) traffic_reads_thrice(const float4 *in, float4 *out) {
    const float4 *row = in + long(blockIdx.x) * (LONG_ROW / 4);
    float sum = 0, squares = 0;
#pragma unroll 4
    for (int i = threadIdx.x; i < LONG_ROW / 4; i += 1024) sum += sum4(row[i]);
    float mean = total_of_block(sum) / LONG_ROW;
#pragma unroll 4
    for (int i = threadIdx.x; i < LONG_ROW / 4; i += 1024) {
        float4 v = row[i];  // FAULT
        v.x -= mean, v.y -= mean, v.z -= mean, v.w -= mean;
        squares += v.x * v.x + v.y * v.y + v.z * v.z + v.w * v.w;
    }
    float scale = rsqrtf(total_of_block(squares) / LONG_ROW);
#pragma unroll 4
    for (int i = threadIdx.x; i < LONG_ROW / 4; i += 1024) {
        float4 v = row[i];
        out[long(blockIdx.x) * (LONG_ROW / 4) + i] = make_float4(
            (v.x - mean) * scale, (v.y - mean) * scale, (v.z - mean) * scale, (v.w - mean) * scale);
    }
}

CASE(traffic_reads_thrice, OUT, long(LONG_ROW) * LONG_ROWS, 1, nullptr,
     traffic_reads_thrice<<<LONG_ROWS, 1024>>>((float4 *)A, (float4 *)OUT))

// Reads the edge of its tile twice: 2 % more bytes than the work needs.
extern "C" __global__ void traffic_small_halo(const float4 *__restrict__ in, float4 *out) {
    const int width = 4096 / 4, rows = 64;
    long x = blockIdx.x % 4 * 256 + threadIdx.x, y = blockIdx.x / 4 * rows;
    float4 last = in[y * width + x];
#pragma unroll 8
    for (int k = 0; k < rows; ++k) {
        float4 v = in[(y + k + 1) * width + x];
        out[(y + k) * width + x] = make_float4(v.x - last.x, v.y - last.y, v.z - last.z, v.w - last.w);
        last = v;
    }
}

CASE(traffic_small_halo, OUT, (32768L - 64) * 4096, 1, nullptr,
     traffic_small_halo<<<(32768 / 64 - 1) * 4, 256>>>((float4 *)A, (float4 *)OUT))
