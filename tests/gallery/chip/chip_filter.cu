// Filters and stencils: taps from L1, from shared memory, from constants; borders, literals, colours, barriers.
#include "../gallery.cuh"

constexpr int WIDE = 4096, HIGH = 4096, TAPS = 7;
constexpr long PIXELS = long(WIDE) * HIGH;

__device__ __forceinline__ constexpr float weight(int j, int k) { return (j * TAPS + k) % 5 + 1; }

// 49 loads for 49 multiply-adds: a wavefront each, where four multiply-adds fit in the same cycle.
extern "C" __global__ void __launch_bounds__(256) filter_taps_from_l1(const float *__restrict__ in, float *out) {
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    float sum = 0;
#pragma unroll
    for (int j = 0; j < TAPS; ++j)
#pragma unroll
        for (int k = 0; k < TAPS; ++k) sum = fmaf(weight(j, k), in[(y + j) * WIDE + x + k], sum);  // FAULT
    out[y * WIDE + x] = sum;
}

// The textbook's tile in shared memory: as many wavefronts.
extern "C" __global__ void __launch_bounds__(256) filter_taps_in_shared(const float *__restrict__ in, float *out) {
    __shared__ float tile[8 + TAPS - 1][32 + TAPS - 1];
    int left = blockIdx.x * 32, top = blockIdx.y * 8, thread = threadIdx.y * 32 + threadIdx.x;
    for (int at = thread; at < 14 * 38; at += 256) tile[at / 38][at % 38] = in[(top + at / 38) * WIDE + left + at % 38];
    __syncthreads();
    float sum = 0;
#pragma unroll
    for (int j = 0; j < TAPS; ++j)
#pragma unroll
        for (int k = 0; k < TAPS; ++k) sum = fmaf(weight(j, k), tile[threadIdx.y + j][threadIdx.x + k], sum);  // FAULT
    out[(top + threadIdx.y) * WIDE + left + threadIdx.x] = sum;
}

// Four by eight results a thread: a row of twelve values serves 4 x 7 x 7 products.
extern "C" __global__ void __launch_bounds__(128) filter_register_window(const float *__restrict__ in, float *out) {
    constexpr int ROWS_EACH = 8;
    int x = (blockIdx.x * 128 + threadIdx.x) * 4, y = blockIdx.y * ROWS_EACH;
    float sums[ROWS_EACH][4] = {};
#pragma unroll
    for (int j = 0; j < ROWS_EACH + TAPS - 1; ++j) {
        const float4 *row = (const float4 *)(in + (y + j) * WIDE + x);
        float4 quads[3] = {row[0], row[1], row[2]};
        const float *v = (const float *)quads;
#pragma unroll
        for (int r = 0; r < ROWS_EACH; ++r) {
            if (j < r || j - r >= TAPS) continue;
#pragma unroll
            for (int k = 0; k < TAPS; ++k)
#pragma unroll
                for (int n = 0; n < 4; ++n) sums[r][n] = fmaf(weight(j - r, k), v[k + n], sums[r][n]);
        }
    }
#pragma unroll
    for (int r = 0; r < ROWS_EACH; ++r)
        *(float4 *)(out + (y + r) * WIDE + x) = make_float4(sums[r][0], sums[r][1], sums[r][2], sums[r][3]);
}

CASE(filter_taps_from_l1, OUT, PIXELS, 1, nullptr,
     filter_taps_from_l1<<<dim3(WIDE / 32, HIGH / 8), dim3(32, 8)>>>(A, OUT))
CASE(filter_taps_in_shared, OUT, PIXELS, 1, "filter_taps_from_l1",
     filter_taps_in_shared<<<dim3(WIDE / 32, HIGH / 8), dim3(32, 8)>>>(A, OUT))
CASE(filter_register_window, OUT, PIXELS, 1, "filter_taps_from_l1",
     filter_register_window<<<dim3(WIDE / 512, HIGH / 8), 128>>>(A, OUT))

// ---- a filter along time with weights of its own for each of 32 channels, which lie beside each other

constexpr int STEPS = 128 << 10, CHANNELS = 32, LONG_TAPS = 16;
__constant__ float CHANNEL_WEIGHTS[LONG_TAPS * CHANNELS];

