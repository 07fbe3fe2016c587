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

// ---------------------------------------------------------------- rbsor: red-black relaxation of a tile kept in shared memory
constexpr int RB_W = 4096, RB_H = 2048, RB_TX = 64, RB_TY = 32, RB_SWEEPS = 16, RB_PITCH = RB_TX + 2;

__device__ __forceinline__ void rb_load(const float* __restrict__ u, const float* __restrict__ f, float* us, float* fs,
                                        int bx, int by) {
    for (unsigned e = threadIdx.x; e < RB_PITCH * (RB_TY + 2); e += 256) {
        int x = min(max(bx + (int)(e % RB_PITCH) - 1, 0), RB_W - 1);
        int y = min(max(by + (int)(e / RB_PITCH) - 1, 0), RB_H - 1);
        us[e] = u[(size_t)y * RB_W + x];
    }
    for (unsigned e = threadIdx.x; e < RB_TX * RB_TY; e += 256) fs[e] = f[(size_t)(by + e / RB_TX) * RB_W + bx + e % RB_TX];
}

__device__ __forceinline__ void rb_relax(float* us, const float* fs, int x, int y) {
    float* c = us + (y + 1) * RB_PITCH + x + 1;
    float target = 0.25f * (c[-1] + c[1] + c[-RB_PITCH] + c[RB_PITCH] - fs[y * RB_TX + x]);
    *c = fmaf(1.5f, target - *c, *c);
}

__global__ void __launch_bounds__(256) rbsor_slow(const float* __restrict__ u, const float* __restrict__ f,
                                                  float* __restrict__ out) {
    __shared__ float us[RB_PITCH * (RB_TY + 2)], fs[RB_TX * RB_TY];
    int bx = blockIdx.x * RB_TX, by = blockIdx.y * RB_TY;
    rb_load(u, f, us, fs, bx, by);
    __syncthreads();
    for (int s = 0; s < RB_SWEEPS; ++s)
        for (int color = 0; color < 2; ++color) {
            for (unsigned e = threadIdx.x; e < RB_TX * RB_TY; e += 256) {
                int x = e % RB_TX, y = e / RB_TX;
                if (((x + y) & 1) == color) rb_relax(us, fs, x, y);
            }
            __syncthreads();
        }
    for (unsigned e = threadIdx.x; e < RB_TX * RB_TY; e += 256)
        out[(size_t)(by + e / RB_TX) * RB_W + bx + e % RB_TX] = us[(e / RB_TX + 1) * RB_PITCH + e % RB_TX + 1];
}

__global__ void __launch_bounds__(256) rbsor_fixed(const float* __restrict__ u, const float* __restrict__ f,
                                                   float* __restrict__ out) {
    __shared__ float us[RB_PITCH * (RB_TY + 2)], fs[RB_TX * RB_TY];
    int bx = blockIdx.x * RB_TX, by = blockIdx.y * RB_TY;
    rb_load(u, f, us, fs, bx, by);
    __syncthreads();
    for (int s = 0; s < RB_SWEEPS; ++s)
        for (int color = 0; color < 2; ++color) {
            // a warp takes the 32 cells of this colour in a patch of 32 x 2: every bank once
            for (unsigned e = threadIdx.x; e < RB_TX * RB_TY / 2; e += 256) {
                unsigned patch = e / 32, lane = e % 32;
                int y = patch / 2 * 2 + lane / 16;
                int x = patch % 2 * 32 + lane % 16 * 2 + ((y + color) & 1);
                rb_relax(us, fs, x, y);
            }
            __syncthreads();
        }
    for (unsigned e = threadIdx.x; e < RB_TX * RB_TY; e += 256)
        out[(size_t)(by + e / RB_TX) * RB_W + bx + e % RB_TX] = us[(e / RB_TX + 1) * RB_PITCH + e % RB_TX + 1];
}

// ---------------------------------------------------------------- rankscan: rank of every kept element in its row (stream compaction)
constexpr int RS_ROWS = 32768, RS_COLS = 1024;

