// Halves one by one, doubles between floats, exact functions, loops of few instructions, registers.
#include "../gallery.cuh"

constexpr int THREADS = SMS * 8 * 256;

// ---- a recurrence of halves: through floats and back in each step, or two halves an instruction

constexpr int HALF_STEPS = 512, HALVES_EACH = 16;

extern "C" __global__ void __launch_bounds__(256) halves_through_floats(const half *__restrict__ in, float *out) {
    int i = blockIdx.x * 256 + threadIdx.x, first = i * HALVES_EACH % (4 << 20);
    half v[HALVES_EACH];
    float factor = __half2float(in[0]) - 0.5f, shift = __half2float(in[1]) + 0.5f, sum = 0;
    for (int k = 0; k < HALVES_EACH; ++k) v[k] = in[first + k];
#pragma unroll 1
    for (int r = 0; r < HALF_STEPS; ++r)
#pragma unroll
        for (int k = 0; k < HALVES_EACH; ++k) v[k] = __float2half(fmaf(__half2float(v[k]), factor, shift));  // FAULT
    for (int k = 0; k < HALVES_EACH; ++k) sum += __half2float(v[k]);
    out[i] = sum;
}

extern "C" __global__ void __launch_bounds__(256) halves_two_at_once(const half *__restrict__ in, float *out) {
    int i = blockIdx.x * 256 + threadIdx.x, first = i * HALVES_EACH % (4 << 20);
    half2 v[HALVES_EACH / 2];
    half2 factor = __half2half2(__hsub(in[0], __float2half(0.5f)));
    half2 shift = __half2half2(__hadd(in[1], __float2half(0.5f)));
    for (int k = 0; k < HALVES_EACH / 2; ++k) v[k] = ((const half2 *)in)[first / 2 + k];
#pragma unroll 1
    for (int r = 0; r < HALF_STEPS; ++r)
#pragma unroll
        for (int k = 0; k < HALVES_EACH / 2; ++k) v[k] = __hfma2(v[k], factor, shift);
    float sum = 0;
    for (int k = 0; k < HALVES_EACH / 2; ++k) sum += __low2float(v[k]) + __high2float(v[k]);
    out[i] = sum;
}

CASE(halves_through_floats, OUT, THREADS, 1, nullptr, halves_through_floats<<<THREADS / 256, 256>>>(HALF_A, OUT))
CASE(halves_two_at_once, OUT, THREADS, 1, "halves_through_floats",
     halves_two_at_once<<<THREADS / 256, 256>>>(HALF_A, OUT))

// ---- exponentials for floats, in doubles

constexpr int TEMPERATURES = 16;

extern "C" __global__ void __launch_bounds__(256) exponentials_in_double(const float *__restrict__ in, float *out) {
    int i = blockIdx.x * 256 + threadIdx.x;
    float v = in[i], sum = 0;
#pragma unroll 2
    for (int t = 1; t <= TEMPERATURES; ++t) sum += exp(-0.1 * t * v);  // FAULT
    out[i] = sum;
}

extern "C" __global__ void __launch_bounds__(256) exponentials_in_double_fix(const float *__restrict__ in, float *out) {
    int i = blockIdx.x * 256 + threadIdx.x;
    float v = in[i], sum = 0;
#pragma unroll 2
    for (int t = 1; t <= TEMPERATURES; ++t) sum += __expf(-0.1f * t * v);
    out[i] = sum;
}

CASE(exponentials_in_double, OUT, THREADS * 4, 1, nullptr, exponentials_in_double<<<THREADS / 64, 256>>>(A, OUT))
CASE(exponentials_in_double_fix, OUT, THREADS * 4, 1, "exponentials_in_double",
     exponentials_in_double_fix<<<THREADS / 64, 256>>>(A, OUT))

// ---- a division of doubles in each step, by the same number

extern "C" __global__ void __launch_bounds__(256) doubles_divided_each_step(const float *in, float *out, double scale) {
    int i = blockIdx.x * 256 + threadIdx.x;
    double a = in[i], b = in[i + 1];
#pragma unroll 2
    for (int r = 0; r < 64; ++r) a = (a + 1.0) / scale, b = (b + 2.0) / scale;  // FAULT
    out[i] = float(a + b);
}

extern "C" __global__ void __launch_bounds__(256) doubles_divided_each_step_fix(const float *in, float *out,
                                                                               double scale) {
    int i = blockIdx.x * 256 + threadIdx.x;
    double a = in[i], b = in[i + 1], inverse = 1.0 / scale;
#pragma unroll 2
    for (int r = 0; r < 64; ++r) a = (a + 1.0) * inverse, b = (b + 2.0) * inverse;
    out[i] = float(a + b);
}

CASE(doubles_divided_each_step, OUT, THREADS, 1, nullptr,
     doubles_divided_each_step<<<THREADS / 256, 256>>>(A, OUT, 1.25))
CASE(doubles_divided_each_step_fix, OUT, THREADS, 1, "doubles_divided_each_step",
     doubles_divided_each_step_fix<<<THREADS / 256, 256>>>(A, OUT, 1.25))