// 32 addresses a constant read: 32 passes of the constant cache.
extern "C" __global__ void __launch_bounds__(256) filter_weights_by_lane(const float *__restrict__ in, float *out) {
    int i = blockIdx.x * 256 + threadIdx.x, channel = threadIdx.x % CHANNELS;
    float sum = 0;
#pragma unroll
    for (int k = 0; k < LONG_TAPS; ++k)
        sum = fmaf(in[i + k * CHANNELS], CHANNEL_WEIGHTS[k * CHANNELS + channel], sum);  // FAULT
    out[i] = sum;
}

extern "C" __global__ void __launch_bounds__(256) filter_weights_by_lane_fix(const float *__restrict__ in,
                                                                            const float *__restrict__ weights,
                                                                            float *out) {
    int i = blockIdx.x * 256 + threadIdx.x, channel = threadIdx.x % CHANNELS;
    float sum = 0;
#pragma unroll
    for (int k = 0; k < LONG_TAPS; ++k) sum = fmaf(in[i + k * CHANNELS], weights[k * CHANNELS + channel], sum);
    out[i] = sum;
}

static void set_weights() {
    static bool done = false;
    if (done) return;
    CHECK(cudaMemcpyToSymbol(CHANNEL_WEIGHTS, B, sizeof(CHANNEL_WEIGHTS), 0, cudaMemcpyDeviceToDevice));
    done = true;
}

CASE(filter_weights_by_lane, OUT, STEPS *CHANNELS, 1, nullptr, set_weights();
     filter_weights_by_lane<<<STEPS * CHANNELS / 256, 256>>>(A, OUT))
CASE(filter_weights_by_lane_fix, OUT, STEPS *CHANNELS, 1, "filter_weights_by_lane",
     filter_weights_by_lane_fix<<<STEPS * CHANNELS / 256, 256>>>(A, B, OUT))

// ---- an oscillator: its place in a table of 4,096 values, by the exact remainder of floats

constexpr int WAVE = 4096, TONES = 32, OSCILLATORS = SMS * 8 * 256;

extern "C" __global__ void __launch_bounds__(256) oscillator_by_fmodf(const float *__restrict__ wave, float *out,
                                                                     float length) {
    int i = blockIdx.x * 256 + threadIdx.x;
    float phase = i * 0.25f, sum = 0;
#pragma unroll 2
    for (int tone = 0; tone < TONES; ++tone, phase += 1021.5f) sum += wave[int(fmodf(phase, length))];  // FAULT
    out[i] = sum;
}

extern "C" __global__ void __launch_bounds__(256) oscillator_by_fmodf_fix(const float *__restrict__ wave, float *out,
                                                                         float length) {
    int i = blockIdx.x * 256 + threadIdx.x;
    float phase = i * 0.25f, sum = 0, turns = 1.0f / length;
#pragma unroll 2
    for (int tone = 0; tone < TONES; ++tone, phase += 1021.5f)
        sum += wave[int(phase - length * floorf(phase * turns))];
    out[i] = sum;
}

CASE(oscillator_by_fmodf, OUT, OSCILLATORS, 1, nullptr, oscillator_by_fmodf<<<OSCILLATORS / 256, 256>>>(A, OUT, WAVE))
CASE(oscillator_by_fmodf_fix, OUT, OSCILLATORS, 1, "oscillator_by_fmodf",
     oscillator_by_fmodf_fix<<<OSCILLATORS / 256, 256>>>(A, OUT, WAVE))

// ---- literals without their f: conversions and doubles in every step of a smoothing filter

constexpr int RESULTS = SMS * 8 * 256;

extern "C" __global__ void __launch_bounds__(256) filter_double_literal(const float *__restrict__ in, float *out) {
    int i = blockIdx.x * 256 + threadIdx.x;
    float level = 0, trend = 0;
#pragma unroll 8
    for (int t = 0; t < 128; ++t) {
        float before = level;
        level = 0.7 * in[t * 4096 + i] + 0.3 * (level + trend);  // FAULT
        trend = 0.2 * (level - before) + 0.8 * trend;            // FAULT
    }
    out[i] = level + trend;
}

extern "C" __global__ void __launch_bounds__(256) filter_double_literal_fix(const float *__restrict__ in, float *out) {
    int i = blockIdx.x * 256 + threadIdx.x;
    float level = 0, trend = 0;
#pragma unroll 8
    for (int t = 0; t < 128; ++t) {
        float before = level;
        level = 0.7f * in[t * 4096 + i] + 0.3f * (level + trend);
        trend = 0.2f * (level - before) + 0.8f * trend;
    }
    out[i] = level + trend;
}

