// Arithmetic: forces, likelihoods, a transform in registers, polynomials.
#include "../gallery.cuh"

constexpr int PULLED = SMS * 6 * 256, PULLING = 2048;

template <typename Inverse>
__device__ __forceinline__ void pull(const float4 *bodies, float *out, Inverse inverse) {
    __shared__ float4 tile[256];
    int me = blockIdx.x * 256 + threadIdx.x;
    float4 at = bodies[me];
    float x = 0, y = 0, z = 0;
#pragma unroll 1
    for (int first = 0; first < PULLING; first += 256) {
        __syncthreads();
        tile[threadIdx.x] = bodies[first + threadIdx.x];
        __syncthreads();
#pragma unroll 4
        for (int i = 0; i < 256; ++i) {
            float4 other = tile[i];
            float dx = other.x - at.x, dy = other.y - at.y, dz = other.z - at.z;
            float inv = inverse(fmaf(dx, dx, fmaf(dy, dy, dz * dz)));
            float f = other.w * inv * inv * inv;
            x = fmaf(f, dx, x), y = fmaf(f, dy, y), z = fmaf(f, dz, z);
        }
    }
    out[me] = x, out[PULLED + me] = y, out[2 * PULLED + me] = z;
}

// The softening is a literal without an f: the sum, the root and the quotient are doubles, some 21 instructions of the
// fp64 pipe (10 cycles of an SM a warp, and nearly as many of the XU for conversions) beside 15 of floats (4). About
// 2.5x.
__device__ __forceinline__ float inverse_by_doubles(float r2) {
    return 1.0 / sqrt(r2 + 0.01);  // FAULT
}

extern "C" __global__ void __launch_bounds__(256, 6) bodies_softened_by_double(const float4 *bodies, float *out) {
    pull(bodies, out, [](float r2) { return inverse_by_doubles(r2); });
}

extern "C" __global__ void __launch_bounds__(256, 6) bodies_softened_by_double_fix(const float4 *bodies, float *out) {
    pull(bodies, out, [](float r2) { return rsqrtf(r2 + 0.01f); });
}

CASE(bodies_softened_by_double, OUT, 3L * PULLED, 1, nullptr,
     bodies_softened_by_double<<<SMS * 6, 256>>>((const float4 *)A, OUT))
CASE(bodies_softened_by_double_fix, OUT, 3L * PULLED, 1, "bodies_softened_by_double",
     bodies_softened_by_double_fix<<<SMS * 6, 256>>>((const float4 *)A, OUT))

constexpr int OBSERVED = SMS * 8 * 256, CENTRES = 4096;

__device__ __forceinline__ float log2_fast(float v) {
    float r;
    asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(v));  // FAULT
    return r;
}

// A logarithm a pair: the XU takes two cycles of an SM a warp, everything else one. The fix multiplies 16 factors
// (below 21) and takes one logarithm: about 2.4x.
extern "C" __global__ void __launch_bounds__(256) likelihood_log_a_pair(const float *a, const float *b, float *out) {
    __shared__ __align__(16) float centres[CENTRES];
    for (int i = threadIdx.x; i < CENTRES; i += 256) centres[i] = b[i];
    __syncthreads();
    float mine = a[blockIdx.x * 256 + threadIdx.x], sum = 0;
#pragma unroll 16
    for (int i = 0; i < CENTRES; ++i) sum += log2_fast(fmaf(fabsf(mine - centres[i]), 0.03f, 1.0f));  // FAULT
    out[blockIdx.x * 256 + threadIdx.x] = sum * 0.6931472f;
}

extern "C" __global__ void __launch_bounds__(256) likelihood_log_a_pair_fix(
    const float *a, const float *b, float *out) {
    __shared__ __align__(16) float centres[CENTRES];
    for (int i = threadIdx.x; i < CENTRES; i += 256) centres[i] = b[i];
    __syncthreads();
    float mine = a[blockIdx.x * 256 + threadIdx.x], sum = 0;
#pragma unroll 1
    for (int i = 0; i < CENTRES; i += 16) {
        float even = 1, odd = 1;
#pragma unroll
        for (int j = 0; j < 16; j += 2) {
            even *= fmaf(fabsf(mine - centres[i + j]), 0.03f, 1.0f);
            odd *= fmaf(fabsf(mine - centres[i + j + 1]), 0.03f, 1.0f);
        }
        sum += log2_fast(even * odd);
    }
    out[blockIdx.x * 256 + threadIdx.x] = sum * 0.6931472f;
}

