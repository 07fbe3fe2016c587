// What the worklogs of kernels taught: loads that the counter of bytes under way does not see, and full issue slots.
#include "gallery.cuh"

// ---- bytes in flight, of which the counter sees one load a warp

constexpr long HALVES = 64L << 20;

extern "C" __global__ void __launch_bounds__(256) flight_halves_two_inputs(const half *__restrict__ a,
                                                                           const half *__restrict__ b, half *out) {
    long i = blockIdx.x * 256L + threadIdx.x;
    out[i] = a[i] + b[i];  // FAULT
}

extern "C" __global__ void __launch_bounds__(256) flight_halves_two_inputs_fix(const uint4 *__restrict__ a,
                                                                               const uint4 *__restrict__ b,
                                                                               uint4 *out) {
    long i = blockIdx.x * 256L + threadIdx.x;
    uint4 v = a[i], w = b[i];
    half2 *left = (half2 *)&v, *right = (half2 *)&w;
    for (int k = 0; k < 4; ++k) left[k] = left[k] + right[k];
    out[i] = v;
}

CASE(flight_halves_two_inputs, OUT, HALVES / 2, 1, nullptr,
     flight_halves_two_inputs<<<HALVES / 256, 256>>>((half *)A, (half *)B, (half *)OUT))
CASE(flight_halves_two_inputs_fix, OUT, HALVES / 2, 1, "flight_halves_two_inputs",
     flight_halves_two_inputs_fix<<<HALVES / 8 / 256, 256>>>((uint4 *)A, (uint4 *)B, (uint4 *)OUT))

// Eight quads a thread are under way, 4 KiB a warp, and that is all it loads; but there are four warps an SM, as a block
// takes 100 KiB of shared memory, of which it uses one.
constexpr int ROOM = 100 << 10, QUADS = 8, FEW = 64;

extern "C" __global__ void __launch_bounds__(FEW, 2) occupancy_eight_quads(const float4 *__restrict__ in,
                                                                       float4 *out) {
    extern __shared__ float4 sums[];
    const float4 *own = in + blockIdx.x * long(QUADS * FEW) + threadIdx.x;
    float4 v[QUADS], sum = {};
    for (int k = 0; k < QUADS; ++k) v[k] = own[k * FEW];
    for (float4 &q : v) sum.x += q.x, sum.y += q.y, sum.z += q.z, sum.w += q.w;
    sums[threadIdx.x] = sum;
    __syncthreads();
    out[blockIdx.x * long(FEW) + threadIdx.x] = sums[FEW - 1 - threadIdx.x];
}

CASE(occupancy_eight_quads, OUT, BIG / QUADS, 1, nullptr, {
    allow_shared(occupancy_eight_quads, ROOM);
    occupancy_eight_quads<<<BIG / 4 / QUADS / FEW, FEW, ROOM>>>((float4 *)A, (float4 *)OUT);
})

// ---- issue slots

struct Turned {
    float sine, cosine;
};

constexpr double ROUND = 6755399441055744.0;  // 1.5 * 2^52: what is added to it is rounded to a whole number

// Sine and cosine of an angle: quarters of a turn are taken off in doubles, then a polynomial each, then the quadrant.
__device__ __forceinline__ Turned turned(double angle) {
    double rounded = fma(angle, 0.63661977236758138, ROUND), whole = rounded - ROUND;             // FAULT
    int quarter = __double2loint(rounded);                                                        // FAULT
    float x = float(fma(whole, -6.123233995736766e-17, fma(whole, -1.5707963267948966, angle)));  // FAULT
    float xx = x * x, s = fmaf(xx, -2.5052108e-8f, 2.7557319e-6f);                                // FAULT
    float c = fmaf(xx, -2.7557319e-7f, 2.4801587e-5f);                                            // FAULT
    s = fmaf(xx, fmaf(xx, fmaf(xx, s, -1.9841270e-4f), 8.3333333e-3f), -0.16666667f);             // FAULT
    c = fmaf(xx, fmaf(xx, fmaf(xx, c, -1.3888889e-3f), 4.1666667e-2f), -0.5f);                    // FAULT
    s = fmaf(x * xx, s, x), c = fmaf(xx, c, 1.0f);                                                // FAULT
    float sine = quarter & 1 ? c : s, cosine = quarter & 1 ? s : c;                               // FAULT
    unsigned below = unsigned(quarter) << 30 & 1u << 31;                                          // FAULT
    unsigned left = unsigned(quarter + 1) << 30 & 1u << 31;                                       // FAULT
    sine = __uint_as_float(__float_as_uint(sine) ^ below);                                        // FAULT
    return {sine, __uint_as_float(__float_as_uint(cosine) ^ left)};                               // FAULT
}