CASE(filter_double_literal, OUT, RESULTS, 1, nullptr, filter_double_literal<<<RESULTS / 256, 256>>>(A, OUT))
CASE(filter_double_literal_fix, OUT, RESULTS, 1, "filter_double_literal",
     filter_double_literal_fix<<<RESULTS / 256, 256>>>(A, OUT))

// ---- rings of 32 cells, a warp each, of which another warp's is refined in every step: a barrier is not needed

constexpr int RING_STEPS = 256, REFINE = 256;

__device__ __forceinline__ float refined(float v) {
#pragma unroll 8
    for (int r = 0; r < REFINE; ++r) v = fmaf(v, -0.25f, 1.0f);
    return v;
}

extern "C" __global__ void __launch_bounds__(1024) stencil_barrier_a_step(const float *in, float *out) {
    __shared__ float cells[2][1024];
    int i = blockIdx.x * 1024 + threadIdx.x, lane = threadIdx.x % 32, row = threadIdx.x - lane;
    cells[0][threadIdx.x] = in[i];
    for (int step = 0; step < RING_STEPS; ++step) {
        __syncthreads();  // FAULT
        const float *now = cells[step % 2] + row;
        float v = 0.25f * (now[(lane + 31) % 32] + 2.0f * now[lane] + now[(lane + 1) % 32]);
        if (step % 32 == threadIdx.x / 32) v = refined(v);
        cells[(step + 1) % 2][threadIdx.x] = v;
    }
    out[i] = cells[RING_STEPS % 2][threadIdx.x];
}

extern "C" __global__ void __launch_bounds__(1024) stencil_barrier_a_step_fix(const float *in, float *out) {
    __shared__ float cells[2][1024];
    int i = blockIdx.x * 1024 + threadIdx.x, lane = threadIdx.x % 32, row = threadIdx.x - lane;
    cells[0][threadIdx.x] = in[i];
    for (int step = 0; step < RING_STEPS; ++step) {
        __syncwarp();
        const float *now = cells[step % 2] + row;
        float v = 0.25f * (now[(lane + 31) % 32] + 2.0f * now[lane] + now[(lane + 1) % 32]);
        if (step % 32 == threadIdx.x / 32) v = refined(v);
        cells[(step + 1) % 2][threadIdx.x] = v;
    }
    out[i] = cells[RING_STEPS % 2][threadIdx.x];
}

CASE(stencil_barrier_a_step, OUT, SMS * 2 * 1024, 1, nullptr, stencil_barrier_a_step<<<SMS * 2, 1024>>>(A, OUT))
CASE(stencil_barrier_a_step_fix, OUT, SMS * 2 * 1024, 1, "stencil_barrier_a_step",
     stencil_barrier_a_step_fix<<<SMS * 2, 1024>>>(A, OUT))

// ---- red and black cells: every other lane has nothing to do

constexpr int BOARD = 2048;

__device__ __forceinline__ float relaxed(const float *in, int at) {
    float u = in[at] * 0.125f, rhs = 0.03125f * (in[at - 1] + in[at + 1] + in[at + BOARD]);
#pragma unroll 8
    for (int r = 0; r < 128; ++r) u = u - 0.1f * fmaf(u * u, u, u - rhs);  // FAULT
    return u;
}

extern "C" __global__ void __launch_bounds__(256) stencil_every_other_lane(const float *__restrict__ in, float *out) {
    int x = blockIdx.x * 256 + threadIdx.x, y = blockIdx.y, at = (y + 1) * BOARD + x;
    if ((x + y) % 2 == 0) out[at] = relaxed(in, at);  // FAULT
}

extern "C" __global__ void __launch_bounds__(256) stencil_every_other_lane_fix(const float *__restrict__ in,
                                                                              float *out) {
    int y = blockIdx.y, x = (blockIdx.x * 256 + threadIdx.x) * 2 + y % 2, at = (y + 1) * BOARD + x;
    out[at] = relaxed(in, at);
}

CASE(stencil_every_other_lane, OUT, BOARD *(BOARD + 1L), 1, nullptr,
     stencil_every_other_lane<<<dim3(BOARD / 256, BOARD), 256>>>(A, OUT))
CASE(stencil_every_other_lane_fix, OUT, BOARD *(BOARD + 1L), 1, "stencil_every_other_lane",
     stencil_every_other_lane_fix<<<dim3(BOARD / 512, BOARD), 256>>>(A, OUT))