CASE(likelihood_log_a_pair, OUT, OBSERVED, 1, nullptr, likelihood_log_a_pair<<<SMS * 8, 256>>>(A, B, OUT))
CASE(likelihood_log_a_pair_fix, OUT, OBSERVED, 1, "likelihood_log_a_pair",
     likelihood_log_a_pair_fix<<<SMS * 8, 256>>>(A, B, OUT))

constexpr int POINTS = 32, LINES = SMS * 10 * 256, STEPS = 24;

__constant__ float2 phases[POINTS], potential[POINTS];

static void set_phases() {
    static bool done = [] {
        float2 f[POINTS], v[POINTS];
        for (int i = 0; i < POINTS; ++i) {
            double a = 0.05 * (i * 7 % 32), b = 0.03 * (i * 11 % 32);
            f[i] = {float(cos(a) / POINTS), float(sin(a) / POINTS)};
            v[i] = {float(cos(b)), float(sin(b))};
        }
        CHECK(cudaMemcpyToSymbol(phases, f, sizeof f));
        CHECK(cudaMemcpyToSymbol(potential, v, sizeof v));
        return true;
    }();
    (void)done;
}

__device__ __forceinline__ float2 times(float2 a, float2 b) {
    return {fmaf(a.x, b.x, -(a.y * b.y)), fmaf(a.x, b.y, a.y * b.x)};
}

// cos and -sin of 2 pi i / 32
__device__ __forceinline__ float2 root(int i) {
    constexpr float C[16] = {1.0f, 0.98078528f, 0.92387953f, 0.83146961f, 0.70710678f, 0.55557023f, 0.38268343f, 0.19509032f,
                             0.0f, -0.19509032f, -0.38268343f, -0.55557023f, -0.70710678f, -0.83146961f, -0.92387953f, -0.98078528f};
    constexpr float S[16] = {0.0f, 0.19509032f, 0.38268343f, 0.55557023f, 0.70710678f, 0.83146961f, 0.92387953f, 0.98078528f,
                             1.0f, 0.98078528f, 0.92387953f, 0.83146961f, 0.70710678f, 0.55557023f, 0.38268343f, 0.19509032f};
    return {C[i], -S[i]};
}

// Forward to bit-reversed order, a phase, and back: a split step of a wave of 32 points that a thread holds in
// registers.
__device__ __forceinline__ void split_steps(const float *in, float *out) {
    int line = blockIdx.x * 256 + threadIdx.x;
    float2 v[POINTS];
#pragma unroll
    for (int i = 0; i < POINTS; ++i) v[i] = {in[(long)i * 2 * LINES + line], in[(long)(i * 2 + 1) * LINES + line]};
#pragma unroll 1
    for (int step = 0; step < STEPS; ++step) {
#pragma unroll
        for (int log = 4; log >= 0; --log)
#pragma unroll
            for (int i = 0; i < 16; ++i) {
                int low = i & ((1 << log) - 1), at = ((i >> log) << (log + 1)) + low, to = at + (1 << log);
                float2 a = v[at], b = v[to];
                v[at] = {a.x + b.x, a.y + b.y};
                v[to] = times({a.x - b.x, a.y - b.y}, root(low << (4 - log)));
            }
#pragma unroll
        for (int i = 0; i < POINTS; ++i) v[i] = times(v[i], phases[i]);
#pragma unroll
        for (int log = 0; log <= 4; ++log)
#pragma unroll
            for (int i = 0; i < 16; ++i) {
                int low = i & ((1 << log) - 1), at = ((i >> log) << (log + 1)) + low, to = at + (1 << log);
                float2 w = root(low << (4 - log)), a = v[at], b = times(v[to], {w.x, -w.y});
                v[at] = {a.x + b.x, a.y + b.y};
                v[to] = {a.x - b.x, a.y - b.y};
            }
#pragma unroll
        for (int i = 0; i < POINTS; ++i) v[i] = times(v[i], potential[i]);
    }
#pragma unroll
    for (int i = 0; i < POINTS; ++i) out[(long)i * LINES + line] = v[i].x * v[i].x + v[i].y * v[i].y;
}

// Five blocks an SM were asked for: 48 registers, where the 32 complex numbers alone are 64. Some 410 loads and stores
// of local memory beside 1500 of floats a step, and 320 KiB of it an SM, more than the L1. Without spills and with 16
// warps the FMA pipe is the limit: 1.3x to 2.5x.
extern "C" __global__ void __launch_bounds__(256, 5) waves_for_five_blocks(const float *in, float *out) {  // FAULT
    split_steps(in, out);
}

extern "C" __global__ void __launch_bounds__(256, 2) waves_for_five_blocks_fix(const float *in, float *out) {
    split_steps(in, out);
}