// Fourier sums of two channels by hand, a thread for a frequency of a channel: both channels work out the same angles.
constexpr int SAMPLES = 512, CHANNELS = 2, FREQUENCIES = SMS * 6 * 256;

extern "C" __global__ void __launch_bounds__(256, 6) pipe_issue_angles(const float *__restrict__ in, float2 *out) {
    __shared__ float samples[SAMPLES];
    int frequency = blockIdx.x * 256 + threadIdx.x;
    for (int t = threadIdx.x; t < SAMPLES; t += 256) samples[t] = in[blockIdx.y * SAMPLES + t];
    __syncthreads();
    double step = 3e-6 * (frequency + 1), angle = 0;
    float2 sum = {};
#pragma unroll 4
    for (int t = 0; t < SAMPLES; ++t, angle += step) {
        Turned one = turned(angle);
        sum.x = fmaf(samples[t], one.cosine, sum.x), sum.y = fmaf(samples[t], one.sine, sum.y);
    }
    out[blockIdx.y * FREQUENCIES + frequency] = sum;
}

extern "C" __global__ void __launch_bounds__(256, 6) pipe_issue_angles_fix(const float *__restrict__ in, float2 *out) {
    __shared__ float2 samples[SAMPLES];
    int frequency = blockIdx.x * 256 + threadIdx.x;
    for (int t = threadIdx.x; t < SAMPLES; t += 256) samples[t] = make_float2(in[t], in[SAMPLES + t]);
    __syncthreads();
    double step = 3e-6 * (frequency + 1), angle = 0;
    float2 left = {}, right = {};
#pragma unroll 4
    for (int t = 0; t < SAMPLES; ++t, angle += step) {
        Turned one = turned(angle);
        float2 both = samples[t];
        left.x = fmaf(both.x, one.cosine, left.x), left.y = fmaf(both.x, one.sine, left.y);
        right.x = fmaf(both.y, one.cosine, right.x), right.y = fmaf(both.y, one.sine, right.y);
    }
    out[frequency] = left, out[FREQUENCIES + frequency] = right;
}

CASE(pipe_issue_angles, OUT, 2L * CHANNELS *FREQUENCIES, 1, nullptr,
     pipe_issue_angles<<<dim3(FREQUENCIES / 256, CHANNELS), 256>>>(A, (float2 *)OUT))
CASE(pipe_issue_angles_fix, OUT, 2L * CHANNELS *FREQUENCIES, 1, "pipe_issue_angles",
     pipe_issue_angles_fix<<<FREQUENCIES / 256, 256>>>(A, (float2 *)OUT))

// Such angles fill two of three issue slots and hide behind the bytes.
extern "C" __global__ void __launch_bounds__(256) pipe_issue_beside_dram(const float4 *__restrict__ in, float4 *out) {
    long i = blockIdx.x * 512L + threadIdx.x;
    float4 both[2] = {in[i], in[i + 256]};
    for (float4 &v : both) {
        Turned x = turned(v.x), y = turned(v.y), z = turned(v.z), w = turned(v.w);
        Turned all = turned(sum4(v));
        v = make_float4(x.sine * all.cosine + x.cosine, y.sine * all.sine + y.cosine,
                        z.sine * all.cosine - z.cosine, w.sine * all.sine - w.cosine);
    }
    out[i] = both[0], out[i + 256] = both[1];
}

CASE(pipe_issue_beside_dram, OUT, BIG, 1, nullptr,
     pipe_issue_beside_dram<<<BIG / 2048, 256>>>((float4 *)A, (float4 *)OUT))
