#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#define CK(call)                                                                                   \
    do {                                                                                           \
        cudaError_t ck_err = (call);                                                               \
        if (ck_err != cudaSuccess) {                                                               \
            std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call,                     \
                         cudaGetErrorString(ck_err));                                              \
            std::exit(1);                                                                          \
        }                                                                                          \
    } while (0)

#define LAUNCH(kernel, grid, block, smem, ...)                                                     \
    do {                                                                                           \
        kernel<<<grid, block, smem>>>(__VA_ARGS__);                                                \
        CK(cudaGetLastError());                                                                    \
    } while (0)

__host__ __device__ inline uint32_t mix32(uint32_t x) {
    x ^= x >> 16;
    x *= 0x7feb352dU;
    x ^= x >> 15;
    x *= 0x846ca68bU;
    x ^= x >> 16;
    return x;
}

__host__ __device__ inline float unit_float(uint32_t x) { return (mix32(x) >> 8) * (1.0f / 16777216.0f); }

template <typename T>
__global__ void fill_real(T* p, size_t n, uint32_t seed, float lo, float hi) {
    size_t stride = (size_t)gridDim.x * blockDim.x;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride)
        p[i] = (T)(lo + (hi - lo) * unit_float((uint32_t)i * 2654435761U + seed));
}

template <typename T>
__global__ void fill_bits(T* p, size_t n, uint32_t seed) {
    size_t stride = (size_t)gridDim.x * blockDim.x;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
        uint64_t v = mix32((uint32_t)i + seed);
        v |= (uint64_t)mix32((uint32_t)i * 3U + seed + 17U) << 32;
        p[i] = (T)v;
    }
}

__global__ void warm_up(int* p) { p[threadIdx.x] = (int)threadIdx.x; }

template <typename T>
T* dev_alloc(size_t n) {
    void* p = nullptr;
    CK(cudaMalloc(&p, n * sizeof(T)));
    CK(cudaMemset(p, 0, n * sizeof(T)));
    return static_cast<T*>(p);
}

template <typename T>
T* dev_real(size_t n, uint32_t seed, float lo, float hi) {
    T* p = dev_alloc<T>(n);
    LAUNCH(fill_real<T>, 1024, 256, 0, p, n, seed, lo, hi);
    return p;
}

template <typename T>
T* dev_bits(size_t n, uint32_t seed) {
    T* p = dev_alloc<T>(n);
    LAUNCH(fill_bits<T>, 1024, 256, 0, p, n, seed);
    return p;
}

struct Entry {
    std::string name;
    std::function<void()> launch;
};

static std::vector<Entry> g_entries;
static std::vector<std::function<bool()>> g_checks;

inline double as_double(float v) { return v; }
inline double as_double(double v) { return v; }
inline double as_double(__half v) { return __half2float(v); }
inline double as_double(uint32_t v) { return v; }
inline double as_double(uint16_t v) { return v; }

// Both outputs must agree to `tol` relative to the larger of the value and the array's rms, and not be all zero.
template <typename T>
bool same(const char* name, const T* da, const T* db, size_t n, double tol) {
    std::vector<T> a(n), b(n);
    CK(cudaMemcpy(a.data(), da, n * sizeof(T), cudaMemcpyDeviceToHost));
    CK(cudaMemcpy(b.data(), db, n * sizeof(T), cudaMemcpyDeviceToHost));
    double sq = 0;
    for (size_t i = 0; i < n; ++i) sq += as_double(a[i]) * as_double(a[i]);
    double rms = std::sqrt(sq / (double)n);
    if (!(rms > 0) || !std::isfinite(rms)) {
        std::printf("%s: result is zero or not finite\n", name);
        return false;
    }
    for (size_t i = 0; i < n; ++i) {
        double x = as_double(a[i]), y = as_double(b[i]);
        double bound = tol * std::max(rms, std::max(std::fabs(x), std::fabs(y)));
        if (!(std::fabs(x - y) <= bound)) {
            std::printf("%s differs at %zu: %.9g against %.9g\n", name, i, x, y);
            return false;
        }
    }
    return true;
}