__global__ void __launch_bounds__(1024) rankscan_slow(const uint8_t* __restrict__ keys, uint8_t limit,
                                                      uint16_t* __restrict__ rank) {
    __shared__ int s[RS_COLS];
    int t = threadIdx.x;
    size_t at = (size_t)blockIdx.x * RS_COLS + t;
    int v = keys[at] < limit ? 1 : 0;
    s[t] = v;
    __syncthreads();
    for (int off = 1; off < RS_COLS; off *= 2) {
        if (t >= off) v += s[t - off];
        __syncthreads();
        s[t] = v;
        __syncthreads();
    }
    rank[at] = (uint16_t)v;
}

__global__ void __launch_bounds__(1024) rankscan_fixed(const uint8_t* __restrict__ keys, uint8_t limit,
                                                       uint16_t* __restrict__ rank) {
    __shared__ int s[32];
    int t = threadIdx.x, lane = t % 32;
    size_t at = (size_t)blockIdx.x * RS_COLS + t;
    unsigned kept = __ballot_sync(0xffffffffu, keys[at] < limit);
    int mine = __popc(kept & (0xffffffffu >> (31 - lane)));
    if (lane == 0) s[t / 32] = __popc(kept);
    __syncthreads();
    int v = s[lane];
    for (int off = 1; off < 32; off *= 2) {
        int before = __shfl_up_sync(0xffffffffu, v, off);
        if (lane >= off) v += before;
    }
    int base = __shfl_sync(0xffffffffu, v, (t / 32 + 31) % 32);
    rank[at] = (uint16_t)(mine + (t < 32 ? 0 : base));
}

// ---------------------------------------------------------------- segsort: bitonic sort of segments of 8192 keys, a block a segment
constexpr int SS_KEYS = 8192, SS_SEGMENTS = 6 * 132 * 2;

template <int THREADS>
__device__ __forceinline__ void sort_segment(const uint32_t* __restrict__ in, uint32_t* __restrict__ out) {
    __shared__ uint32_t key[SS_KEYS];
    size_t base = (size_t)blockIdx.x * SS_KEYS;
    for (int i = threadIdx.x; i < SS_KEYS; i += THREADS) key[i] = in[base + i];
    __syncthreads();
    for (int size = 2; size <= SS_KEYS; size *= 2)
        for (int half = size / 2; half > 0; half /= 2) {
            for (int p = threadIdx.x; p < SS_KEYS / 2; p += THREADS) {
                int i = 2 * p - (p & (half - 1));
                uint32_t a = key[i], b = key[i + half];
                if ((a > b) == ((i & size) == 0)) {
                    key[i] = b;
                    key[i + half] = a;
                }
            }
            __syncthreads();
        }
    for (int i = threadIdx.x; i < SS_KEYS; i += THREADS) out[base + i] = key[i];
}

__global__ void __launch_bounds__(32) segsort_slow(const uint32_t* __restrict__ in, uint32_t* __restrict__ out) {
    sort_segment<32>(in, out);
}

__global__ void __launch_bounds__(256) segsort_fixed(const uint32_t* __restrict__ in, uint32_t* __restrict__ out) {
    sort_segment<256>(in, out);
}

// ---------------------------------------------------------------- lmsfilter: adaptive one-step predictor, a thread a channel
constexpr int LMS_CHANNELS = 132 * 12 * 128, LMS_STEPS = 256, LMS_TAPS = 32;

__device__ __forceinline__ float lms_step(float (&w)[LMS_TAPS], const float (&ring)[LMS_TAPS], unsigned head, float x) {
    float y0 = 0, y1 = 0;
#pragma unroll
    for (int k = 0; k < LMS_TAPS; k += 2) {
        y0 = fmaf(w[k], ring[(head + k) % LMS_TAPS], y0);
        y1 = fmaf(w[k + 1], ring[(head + k + 1) % LMS_TAPS], y1);
    }
    float err = x - (y0 + y1), gain = 0.01f * err;
#pragma unroll
    for (int k = 0; k < LMS_TAPS; ++k) w[k] = fmaf(gain, ring[(head + k) % LMS_TAPS], w[k]);
    return err;
}