// ---- powers for display, exact where an approximation does

constexpr int GAMMA_STEPS = 32;

extern "C" __global__ void __launch_bounds__(256) gamma_exact_powers(const float *in, float *out, float gamma) {
    int i = blockIdx.x * 256 + threadIdx.x;
    float v = in[i] * 0.125f + 0.0625f;
#pragma unroll 2
    for (int r = 0; r < GAMMA_STEPS; ++r) v = powf(v, gamma) * 0.5f + 0.25f;  // FAULT
    out[i] = v;
}

extern "C" __global__ void __launch_bounds__(256) gamma_exact_powers_fix(const float *in, float *out, float gamma) {
    int i = blockIdx.x * 256 + threadIdx.x;
    float v = in[i] * 0.125f + 0.0625f;
#pragma unroll 2
    for (int r = 0; r < GAMMA_STEPS; ++r) v = __powf(v, gamma) * 0.5f + 0.25f;
    out[i] = v;
}

CASE(gamma_exact_powers, OUT, THREADS * 4, 1, nullptr, gamma_exact_powers<<<THREADS / 64, 256>>>(A, OUT, 2.2f))
CASE(gamma_exact_powers_fix, OUT, THREADS * 4, 1, "gamma_exact_powers",
     gamma_exact_powers_fix<<<THREADS / 64, 256>>>(A, OUT, 2.2f))

// ---- forces between bodies: a root and a division, both exact, or the reciprocal root of the chip

constexpr int BODIES = SMS * 4 * 256, NEIGHBOURS = 256;

template <bool EXACT>
__device__ __forceinline__ float pull(const float *__restrict__ in) {
    __shared__ float4 others[NEIGHBOURS];
    const float4 *bodies = (const float4 *)in;
    others[threadIdx.x] = bodies[threadIdx.x * 7];
    __syncthreads();
    float4 own = bodies[blockIdx.x * 256 + threadIdx.x];
    float sum = 0;
#pragma unroll 4
    for (int k = 0; k < NEIGHBOURS; ++k) {
        float4 one = others[k];
        float x = one.x - own.x, y = one.y - own.y, z = one.z - own.z;
        float square = fmaf(x, x, fmaf(y, y, fmaf(z, z, 0.01f)));
        float inverse = EXACT ? 1.0f / sqrtf(square) : rsqrtf(square);  // FAULT
        sum = fmaf(one.w, inverse * inverse * inverse, sum);
    }
    return sum;
}

extern "C" __global__ void __launch_bounds__(256) bodies_exact_root(const float *in, float *out) {
    out[blockIdx.x * 256 + threadIdx.x] = pull<true>(in);
}

extern "C" __global__ void __launch_bounds__(256) bodies_exact_root_fix(const float *in, float *out) {
    out[blockIdx.x * 256 + threadIdx.x] = pull<false>(in);
}

CASE(bodies_exact_root, OUT, BODIES, 1, nullptr, bodies_exact_root<<<BODIES / 256, 256>>>(A, OUT))
CASE(bodies_exact_root_fix, OUT, BODIES, 1, "bodies_exact_root", bodies_exact_root_fix<<<BODIES / 256, 256>>>(A, OUT))

// ---- products of a row with a vector in shared memory: the loop takes more instructions than the work

constexpr int TERMS = 1024;

template <int UNROLLED>
__device__ __forceinline__ float dot(const float *in) {
    __shared__ float weights[TERMS];
    for (int k = threadIdx.x; k < TERMS; k += 256) weights[k] = in[k] * 0.125f;
    __syncthreads();
    float x = in[blockIdx.x * 256 + threadIdx.x] * 0.0625f, sum = 0;
#pragma unroll UNROLLED
    for (int k = 0; k < TERMS; ++k) sum = fmaf(sum, x, weights[k]);  // FAULT
    return sum;
}

extern "C" __global__ void __launch_bounds__(256) series_loop_overhead(const float *in, float *out) {
    out[blockIdx.x * 256 + threadIdx.x] = dot<1>(in);
}

extern "C" __global__ void __launch_bounds__(256) series_loop_overhead_fix(const float *in, float *out) {
    out[blockIdx.x * 256 + threadIdx.x] = dot<32>(in);
}

CASE(series_loop_overhead, OUT, THREADS, 1, nullptr, series_loop_overhead<<<THREADS / 256, 256>>>(A, OUT))
CASE(series_loop_overhead_fix, OUT, THREADS, 1, "series_loop_overhead",
     series_loop_overhead_fix<<<THREADS / 256, 256>>>(A, OUT))

// ---- constants at an index that is the warp's own: no divergence, but a constant instruction a product

constexpr int CURVES = 8, CURVE = 64;
__constant__ float CURVE_POINTS[CURVES * CURVE];