template <typename T>
void add_pair(const std::string& name, std::function<void()> slow, std::function<void()> fixed, const T* out_slow,
              const T* out_fixed, size_t n, double tol) {
    g_entries.push_back({name + "_slow", slow});
    g_entries.push_back({name + "_fixed", fixed});
    g_checks.push_back([=] { return same(name.c_str(), out_slow, out_fixed, n, tol); });
}

inline void add_healthy(const std::string& name, std::function<void()> launch, std::function<bool()> check) {
    g_entries.push_back({name + "_healthy", launch});
    g_checks.push_back(check);
}

inline int drive(int argc, char** argv) {
    std::string mode = argc > 1 ? argv[1] : "";
    CK(cudaDeviceSynchronize());
    if (mode == "once") {
        int* p = dev_alloc<int>(32);
        LAUNCH(warm_up, 1, 32, 0, p);
        CK(cudaDeviceSynchronize());
        for (auto& e : g_entries) {
            e.launch();
            CK(cudaDeviceSynchronize());
        }
        CK(cudaFree(p));
        return 0;
    }
    for (auto& e : g_entries) e.launch();
    CK(cudaDeviceSynchronize());
    bool ok = true;
    for (auto& c : g_checks) ok = c() && ok;
    if (mode == "time") {
        cudaEvent_t t0, t1;
        CK(cudaEventCreate(&t0));
        CK(cudaEventCreate(&t1));
        for (auto& e : g_entries) {
            for (int i = 0; i < 3; ++i) e.launch();
            std::vector<float> ms(20);
            for (auto& m : ms) {
                CK(cudaEventRecord(t0));
                e.launch();
                CK(cudaEventRecord(t1));
                CK(cudaEventSynchronize(t1));
                CK(cudaEventElapsedTime(&m, t0, t1));
            }
            std::sort(ms.begin(), ms.end());
            std::printf("%s %.4f\n", e.name.c_str(), 0.5f * (ms[9] + ms[10]));
        }
        CK(cudaEventDestroy(t0));
        CK(cudaEventDestroy(t1));
    } else if (ok) {
        std::printf("ok\n");
    }
    return ok ? 0 : 1;
}

// ---------------------------------------------------------------- clenshaw: Chebyshev series of degree 255 at many points
constexpr int CB_TERMS = 256, CB_POINTS = 132 * 128 * 512;
__constant__ float cheb[CB_TERMS];

__global__ void __launch_bounds__(128) clenshaw_slow(const float* __restrict__ x, float* __restrict__ y) {
    int stride = gridDim.x * blockDim.x;
#pragma unroll 1
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < CB_POINTS; i += stride) {
        float t = x[i], b1 = 0, b2 = 0;
#pragma unroll 16
        for (int k = CB_TERMS - 1; k > 0; --k) {
            float b = fmaf(2.0f * t, b1, cheb[k] - b2);
            b2 = b1;
            b1 = b;
        }
        y[i] = fmaf(t, b1, cheb[0] - b2);
    }
}

__global__ void __launch_bounds__(128) clenshaw_fixed(const float* __restrict__ x, float* __restrict__ y) {
    constexpr int ILP = 8;
    int stride = gridDim.x * blockDim.x;
#pragma unroll 1
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < CB_POINTS; i += ILP * stride) {
        float t[ILP], b1[ILP], b2[ILP];
#pragma unroll
        for (int j = 0; j < ILP; ++j) {
            t[j] = x[i + j * stride];
            b1[j] = b2[j] = 0;
        }
#pragma unroll 16
        for (int k = CB_TERMS - 1; k > 0; --k)
#pragma unroll
            for (int j = 0; j < ILP; ++j) {
                float b = fmaf(2.0f * t[j], b1[j], cheb[k] - b2[j]);
                b2[j] = b1[j];
                b1[j] = b;
            }
#pragma unroll
        for (int j = 0; j < ILP; ++j) y[i + j * stride] = fmaf(t[j], b1[j], cheb[0] - b2[j]);
    }
}

// ---------------------------------------------------------------- fieldenergy: block sums of an anharmonic energy
constexpr int FE_BLOCKS = 132 * 8, FE_CELLS = FE_BLOCKS * 256 * 32, FE_MODES = 24;