__global__ void __launch_bounds__(128, 4) lmsfilter_slow(const __half* __restrict__ signal, float* __restrict__ energy) {
    int c = blockIdx.x * 128 + threadIdx.x;
    float w[LMS_TAPS], ring[LMS_TAPS], sum = 0;
#pragma unroll
    for (int k = 0; k < LMS_TAPS; ++k) w[k] = ring[k] = 0;
    unsigned head = 0;
#pragma unroll 1
    for (int t = 0; t < LMS_STEPS; ++t) {
        float x = __half2float(signal[(size_t)t * LMS_CHANNELS + c]);
        float err = lms_step(w, ring, head, x);
        sum = fmaf(err, err, sum);
        head = (head + LMS_TAPS - 1) % LMS_TAPS;
        ring[head] = x;
    }
    energy[c] = sum;
}

__global__ void __launch_bounds__(128, 4) lmsfilter_fixed(const __half* __restrict__ signal, float* __restrict__ energy) {
    int c = blockIdx.x * 128 + threadIdx.x;
    float w[LMS_TAPS], ring[LMS_TAPS], sum = 0;
#pragma unroll
    for (int k = 0; k < LMS_TAPS; ++k) w[k] = ring[k] = 0;
#pragma unroll 1
    for (int t = 0; t < LMS_STEPS; t += LMS_TAPS) {
        // a whole turn of the ring unrolled: every index is a constant, the ring lives in registers
#pragma unroll
        for (int s = 0; s < LMS_TAPS; ++s) {
            float x = __half2float(signal[(size_t)(t + s) * LMS_CHANNELS + c]);
            float err = lms_step(w, ring, (LMS_TAPS - s) % LMS_TAPS, x);
            sum = fmaf(err, err, sum);
            ring[LMS_TAPS - 1 - s] = x;
        }
    }
    energy[c] = sum;
}

// ---------------------------------------------------------------- whist: weighted histogram of a dark image, one histogram a block
constexpr int WH_BLOCKS = 132 * 8, WH_CHUNK = 32768, WH_BINS = 64;
constexpr size_t WH_PIXELS = (size_t)WH_BLOCKS * WH_CHUNK;

__global__ void fill_image(uint16_t* p, size_t n) {
    size_t stride = (size_t)gridDim.x * blockDim.x;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
        uint32_t r = mix32((uint32_t)i + 99);
        uint32_t bin = (r & 255) < 90 ? 3 : (r >> 8) % WH_BINS;
        p[i] = (uint16_t)(bin | ((r >> 16) & 255) << 8);
    }
}

__global__ void __launch_bounds__(256) whist_slow(const uint16_t* __restrict__ image, float* __restrict__ hist) {
    __shared__ float h[WH_BINS];
    for (int b = threadIdx.x; b < WH_BINS; b += 256) h[b] = 0;
    __syncthreads();
    const uint16_t* chunk = image + (size_t)blockIdx.x * WH_CHUNK;
#pragma unroll 4
    for (int i = threadIdx.x; i < WH_CHUNK; i += 256) {
        uint32_t v = chunk[i];
        atomicAdd(&h[v & 255], (float)(v >> 8) * (1.0f / 255.0f));
    }
    __syncthreads();
    for (int b = threadIdx.x; b < WH_BINS; b += 256) hist[blockIdx.x * WH_BINS + b] = h[b];
}

__global__ void __launch_bounds__(256) whist_fixed(const uint16_t* __restrict__ image, float* __restrict__ hist) {
    __shared__ float h[WH_BINS * 32];  // a copy for every lane: a warp meets neither itself nor a bank twice
    for (int b = threadIdx.x; b < WH_BINS * 32; b += 256) h[b] = 0;
    __syncthreads();
    const uint16_t* chunk = image + (size_t)blockIdx.x * WH_CHUNK;
    int lane = threadIdx.x % 32;
#pragma unroll 4
    for (int i = threadIdx.x; i < WH_CHUNK; i += 256) {
        uint32_t v = chunk[i];
        atomicAdd(&h[(v & 255) * 32 + lane], (float)(v >> 8) * (1.0f / 255.0f));
    }
    __syncthreads();
    for (int b = threadIdx.x / 32; b < WH_BINS; b += 8) {
        float sum = h[b * 32 + lane];
        for (int off = 16; off > 0; off /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, off);
        if (lane == 0) hist[blockIdx.x * WH_BINS + b] = sum;
    }
}