template <int VALUES>
__device__ __forceinline__ void curves(const float *in, float *out) {
    int warp = threadIdx.x / 32, i = blockIdx.x * 256 * VALUES + threadIdx.x;
    float x[VALUES], sum[VALUES] = {};
#pragma unroll
    for (int n = 0; n < VALUES; ++n) x[n] = in[i + n * 256] * 0.0625f;
#pragma unroll 1
    for (int round = 0; round < 4; ++round)
#pragma unroll 16
        for (int k = 0; k < CURVE; ++k) {
            float point = CURVE_POINTS[(warp + round) % CURVES * CURVE + k];  // FAULT
#pragma unroll
            for (int n = 0; n < VALUES; ++n) sum[n] = fmaf(sum[n], x[n], point);
        }
#pragma unroll
    for (int n = 0; n < VALUES; ++n) out[i + n * 256] = sum[n];
}

extern "C" __global__ void __launch_bounds__(256) curve_constant_a_product(const float *in, float *out) {
    curves<1>(in, out);
}

extern "C" __global__ void __launch_bounds__(256) curve_constant_a_product_fix(const float *in, float *out) {
    curves<8>(in, out);
}

static void set_curves() {
    static bool done = false;
    if (done) return;
    CHECK(cudaMemcpyToSymbol(CURVE_POINTS, B, sizeof(CURVE_POINTS), 0, cudaMemcpyDeviceToDevice));
    done = true;
}

CASE(curve_constant_a_product, OUT, THREADS * 8, 1, nullptr, set_curves();
     curve_constant_a_product<<<THREADS / 32, 256>>>(A, OUT))
CASE(curve_constant_a_product_fix, OUT, THREADS * 8, 1, "curve_constant_a_product", set_curves();
     curve_constant_a_product_fix<<<THREADS / 256, 256>>>(A, OUT))

// ---- a polynomial whose degree is known at run time keeps its coefficients where an index can reach them

constexpr int MOST_TERMS = 24;

extern "C" __global__ void __launch_bounds__(256) polynomial_run_time_degree(const float *in, float *out, int degree) {
    int i = blockIdx.x * 256 + threadIdx.x;
    float c[MOST_TERMS], sum = 0;
    for (int k = 0; k < MOST_TERMS; ++k) c[k] = in[k * 1024 + i];
#pragma unroll 1
    for (int point = 1; point <= 32; ++point) {
        float value = 0;
#pragma unroll 1
        for (int k = degree; k >= 0; --k) value = fmaf(value, 0.03125f * point, c[k]);  // FAULT
        sum += value;
    }
    out[i] = sum;
}

extern "C" __global__ void __launch_bounds__(256) polynomial_run_time_degree_fix(const float *in, float *out,
                                                                                int degree) {
    int i = blockIdx.x * 256 + threadIdx.x;
    float c[MOST_TERMS], sum = 0;
#pragma unroll
    for (int k = 0; k < MOST_TERMS; ++k) c[k] = k <= degree ? in[k * 1024 + i] : 0.0f;
#pragma unroll 1
    for (int point = 1; point <= 32; ++point) {
        float value = 0;
#pragma unroll
        for (int k = MOST_TERMS - 1; k >= 0; --k) value = fmaf(value, 0.03125f * point, c[k]);
        sum += value;
    }
    out[i] = sum;
}

CASE(polynomial_run_time_degree, OUT, THREADS * 2, 1, nullptr,
     polynomial_run_time_degree<<<THREADS / 128, 256>>>(A, OUT, 19))
CASE(polynomial_run_time_degree_fix, OUT, THREADS * 2, 1, "polynomial_run_time_degree",
     polynomial_run_time_degree_fix<<<THREADS / 128, 256>>>(A, OUT, 19))

// ---- 48 moments a thread, in bounds that leave 32 registers

constexpr int MOMENTS = 48;

__device__ __forceinline__ float moments(const float *__restrict__ in) {
    int i = blockIdx.x * 256 + threadIdx.x;
    float sums[MOMENTS] = {};
#pragma unroll 1
    for (int r = 0; r < 64; ++r) {
        float x = in[i + r * 4096] * 0.125f, power = 1.0f;
#pragma unroll
        for (int m = 0; m < MOMENTS; ++m) power *= x, sums[m] += power;  // FAULT
    }
    float all = 0;
#pragma unroll
    for (int m = 0; m < MOMENTS; ++m) all = fmaf(sums[m], sums[m], all);
    return all;
}

extern "C" __global__ void __launch_bounds__(256, 8) moments_in_few_registers(const float *in, float *out) {
    out[blockIdx.x * 256 + threadIdx.x] = moments(in);
}

extern "C" __global__ void __launch_bounds__(256) moments_in_few_registers_fix(const float *in, float *out) {
    out[blockIdx.x * 256 + threadIdx.x] = moments(in);
}

CASE(moments_in_few_registers, OUT, THREADS, 1, nullptr, moments_in_few_registers<<<THREADS / 256, 256>>>(A, OUT))
CASE(moments_in_few_registers_fix, OUT, THREADS, 1, "moments_in_few_registers",
     moments_in_few_registers_fix<<<THREADS / 256, 256>>>(A, OUT))