__device__ __forceinline__ float block_sum(float v) {
    __shared__ float part[8];
    for (int off = 16; off > 0; off /= 2) v += __shfl_xor_sync(0xffffffffu, v, off);
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = v;
    __syncthreads();
    v = 0;
    for (int i = 0; i < 8; ++i) v += part[i];
    return v;
}

__global__ void __launch_bounds__(256) fieldenergy_slow(const float* __restrict__ field, float* __restrict__ energy) {
    float sum = 0;
    for (int i = blockIdx.x * 256 + threadIdx.x; i < FE_CELLS; i += FE_BLOCKS * 256) {
        float phi = field[i], wave = 1.0f;
#pragma unroll 4
        for (int m = 0; m < FE_MODES; ++m) {
            wave = wave * phi + 0.125;
            sum += 0.5 * wave * wave - 0.16666667 * wave * wave * phi + 0.04166667 * phi * phi;
        }
    }
    sum = block_sum(sum);
    if (threadIdx.x == 0) energy[blockIdx.x] = sum;
}

__global__ void __launch_bounds__(256) fieldenergy_fixed(const float* __restrict__ field, float* __restrict__ energy) {
    float sum = 0;
    for (int i = blockIdx.x * 256 + threadIdx.x; i < FE_CELLS; i += FE_BLOCKS * 256) {
        float phi = field[i], wave = 1.0f;
#pragma unroll 4
        for (int m = 0; m < FE_MODES; ++m) {
            wave = wave * phi + 0.125f;
            sum += 0.5f * wave * wave - 0.16666667f * wave * wave * phi + 0.04166667f * phi * phi;
        }
    }
    sum = block_sum(sum);
    if (threadIdx.x == 0) energy[blockIdx.x] = sum;
}

// ---------------------------------------------------------------- bucketid: several 64-bit hashes of a key reduced to a prime number of buckets
constexpr int BK_KEYS = 1 << 23, BK_HASHES = 6;

__device__ __forceinline__ uint64_t mix64(uint64_t h) {
    h ^= h >> 33;
    h *= 0xff51afd7ed558ccdULL;
    h ^= h >> 33;
    h *= 0xc4ceb9fe1a85ec53ULL;
    h ^= h >> 33;
    return h;
}

__global__ void __launch_bounds__(256) bucketid_slow(const uint64_t* __restrict__ keys, uint64_t buckets,
                                                     uint64_t reciprocal, uint32_t* __restrict__ signature) {
    int i = blockIdx.x * 256 + threadIdx.x;
    uint64_t key = keys[i];
    uint32_t sig = (uint32_t)(reciprocal >> 63);
#pragma unroll 1
    for (int k = 0; k < BK_HASHES; ++k) {
        uint64_t h = mix64(key + k * 0x9e3779b97f4a7c15ULL);
        uint64_t r = h % buckets;
        sig = sig * 31 + (uint32_t)r;
    }
    signature[i] = sig;
}

__global__ void __launch_bounds__(256) bucketid_fixed(const uint64_t* __restrict__ keys, uint64_t buckets,
                                                      uint64_t reciprocal, uint32_t* __restrict__ signature) {
    int i = blockIdx.x * 256 + threadIdx.x;
    uint64_t key = keys[i];
    uint32_t sig = (uint32_t)(reciprocal >> 63);
#pragma unroll 1
    for (int k = 0; k < BK_HASHES; ++k) {
        uint64_t h = mix64(key + k * 0x9e3779b97f4a7c15ULL);
        uint64_t r = h - __umul64hi(h, reciprocal) * buckets;  // reciprocal = floor(2^64 / buckets): at most one too many
        if (r >= buckets) r -= buckets;
        sig = sig * 31 + (uint32_t)r;
    }
    signature[i] = sig;
}

// ---------------------------------------------------------------- ratquad: rational quadratic kernel times a vector, (1 + r^2 / 3)^(-3/2)
constexpr int RQ_N = 16384, RQ_CHUNK = 1024, RQ_TILE = 256;