int main(int argc, char** argv) {
    {
        size_t n = (size_t)RB_W * RB_H;
        float* u = dev_real<float>(n, 11, -1, 1);
        float* f = dev_real<float>(n, 12, -1, 1);
        float *o1 = dev_alloc<float>(n), *o2 = dev_alloc<float>(n);
        dim3 grid(RB_W / RB_TX, RB_H / RB_TY);
        add_pair<float>(
            "rbsor", [=] { LAUNCH(rbsor_slow, grid, 256, 0, u, f, o1); },
            [=] { LAUNCH(rbsor_fixed, grid, 256, 0, u, f, o2); }, o1, o2, n, 1e-3);
    }
    {
        size_t n = (size_t)RS_ROWS * RS_COLS;
        uint8_t* keys = dev_bits<uint8_t>(n, 13);
        uint16_t *o1 = dev_alloc<uint16_t>(n), *o2 = dev_alloc<uint16_t>(n);
        uint8_t limit = 100;
        add_pair<uint16_t>(
            "rankscan", [=] { LAUNCH(rankscan_slow, RS_ROWS, RS_COLS, 0, keys, limit, o1); },
            [=] { LAUNCH(rankscan_fixed, RS_ROWS, RS_COLS, 0, keys, limit, o2); }, o1, o2, n, 0);
    }
    {
        size_t n = (size_t)SS_SEGMENTS * SS_KEYS;
        uint32_t* keys = dev_bits<uint32_t>(n, 14);
        uint32_t *o1 = dev_alloc<uint32_t>(n), *o2 = dev_alloc<uint32_t>(n);
        CK(cudaFuncSetAttribute(segsort_slow, cudaFuncAttributePreferredSharedMemoryCarveout, 100));
        CK(cudaFuncSetAttribute(segsort_fixed, cudaFuncAttributePreferredSharedMemoryCarveout, 100));
        add_pair<uint32_t>(
            "segsort", [=] { LAUNCH(segsort_slow, SS_SEGMENTS, 32, 0, keys, o1); },
            [=] { LAUNCH(segsort_fixed, SS_SEGMENTS, 256, 0, keys, o2); }, o1, o2, n, 0);
        g_checks.push_back([=] {
            std::vector<uint32_t> v(SS_KEYS);
            CK(cudaMemcpy(v.data(), o2 + 3 * SS_KEYS, SS_KEYS * sizeof(uint32_t), cudaMemcpyDeviceToHost));
            if (std::is_sorted(v.begin(), v.end())) return true;
            std::printf("segsort: not sorted\n");
            return false;
        });
    }
    {
        __half* signal = dev_real<__half>((size_t)LMS_CHANNELS * LMS_STEPS, 15, -1, 1);
        float *o1 = dev_alloc<float>(LMS_CHANNELS), *o2 = dev_alloc<float>(LMS_CHANNELS);
        add_pair<float>(
            "lmsfilter", [=] { LAUNCH(lmsfilter_slow, LMS_CHANNELS / 128, 128, 0, signal, o1); },
            [=] { LAUNCH(lmsfilter_fixed, LMS_CHANNELS / 128, 128, 0, signal, o2); }, o1, o2, (size_t)LMS_CHANNELS,
            1e-3);
    }
    {
        uint16_t* image = dev_alloc<uint16_t>(WH_PIXELS);
        LAUNCH(fill_image, 1024, 256, 0, image, WH_PIXELS);
        size_t n = (size_t)WH_BLOCKS * WH_BINS;
        float *o1 = dev_alloc<float>(n), *o2 = dev_alloc<float>(n);
        add_pair<float>(
            "whist", [=] { LAUNCH(whist_slow, WH_BLOCKS, 256, 0, image, o1); },
            [=] { LAUNCH(whist_fixed, WH_BLOCKS, 256, 0, image, o2); }, o1, o2, n, 1e-3);
    }
    return drive(argc, argv);
}