CASE(waves_for_five_blocks, OUT, (long)POINTS *LINES, 1, nullptr, set_phases();
     waves_for_five_blocks<<<SMS * 10, 256>>>(A, OUT))
CASE(waves_for_five_blocks_fix, OUT, (long)POINTS *LINES, 1, "waves_for_five_blocks", set_phases();
     waves_for_five_blocks_fix<<<SMS * 10, 256>>>(A, OUT))

// Healthy: eight (double: four) polynomials of degree 1024 a thread, with coefficients that all lanes share; FMAs and
// hardly anything else.
template <typename T, int CHAINS>
__device__ __forceinline__ void evaluate(const float *in, float *out) {
    __shared__ __align__(16) T coefficients[1024];
    for (int i = threadIdx.x; i < 1024; i += 256) coefficients[i] = T(0.001) * (i * 37 % 101);
    __syncthreads();
    long at = blockIdx.x * 256L + threadIdx.x, all = gridDim.x * 256L;
    T x[CHAINS], sum[CHAINS];
#pragma unroll
    for (int c = 0; c < CHAINS; ++c) x[c] = T(in[at + c * all]) * T(0.125), sum[c] = 0;
#pragma unroll 1
    for (int i = 0; i < 1024; i += 16)
#pragma unroll
        for (int j = 0; j < 16; ++j)
#pragma unroll
            for (int c = 0; c < CHAINS; ++c) sum[c] = fma(sum[c], x[c], coefficients[i + j]);
#pragma unroll
    for (int c = 0; c < CHAINS; ++c) out[at + c * all] = float(sum[c]);
}

extern "C" __global__ void __launch_bounds__(256) healthy_polynomials_float(const float *in, float *out) {
    evaluate<float, 8>(in, out);
}

extern "C" __global__ void __launch_bounds__(256) healthy_polynomials_double(const float *in, float *out) {
    evaluate<double, 4>(in, out);
}

constexpr long FLOAT_BLOCKS = SMS * 8 * 6, DOUBLE_BLOCKS = SMS * 8 * 6;
CASE(healthy_polynomials_float, OUT, FLOAT_BLOCKS * 256 * 8, 1, nullptr,
     healthy_polynomials_float<<<FLOAT_BLOCKS, 256>>>(A, OUT))
CASE(healthy_polynomials_double, OUT, DOUBLE_BLOCKS * 256 * 4, 1, nullptr,
     healthy_polynomials_double<<<DOUBLE_BLOCKS, 256>>>(A, OUT))

constexpr int SEGMENTS = 256, SEGMENT = 16, PADDED = 20, ROUNDS = 24;

// Healthy: correlation with 64 lags out of shared memory. A thread holds 16 inputs, 32 shifted ones and 16 sums: 256
// FMAs for twelve loads of 16 bytes, which four neighbours (16 lags each) share in part.
extern "C" __global__ void __launch_bounds__(256, 2) healthy_correlation(const float *in, float *out) {
    __shared__ __align__(16) float signal[(SEGMENTS + 5) * PADDED];
    const float *from = in + (long)blockIdx.x * SEGMENTS * SEGMENT;
    for (int i = threadIdx.x; i < (SEGMENTS + 5) * SEGMENT; i += 256)
        signal[i / SEGMENT * PADDED + i % SEGMENT] = from[i] * 0.0625f;
    __syncthreads();
    int group = threadIdx.x % 4;
    float sum[16] = {};
#pragma unroll 1
    for (int round = 0; round < ROUNDS; ++round)
#pragma unroll 1
        for (int s = threadIdx.x / 4; s < SEGMENTS; s += 64) {
            float x[16], y[32];
#pragma unroll
            for (int j = 0; j < 16; j += 4) {
                *(float4 *)&x[j] = *(const float4 *)&signal[s * PADDED + j];
                *(float4 *)&y[j] = *(const float4 *)&signal[(s + group) * PADDED + j];
                *(float4 *)&y[16 + j] = *(const float4 *)&signal[(s + group + 1) * PADDED + j];
            }
#pragma unroll
            for (int j = 0; j < 16; ++j)
#pragma unroll
                for (int l = 0; l < 16; ++l) sum[l] = fmaf(x[j], y[j + l], sum[l]);
        }
#pragma unroll
    for (int l = 0; l < 16; ++l) out[((long)blockIdx.x * 16 + l) * 256 + threadIdx.x] = sum[l];
}

CASE(healthy_correlation, OUT, (long)SMS * 16 * 256 * 16, 1, nullptr, healthy_correlation<<<SMS * 16, 256>>>(A, OUT))