template <bool POWF>
__device__ __forceinline__ void ratquad(const float4* __restrict__ pts, float* __restrict__ partial) {
    __shared__ float4 tile[RQ_TILE];
    int i = blockIdx.x * 256 + threadIdx.x;
    float4 p = pts[i];
    float sum = 0;
    for (int j0 = 0; j0 < RQ_CHUNK; j0 += RQ_TILE) {
        __syncthreads();
        tile[threadIdx.x] = pts[blockIdx.y * RQ_CHUNK + j0 + threadIdx.x];
        __syncthreads();
#pragma unroll 8
        for (int j = 0; j < RQ_TILE; ++j) {
            float4 o = tile[j];
            float dx = p.x - o.x, dy = p.y - o.y, dz = p.z - o.z;
            float base = fmaf(fmaf(dx, dx, fmaf(dy, dy, dz * dz)), 1.0f / 3.0f, 1.0f);
            if (POWF) {
                sum = fmaf(o.w, powf(base, -1.5f), sum);
            } else {
                float r = rsqrtf(base);
                sum = fmaf(o.w, r * r * r, sum);
            }
        }
    }
    partial[blockIdx.y * RQ_N + i] = sum;
}

__global__ void __launch_bounds__(256) ratquad_slow(const float4* __restrict__ pts, float* __restrict__ partial) {
    ratquad<true>(pts, partial);
}

__global__ void __launch_bounds__(256) ratquad_fixed(const float4* __restrict__ pts, float* __restrict__ partial) {
    ratquad<false>(pts, partial);
}

// ---------------------------------------------------------------- cosine: best cosine similarity of a query among references; queries [D / 4][query], references [reference][D / 4]
constexpr int CS_QUERIES = 132 * 4 * 2 * 256, CS_REFS = 512, CS_D = 32, CS_TILE = 128;

template <bool NORM_PER_PAIR>
__device__ __forceinline__ void best_cosine(const float4* __restrict__ queries, const float4* __restrict__ refs,
                                            float* __restrict__ best) {
    __shared__ float4 tile[CS_TILE][CS_D / 4];
    __shared__ float inverse[CS_TILE];
    float4 q[2][CS_D / 4];
    float inv_q[2], top[2] = {-2.0f, -2.0f};
    int i = blockIdx.x * 256 + threadIdx.x;
#pragma unroll
    for (int u = 0; u < 2; ++u) {
        float n = 0;
#pragma unroll
        for (int d = 0; d < CS_D / 4; ++d) {
            float4 v = queries[(size_t)d * CS_QUERIES + i + u * 128];
            q[u][d] = v;
            n = fmaf(v.x, v.x, fmaf(v.y, v.y, fmaf(v.z, v.z, fmaf(v.w, v.w, n))));
        }
        inv_q[u] = rsqrtf(n);
    }
    for (int j0 = 0; j0 < CS_REFS; j0 += CS_TILE) {
        __syncthreads();
        for (int e = threadIdx.x; e < CS_TILE * CS_D / 4; e += 128)
            tile[e / (CS_D / 4)][e % (CS_D / 4)] = refs[(size_t)j0 * (CS_D / 4) + e];
        __syncthreads();
        if (!NORM_PER_PAIR) {
            float n = 0;
            for (int d = 0; d < CS_D / 4; ++d) {
                float4 v = tile[threadIdx.x][(d + threadIdx.x) % (CS_D / 4)];  // rotated: no bank twice
                n = fmaf(v.x, v.x, fmaf(v.y, v.y, fmaf(v.z, v.z, fmaf(v.w, v.w, n))));
            }
            inverse[threadIdx.x] = rsqrtf(n);
            __syncthreads();
        }
#pragma unroll 2
        for (int j = 0; j < CS_TILE; ++j) {
            float dot0 = 0, dot1 = 0, n = 0;
#pragma unroll
            for (int d = 0; d < CS_D / 4; ++d) {
                float4 v = tile[j][d];
                dot0 = fmaf(q[0][d].x, v.x, fmaf(q[0][d].y, v.y, fmaf(q[0][d].z, v.z, fmaf(q[0][d].w, v.w, dot0))));
                dot1 = fmaf(q[1][d].x, v.x, fmaf(q[1][d].y, v.y, fmaf(q[1][d].z, v.z, fmaf(q[1][d].w, v.w, dot1))));
                if (NORM_PER_PAIR) n = fmaf(v.x, v.x, fmaf(v.y, v.y, fmaf(v.z, v.z, fmaf(v.w, v.w, n))));
            }
            float inv = NORM_PER_PAIR ? rsqrtf(n) : inverse[j];
            top[0] = fmaxf(top[0], dot0 * inv);
            top[1] = fmaxf(top[1], dot1 * inv);
        }
    }
    best[i] = top[0] * inv_q[0];
    best[i + 128] = top[1] * inv_q[1];
}

__global__ void __launch_bounds__(128, 4) cosine_slow(const float4* __restrict__ queries,
                                                      const float4* __restrict__ refs, float* __restrict__ best) {
    best_cosine<true>(queries, refs, best);
}

__global__ void __launch_bounds__(128, 4) cosine_fixed(const float4* __restrict__ queries,
                                                       const float4* __restrict__ refs, float* __restrict__ best) {
    best_cosine<false>(queries, refs, best);
}

// ---------------------------------------------------------------- healthy: a polynomial of degree 511 in fp32, in fp64
constexpr int HO_TERMS = 512, HO_POINTS = 132 * 6 * 4 * 256 * 16;
__constant__ float horner_coef[HO_TERMS];

__global__ void __launch_bounds__(256) horner_healthy(const float4* __restrict__ x, float4* __restrict__ y) {
    int i = blockIdx.x * 1024 + threadIdx.x;
    float t[16], s[16];
#pragma unroll
    for (int j = 0; j < 16; j += 4) *reinterpret_cast<float4*>(&t[j]) = x[i + j * 64];
#pragma unroll
    for (int j = 0; j < 16; ++j) s[j] = horner_coef[HO_TERMS - 1];
#pragma unroll 32
    for (int k = HO_TERMS - 2; k >= 0; --k)
#pragma unroll
        for (int j = 0; j < 16; ++j) s[j] = fmaf(s[j], t[j], horner_coef[k]);
#pragma unroll
    for (int j = 0; j < 16; j += 4) y[i + j * 64] = make_float4(s[j], s[j + 1], s[j + 2], s[j + 3]);
}

constexpr int DP_TERMS = 512, DP_POINTS = 132 * 8 * 256 * 4 * 4;
__constant__ double dpoly_coef[DP_TERMS];

__global__ void __launch_bounds__(256) dpoly_healthy(const double2* __restrict__ x, double2* __restrict__ y) {
    int i = blockIdx.x * 512 + threadIdx.x;
    double2 p = x[i], q = x[i + 256];
    double t[4] = {p.x, p.y, q.x, q.y}, s[4];
#pragma unroll
    for (int j = 0; j < 4; ++j) s[j] = dpoly_coef[DP_TERMS - 1];
#pragma unroll 16
    for (int k = DP_TERMS - 2; k >= 0; --k)
#pragma unroll
        for (int j = 0; j < 4; ++j) s[j] = fma(s[j], t[j], dpoly_coef[k]);
    y[i] = make_double2(s[0], s[1]);
    y[i + 256] = make_double2(s[2], s[3]);
}

// ---------------------------------------------------------------- healthy: Philox 4x32-10 random numbers, summed by thread
constexpr int PH_BLOCKS = 132 * 8, PH_DRAWS = 256;

__host__ __device__ inline void wide_product(uint32_t a, uint32_t b, uint32_t& hi, uint32_t& lo) {
#ifdef __CUDA_ARCH__
    uint64_t p;
    asm("mul.wide.u32 %0, %1, %2;" : "=l"(p) : "r"(a), "r"(b));
#else
    uint64_t p = (uint64_t)a * b;
#endif
    hi = (uint32_t)(p >> 32);
    lo = (uint32_t)p;
}

__host__ __device__ inline uint32_t philox_sum(uint32_t id, uint32_t draw) {
    uint32_t c0 = draw, c1 = id, c2 = 0x1234567U, c3 = 0x89abcdefU, k0 = 0xdeadbeefU, k1 = 0xcafef00dU;
#pragma unroll
    for (int r = 0; r < 10; ++r) {
        uint32_t hi0, lo0, hi1, lo1;
        wide_product(c0, 0xD2511F53U, hi0, lo0);
        wide_product(c2, 0xCD9E8D57U, hi1, lo1);
        c0 = hi1 ^ c1 ^ k0;
        c2 = hi0 ^ c3 ^ k1;
        c1 = lo1;
        c3 = lo0;
        k0 += 0x9E3779B9U;
        k1 += 0xBB67AE85U;
    }
    return c0 + c1 + c2 + c3;
}

__global__ void __launch_bounds__(256) philox_healthy(uint32_t* __restrict__ out) {
    uint32_t id = blockIdx.x * 256 + threadIdx.x, sum = 0;
#pragma unroll 4
    for (uint32_t d = 0; d < PH_DRAWS; ++d) sum += philox_sum(id, d);
    out[id] = sum;
}

int main(int argc, char** argv) {
    {
        float* x = dev_real<float>(CB_POINTS, 21, -1, 1);
        float *o1 = dev_alloc<float>(CB_POINTS), *o2 = dev_alloc<float>(CB_POINTS);
        std::vector<float> c(CB_TERMS);
        for (int k = 0; k < CB_TERMS; ++k) c[k] = (unit_float(k + 5) - 0.5f) / (1 + 0.1f * k);
        CK(cudaMemcpyToSymbol(cheb, c.data(), sizeof(float) * CB_TERMS));
        add_pair<float>(
            "clenshaw", [=] { LAUNCH(clenshaw_slow, 132, 128, 0, x, o1); },
            [=] { LAUNCH(clenshaw_fixed, 132, 128, 0, x, o2); }, o1, o2, (size_t)CB_POINTS, 1e-3);
    }
    {
        float* field = dev_real<float>(FE_CELLS, 22, -0.9f, 0.9f);
        float *o1 = dev_alloc<float>(FE_BLOCKS), *o2 = dev_alloc<float>(FE_BLOCKS);
        add_pair<float>(
            "fieldenergy", [=] { LAUNCH(fieldenergy_slow, FE_BLOCKS, 256, 0, field, o1); },
            [=] { LAUNCH(fieldenergy_fixed, FE_BLOCKS, 256, 0, field, o2); }, o1, o2, (size_t)FE_BLOCKS, 1e-3);
    }
    {
        uint64_t* keys = dev_bits<uint64_t>(BK_KEYS, 23);
        uint32_t *o1 = dev_alloc<uint32_t>(BK_KEYS), *o2 = dev_alloc<uint32_t>(BK_KEYS);
        uint64_t buckets = 67108859, reciprocal = ~0ULL / buckets;
        add_pair<uint32_t>(
            "bucketid", [=] { LAUNCH(bucketid_slow, BK_KEYS / 256, 256, 0, keys, buckets, reciprocal, o1); },
            [=] { LAUNCH(bucketid_fixed, BK_KEYS / 256, 256, 0, keys, buckets, reciprocal, o2); }, o1, o2,
            (size_t)BK_KEYS, 0);
    }
    {
        float4* pts = reinterpret_cast<float4*>(dev_real<float>(4 * RQ_N, 24, -1, 2));
        size_t n = (size_t)RQ_N * (RQ_N / RQ_CHUNK);
        float *o1 = dev_alloc<float>(n), *o2 = dev_alloc<float>(n);
        dim3 grid(RQ_N / 256, RQ_N / RQ_CHUNK);
        add_pair<float>(
            "ratquad", [=] { LAUNCH(ratquad_slow, grid, 256, 0, pts, o1); },
            [=] { LAUNCH(ratquad_fixed, grid, 256, 0, pts, o2); }, o1, o2, n, 1e-3);
    }
    {
        float4* queries = reinterpret_cast<float4*>(dev_real<float>((size_t)CS_QUERIES * CS_D, 25, -1, 1));
        float4* refs = reinterpret_cast<float4*>(dev_real<float>((size_t)CS_REFS * CS_D, 26, -1, 1));
        float *o1 = dev_alloc<float>(CS_QUERIES), *o2 = dev_alloc<float>(CS_QUERIES);
        int grid = CS_QUERIES / 256;
        add_pair<float>(
            "cosine", [=] { LAUNCH(cosine_slow, grid, 128, 0, queries, refs, o1); },
            [=] { LAUNCH(cosine_fixed, grid, 128, 0, queries, refs, o2); }, o1, o2, (size_t)CS_QUERIES, 1e-3);
    }
    {
        float* x = dev_real<float>(HO_POINTS, 27, -0.99f, 0.99f);
        float* y = dev_alloc<float>(HO_POINTS);
        std::vector<float> c(HO_TERMS);
        for (int k = 0; k < HO_TERMS; ++k) c[k] = unit_float(k + 900) - 0.3f;
        CK(cudaMemcpyToSymbol(horner_coef, c.data(), sizeof(float) * HO_TERMS));
        add_healthy(
            "horner",
            [=] {
                LAUNCH(horner_healthy, HO_POINTS / 16 / 256, 256, 0, reinterpret_cast<const float4*>(x),
                       reinterpret_cast<float4*>(y));
            },
            [=] {
                std::vector<float> hx(1000), hy(1000);
                CK(cudaMemcpy(hx.data(), x + 4321, sizeof(float) * 1000, cudaMemcpyDeviceToHost));
                CK(cudaMemcpy(hy.data(), y + 4321, sizeof(float) * 1000, cudaMemcpyDeviceToHost));
                for (int i = 0; i < 1000; ++i) {
                    double s = 0;
                    for (int k = HO_TERMS - 1; k >= 0; --k) s = s * hx[i] + c[k];
                    if (!(std::fabs(s - hy[i]) <= 1e-3 * std::max(1.0, std::fabs(s)))) {
                        std::printf("horner differs at %d: %g against %g\n", i, hy[i], s);
                        return false;
                    }
                }
                return true;
            });
    }
    {
        double* x = dev_real<double>(DP_POINTS, 28, -0.99f, 0.99f);
        double* y = dev_alloc<double>(DP_POINTS);
        std::vector<double> c(DP_TERMS);
        for (int k = 0; k < DP_TERMS; ++k) c[k] = unit_float(k + 500) - 0.3;
        CK(cudaMemcpyToSymbol(dpoly_coef, c.data(), sizeof(double) * DP_TERMS));
        add_healthy(
            "dpoly",
            [=] {
                LAUNCH(dpoly_healthy, DP_POINTS / 4 / 256, 256, 0, reinterpret_cast<const double2*>(x),
                       reinterpret_cast<double2*>(y));
            },
            [=] {
                std::vector<double> hx(1000), hy(1000);
                CK(cudaMemcpy(hx.data(), x + 4321, sizeof(double) * 1000, cudaMemcpyDeviceToHost));
                CK(cudaMemcpy(hy.data(), y + 4321, sizeof(double) * 1000, cudaMemcpyDeviceToHost));
                for (int i = 0; i < 1000; ++i) {
                    double s = 0;
                    for (int k = DP_TERMS - 1; k >= 0; --k) s = s * hx[i] + c[k];
                    if (!(std::fabs(s - hy[i]) <= 1e-6 * std::max(1.0, std::fabs(s)))) {
                        std::printf("dpoly differs at %d: %g against %g\n", i, hy[i], s);
                        return false;
                    }
                }
                return true;
            });
    }
    {
        uint32_t* out = dev_alloc<uint32_t>(PH_BLOCKS * 256);
        add_healthy(
            "philox", [=] { LAUNCH(philox_healthy, PH_BLOCKS, 256, 0, out); },
            [=] {
                std::vector<uint32_t> h(1000);
                CK(cudaMemcpy(h.data(), out + 777, sizeof(uint32_t) * 1000, cudaMemcpyDeviceToHost));
                for (int i = 0; i < 1000; ++i) {
                    uint32_t s = 0;
                    for (uint32_t d = 0; d < PH_DRAWS; ++d) s += philox_sum(777 + i, d);
                    if (s != h[i]) {
                        std::printf("philox differs at %d: %u against %u\n", i, h[i], s);
                        return false;
                    }
                }
                return true;
            });
    }
    return drive(argc, argv);
}
