#include <cuda_runtime.h>
#include <cuda_fp16.h>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cmath>

#define CK(x)                                                                              \
  do {                                                                                     \
    cudaError_t e_ = (x);                                                                  \
    if (e_ != cudaSuccess) {                                                               \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(e_));          \
      exit(1);                                                                             \
    }                                                                                      \
  } while (0)

static bool g_once = false;

// Times one launch: best of 20 after three warm-ups. With --once it launches exactly once.
template <class F>
static void bench(const char* name, F launch) {
  if (g_once) {
    launch();
    CK(cudaGetLastError());
    CK(cudaDeviceSynchronize());
    return;
  }
  cudaEvent_t a, b;
  CK(cudaEventCreate(&a));
  CK(cudaEventCreate(&b));
  for (int i = 0; i < 3; ++i) launch();
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  float best = 1e30f;
  for (int i = 0; i < 20; ++i) {
    CK(cudaEventRecord(a));
    launch();
    CK(cudaEventRecord(b));
    CK(cudaEventSynchronize(b));
    float ms = 0;
    CK(cudaEventElapsedTime(&ms, a, b));
    if (ms < best) best = ms;
  }
  CK(cudaGetLastError());
  printf("%s %.2f\n", name, best * 1000.0f);
  fflush(stdout);
  CK(cudaEventDestroy(a));
  CK(cudaEventDestroy(b));
}

template <class T>
static T* dalloc(size_t n) {
  T* p = nullptr;
  CK(cudaMalloc(&p, n * sizeof(T)));
  CK(cudaMemset(p, 0, n * sizeof(T)));
  return p;
}

__host__ __device__ inline uint32_t mix32(uint32_t x) {
  x ^= x >> 16; x *= 0x7feb352du;
  x ^= x >> 15; x *= 0x846ca68bu;
  x ^= x >> 16;
  return x;
}
__host__ __device__ inline float unit(uint32_t x) { return (mix32(x) >> 8) * (1.0f / 16777216.0f); }

__global__ void fill_float(float* p, size_t n, uint32_t seed, float lo, float hi) {
  for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x)
    p[i] = lo + (hi - lo) * unit((uint32_t)i + seed * 0x9E3779B9u);
}
__global__ void fill_word(uint32_t* p, size_t n, uint32_t seed) {
  for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x)
    p[i] = mix32((uint32_t)i + seed * 0x9E3779B9u);
}
__global__ void fill_half(__half* p, size_t n, uint32_t seed, float lo, float hi) {
  for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x)
    p[i] = __float2half(lo + (hi - lo) * unit((uint32_t)i + seed * 0x9E3779B9u));
}

// res[0] = max |a-b|, res[1] = max |a|, res[2] = number of values that are not finite
__global__ void cmp_float(const float* a, const float* b, size_t n, uint32_t* res) {
  for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x) {
    float x = a[i], y = b[i];
    if (!isfinite(x) || !isfinite(y)) { atomicAdd(&res[2], 1u); continue; }
    float d = fabsf(x - y), m = fabsf(x);
    if (d > 0) atomicMax(&res[0], __float_as_uint(d));
    if (__float_as_uint(m) > res[1]) atomicMax(&res[1], __float_as_uint(m));
  }
}
__global__ void cmp_word(const uint32_t* a, const uint32_t* b, size_t n, uint32_t* res) {
  for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x) {
    if (a[i] != b[i]) atomicAdd(&res[0], 1u);
    if (a[i] != 0 && res[1] == 0) res[1] = 1;
  }
}
[[maybe_unused]] static void check_float(const char* name, const float* a, const float* b, size_t n, float tol) {
  if (g_once) return;
  uint32_t* d = dalloc<uint32_t>(4);
  uint32_t h[4];
  cmp_float<<<1024, 256>>>(a, b, n, d);
  CK(cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost));
  CK(cudaFree(d));
  float diff, top;
  memcpy(&diff, &h[0], 4);
  memcpy(&top, &h[1], 4);
  bool ok = h[2] == 0 && top > 0 && diff <= tol * top;
  printf("check %s %s\n", name, ok ? "ok" : "BAD");
  if (!ok) fprintf(stderr, "%s: max difference %g, largest value %g, not finite %u\n", name, diff, top, h[2]);
  fflush(stdout);
}
[[maybe_unused]] static void check_word(const char* name, const uint32_t* a, const uint32_t* b, size_t n) {
  if (g_once) return;
  uint32_t* d = dalloc<uint32_t>(4);
  uint32_t h[4];
  cmp_word<<<1024, 256>>>(a, b, n, d);
  CK(cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost));
  CK(cudaFree(d));
  bool ok = h[0] == 0 && h[1] != 0;
  printf("check %s %s\n", name, ok ? "ok" : "BAD");
  if (!ok) fprintf(stderr, "%s: %u words differ, any value %u\n", name, h[0], h[1]);
  fflush(stdout);
}
// For kernels without a partner: all values finite and not all zero.
[[maybe_unused]] static void check_sane(const char* name, const float* a, size_t n) { check_float(name, a, a, n, 0.0f); }

// ---------------------------------------------------------------- damped Cholesky solves, one 10 x 10 system a thread
constexpr int CH_N = 10;
constexpr int CH_TRI = CH_N * (CH_N + 1) / 2;
constexpr int CH_SYSTEMS = 132 * 2048 * 2;

__device__ __forceinline__ void ch_body(const float* __restrict__ a, float* __restrict__ out) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  float base[CH_N];
#pragma unroll
  for (int i = 0; i < CH_N; ++i) base[i] = a[i * CH_SYSTEMS + t];
  float total = 0.0f;
#pragma unroll 1
  for (int d = 0; d < 8; ++d) {
    float damp = 2.0f + 0.25f * d;
    float l[CH_TRI], x[CH_N];
#pragma unroll
    for (int i = 0; i < CH_N; ++i) {
      x[i] = base[CH_N - 1 - i];
#pragma unroll
      for (int j = 0; j <= i; ++j) l[i * (i + 1) / 2 + j] = base[i] * base[j] + (i == j ? damp : 0.0f);
    }
#pragma unroll
    for (int j = 0; j < CH_N; ++j) {             // right-looking: every column updates all that follow
      float r = rsqrtf(l[j * (j + 1) / 2 + j]);
      l[j * (j + 1) / 2 + j] = r;
#pragma unroll
      for (int i = j + 1; i < CH_N; ++i) l[i * (i + 1) / 2 + j] *= r;
#pragma unroll
      for (int i = j + 1; i < CH_N; ++i)
#pragma unroll
        for (int k = j + 1; k <= i; ++k)
          l[i * (i + 1) / 2 + k] = fmaf(-l[i * (i + 1) / 2 + j], l[k * (k + 1) / 2 + j], l[i * (i + 1) / 2 + k]);
    }
#pragma unroll
    for (int i = 0; i < CH_N; ++i) {
#pragma unroll
      for (int j = 0; j < i; ++j) x[i] = fmaf(-l[i * (i + 1) / 2 + j], x[j], x[i]);
      x[i] *= l[i * (i + 1) / 2 + i];
    }
#pragma unroll
    for (int i = CH_N - 1; i >= 0; --i) {
#pragma unroll
      for (int j = i + 1; j < CH_N; ++j) x[i] = fmaf(-l[j * (j + 1) / 2 + i], x[j], x[i]);
      x[i] *= l[i * (i + 1) / 2 + i];
      total = fmaf(x[i], x[i], total);
    }
  }
  out[t] = total;
}
__global__ void __launch_bounds__(512, 2) damped_solve_slow(const float* __restrict__ a, float* __restrict__ out) {
  ch_body(a, out);
}
__global__ void __launch_bounds__(512, 1) damped_solve_fixed(const float* __restrict__ a, float* __restrict__ out) {
  ch_body(a, out);
}
static void run_chol() {
  float* a = dalloc<float>((size_t)CH_N * CH_SYSTEMS);
  float* o0 = dalloc<float>(CH_SYSTEMS);
  float* o1 = dalloc<float>(CH_SYSTEMS);
  fill_float<<<1024, 256>>>(a, (size_t)CH_N * CH_SYSTEMS, 30, -1.0f, 1.0f);
  CK(cudaDeviceSynchronize());
  bench("damped_solve_slow", [&] { damped_solve_slow<<<CH_SYSTEMS / 512, 512>>>(a, o0); });
  bench("damped_solve_fixed", [&] { damped_solve_fixed<<<CH_SYSTEMS / 512, 512>>>(a, o1); });
  check_float("damped_solve", o0, o1, CH_SYSTEMS, 1e-4f);
  CK(cudaFree(a)); CK(cudaFree(o0)); CK(cudaFree(o1));
}

// ---------------------------------------------------------------- entropy of a 32-bin histogram, one window a thread
constexpr int EN_WINDOWS = 132 * 2048 * 2;
constexpr int EN_WORDS = 64;                     // four samples a word
constexpr int EN_BINS = 32;
constexpr int EN_THREADS = 128;

__device__ __forceinline__ float en_term(uint32_t c) { return c ? (float)c * __log2f((float)c) : 0.0f; }
__global__ void __launch_bounds__(EN_THREADS) window_entropy_slow(const uint32_t* __restrict__ x,
                                                                  float* __restrict__ out) {
  int t = blockIdx.x * EN_THREADS + threadIdx.x;
  uint32_t bin[EN_BINS];
#pragma unroll
  for (int b = 0; b < EN_BINS; ++b) bin[b] = 0;
#pragma unroll 4
  for (int k = 0; k < EN_WORDS; ++k) {
    uint32_t w = x[(size_t)k * EN_WINDOWS + t];
    ++bin[w & 31u];
    ++bin[(w >> 8) & 31u];
    ++bin[(w >> 16) & 31u];
    ++bin[(w >> 24) & 31u];
  }
  float e = 0.0f;
#pragma unroll
  for (int b = 0; b < EN_BINS; ++b) e += en_term(bin[b]);
  out[t] = 8.0f - e * (1.0f / 256.0f);
}
__global__ void __launch_bounds__(EN_THREADS) window_entropy_fixed(const uint32_t* __restrict__ x,
                                                                   float* __restrict__ out) {
  __shared__ uint32_t bin[EN_BINS][EN_THREADS];  // a column a thread: no conflicts, no atomics
  int t = blockIdx.x * EN_THREADS + threadIdx.x;
  int c = threadIdx.x;
#pragma unroll
  for (int b = 0; b < EN_BINS; ++b) bin[b][c] = 0;
#pragma unroll 4
  for (int k = 0; k < EN_WORDS; ++k) {
    uint32_t w = x[(size_t)k * EN_WINDOWS + t];
    ++bin[w & 31u][c];
    ++bin[(w >> 8) & 31u][c];
    ++bin[(w >> 16) & 31u][c];
    ++bin[(w >> 24) & 31u][c];
  }
  float e = 0.0f;
#pragma unroll
  for (int b = 0; b < EN_BINS; ++b) e += en_term(bin[b][c]);
  out[t] = 8.0f - e * (1.0f / 256.0f);
}
static void run_entropy() {
  size_t n = (size_t)EN_WINDOWS * EN_WORDS;
  uint32_t* x = dalloc<uint32_t>(n);
  float* o0 = dalloc<float>(EN_WINDOWS);
  float* o1 = dalloc<float>(EN_WINDOWS);
  fill_word<<<1024, 256>>>(x, n, 31);
  CK(cudaDeviceSynchronize());
  bench("window_entropy_slow", [&] { window_entropy_slow<<<EN_WINDOWS / EN_THREADS, EN_THREADS>>>(x, o0); });
  bench("window_entropy_fixed", [&] { window_entropy_fixed<<<EN_WINDOWS / EN_THREADS, EN_THREADS>>>(x, o1); });
  check_float("window_entropy", o0, o1, EN_WINDOWS, 1e-5f);
  CK(cudaFree(x)); CK(cudaFree(o0)); CK(cudaFree(o1));
}

// ---------------------------------------------------------------- one step of k-means: sums of eight clusters
constexpr int KM_K = 8;
constexpr int KM_POINTS = 1056 * 256 * 64;
constexpr int KM_GRID = 1056;
__constant__ float2 km_center[KM_K];

__device__ __forceinline__ int km_nearest(float2 p) {
  int best = 0;
  float bd = 1e30f;
#pragma unroll
  for (int k = 0; k < KM_K; ++k) {
    float dx = p.x - km_center[k].x, dy = p.y - km_center[k].y;
    float d = fmaf(dx, dx, dy * dy);
    if (d < bd) {
      bd = d;
      best = k;
    }
  }
  return best;
}
__global__ void __launch_bounds__(256) kmeans_sums_slow(const float2* __restrict__ p, float* __restrict__ out) {
  __shared__ float sum[KM_K][3];
  if (threadIdx.x < KM_K * 3) sum[threadIdx.x / 3][threadIdx.x % 3] = 0.0f;
  __syncthreads();
#pragma unroll 4
  for (int i = blockIdx.x * 256 + threadIdx.x; i < KM_POINTS; i += KM_GRID * 256) {
    float2 v = p[i];
    int k = km_nearest(v);
    atomicAdd(&sum[k][0], v.x);
    atomicAdd(&sum[k][1], v.y);
    atomicAdd(&sum[k][2], 1.0f);
  }
  __syncthreads();
  if (threadIdx.x < KM_K * 3) out[blockIdx.x * KM_K * 3 + threadIdx.x] = sum[threadIdx.x / 3][threadIdx.x % 3];
}
__global__ void __launch_bounds__(256) kmeans_sums_fixed(const float2* __restrict__ p, float* __restrict__ out) {
  __shared__ float sum[8][KM_K * 3];             // a row a warp
  float acc[KM_K * 3];
#pragma unroll
  for (int j = 0; j < KM_K * 3; ++j) acc[j] = 0.0f;
#pragma unroll 4
  for (int i = blockIdx.x * 256 + threadIdx.x; i < KM_POINTS; i += KM_GRID * 256) {
    float2 v = p[i];
    int k = km_nearest(v);
#pragma unroll
    for (int j = 0; j < KM_K; ++j)
      if (j == k) {
        acc[j * 3] += v.x;
        acc[j * 3 + 1] += v.y;
        acc[j * 3 + 2] += 1.0f;
      }
  }
  int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
#pragma unroll
  for (int j = 0; j < KM_K * 3; ++j) {
    float s = acc[j];
#pragma unroll
    for (int o = 16; o; o >>= 1) s += __shfl_xor_sync(~0u, s, o);
    if (lane == 0) sum[warp][j] = s;
  }
  __syncthreads();
  if (threadIdx.x < KM_K * 3) {
    float s = 0.0f;
    for (int w = 0; w < 8; ++w) s += sum[w][threadIdx.x];
    out[blockIdx.x * KM_K * 3 + threadIdx.x] = s;
  }
}
static void run_kmeans() {
  float* p = dalloc<float>(2 * (size_t)KM_POINTS);
  float* o0 = dalloc<float>(KM_GRID * KM_K * 3);
  float* o1 = dalloc<float>(KM_GRID * KM_K * 3);
  float2 c[KM_K];
  for (int i = 0; i < KM_K; ++i) c[i] = make_float2(unit(i * 2 + 40u), unit(i * 2 + 41u));
  CK(cudaMemcpyToSymbol(km_center, c, sizeof c));
  fill_float<<<1024, 256>>>(p, 2 * (size_t)KM_POINTS, 32, 0.0f, 1.0f);
  CK(cudaDeviceSynchronize());
  bench("kmeans_sums_slow", [&] { kmeans_sums_slow<<<KM_GRID, 256>>>((const float2*)p, o0); });
  bench("kmeans_sums_fixed", [&] { kmeans_sums_fixed<<<KM_GRID, 256>>>((const float2*)p, o1); });
  check_float("kmeans_sums", o0, o1, KM_GRID * KM_K * 3, 1e-4f);
  CK(cudaFree(p)); CK(cudaFree(o0)); CK(cudaFree(o1));
}

// ---------------------------------------------------------------- tabulation hashing of 64-bit keys
constexpr int TH_KEYS = 16 << 20;
constexpr int TH_GRID = 132 * 4;
constexpr int TH_THREADS = 512;
__constant__ uint32_t th_const[8 * 256];
__device__ uint32_t th_table[8 * 256];

__global__ void __launch_bounds__(TH_THREADS) tab_hash_slow(const uint2* __restrict__ key, uint32_t* __restrict__ out) {
#pragma unroll 2
  for (int i = blockIdx.x * TH_THREADS + threadIdx.x; i < TH_KEYS; i += TH_GRID * TH_THREADS) {
    uint2 k = key[i];
    uint32_t h = 0;
#pragma unroll
    for (int b = 0; b < 4; ++b) {
      h ^= th_const[b * 256 + ((k.x >> (8 * b)) & 255u)];
      h ^= th_const[(b + 4) * 256 + ((k.y >> (8 * b)) & 255u)];
    }
    out[i] = h;
  }
}
__global__ void __launch_bounds__(TH_THREADS) tab_hash_fixed(const uint2* __restrict__ key, uint32_t* __restrict__ out) {
  __shared__ uint32_t tab[8 * 256];
  for (int i = threadIdx.x; i < 8 * 256; i += TH_THREADS) tab[i] = th_table[i];
  __syncthreads();
#pragma unroll 2
  for (int i = blockIdx.x * TH_THREADS + threadIdx.x; i < TH_KEYS; i += TH_GRID * TH_THREADS) {
    uint2 k = key[i];
    uint32_t h = 0;
#pragma unroll
    for (int b = 0; b < 4; ++b) {
      h ^= tab[b * 256 + ((k.x >> (8 * b)) & 255u)];
      h ^= tab[(b + 4) * 256 + ((k.y >> (8 * b)) & 255u)];
    }
    out[i] = h;
  }
}
static void run_tab() {
  uint32_t* key = dalloc<uint32_t>(2 * (size_t)TH_KEYS);
  uint32_t* o0 = dalloc<uint32_t>(TH_KEYS);
  uint32_t* o1 = dalloc<uint32_t>(TH_KEYS);
  static uint32_t t[8 * 256];
  for (int i = 0; i < 8 * 256; ++i) t[i] = mix32(i + 50u);
  CK(cudaMemcpyToSymbol(th_const, t, sizeof t));
  CK(cudaMemcpyToSymbol(th_table, t, sizeof t));
  fill_word<<<1024, 256>>>(key, 2 * (size_t)TH_KEYS, 33);
  CK(cudaDeviceSynchronize());
  bench("tab_hash_slow", [&] { tab_hash_slow<<<TH_GRID, TH_THREADS>>>((const uint2*)key, o0); });
  bench("tab_hash_fixed", [&] { tab_hash_fixed<<<TH_GRID, TH_THREADS>>>((const uint2*)key, o1); });
  check_word("tab_hash", o0, o1, TH_KEYS);
  CK(cudaFree(key)); CK(cudaFree(o0)); CK(cudaFree(o1));
}

// ---------------------------------------------------------------- spectrum at frequencies of one's own choice
constexpr int ND_FREQ = 264 * 1024;
constexpr int ND_SAMPLES = 1024;

__global__ void __launch_bounds__(1024, 2) nonuniform_dft_slow(const float* __restrict__ x, const uint32_t* __restrict__ inc,
                                                               float2* __restrict__ out) {
  __shared__ float s[ND_SAMPLES];
  s[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  int f = blockIdx.x * 1024 + threadIdx.x;
  uint32_t step = inc[f], phase = 0;
  float re = 0.0f, im = 0.0f;
#pragma unroll 8
  for (int n = 0; n < ND_SAMPLES; ++n) {
    float c, d;
    __sincosf((float)(int)phase * 1.4629180792671596e-9f, &d, &c);
    re = fmaf(s[n], c, re);
    im = fmaf(s[n], d, im);
    phase += step;
  }
  out[f] = make_float2(re, im);
}
__global__ void __launch_bounds__(1024, 2) nonuniform_dft_fixed(const float* __restrict__ x,
                                                                const uint32_t* __restrict__ inc,
                                                                float2* __restrict__ out) {
  __shared__ float s[ND_SAMPLES];
  s[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  int f = blockIdx.x * 1024 + threadIdx.x;
  uint32_t step = inc[f], phase = 0;
  float re = 0.0f, im = 0.0f, rc, rs;
  __sincosf((float)(int)step * 1.4629180792671596e-9f, &rs, &rc);
#pragma unroll 1
  for (int n0 = 0; n0 < ND_SAMPLES; n0 += 32) {  // start anew now and then, turn in between
    float c, d;
    __sincosf((float)(int)phase * 1.4629180792671596e-9f, &d, &c);
#pragma unroll
    for (int n = 0; n < 32; ++n) {
      re = fmaf(s[n0 + n], c, re);
      im = fmaf(s[n0 + n], d, im);
      float nc = fmaf(-d, rs, c * rc);
      d = fmaf(c, rs, d * rc);
      c = nc;
    }
    phase += 32u * step;
  }
  out[f] = make_float2(re, im);
}
static void run_dft() {
  float* x = dalloc<float>(ND_SAMPLES);
  uint32_t* inc = dalloc<uint32_t>(ND_FREQ);
  float* o0 = dalloc<float>(2 * (size_t)ND_FREQ);
  float* o1 = dalloc<float>(2 * (size_t)ND_FREQ);
  fill_float<<<4, 256>>>(x, ND_SAMPLES, 34, -1.0f, 1.0f);
  fill_word<<<256, 256>>>(inc, ND_FREQ, 35);
  CK(cudaDeviceSynchronize());
  bench("nonuniform_dft_slow", [&] { nonuniform_dft_slow<<<ND_FREQ / 1024, 1024>>>(x, inc, (float2*)o0); });
  bench("nonuniform_dft_fixed", [&] { nonuniform_dft_fixed<<<ND_FREQ / 1024, 1024>>>(x, inc, (float2*)o1); });
  check_float("nonuniform_dft", o0, o1, 2 * (size_t)ND_FREQ, 1e-3f);
  CK(cudaFree(x)); CK(cudaFree(inc)); CK(cudaFree(o0)); CK(cudaFree(o1));
}

// ---------------------------------------------------------------- smooth-particle force between a thread's particle and 512 others
constexpr int SF_N = 264 * 1024;
constexpr int SF_SOURCES = 512;

__global__ void __launch_bounds__(256) smooth_force_slow(const float4* __restrict__ p, const float4* __restrict__ src,
                                                         float4* __restrict__ force) {
  __shared__ float4 s[SF_SOURCES];
  for (int i = threadIdx.x; i < SF_SOURCES; i += 256) s[i] = src[i];
  __syncthreads();
  int t = blockIdx.x * 256 + threadIdx.x;
  float4 me = p[t];
  float fx = 0, fy = 0, fz = 0, e = 0;
#pragma unroll 4
  for (int i = 0; i < SF_SOURCES; ++i) {
    float4 o = s[i];
    float dx = o.x - me.x, dy = o.y - me.y, dz = o.z - me.z;
    float q = 0.45 * (dx * dx + dy * dy + dz * dz);
    float u = fmaxf(1.0f - q, 0.0f);
    float w = u * u * (0.1 + 2.7 * q);
    float g = u * (1.3 - 0.7 * q) * o.w;
    fx += dx * g;
    fy += dy * g;
    fz += dz * g;
    e += w * o.w;
  }
  force[t] = make_float4(fx, fy, fz, e);
}
__global__ void __launch_bounds__(256) smooth_force_fixed(const float4* __restrict__ p, const float4* __restrict__ src,
                                                          float4* __restrict__ force) {
  __shared__ float4 s[SF_SOURCES];
  for (int i = threadIdx.x; i < SF_SOURCES; i += 256) s[i] = src[i];
  __syncthreads();
  int t = blockIdx.x * 256 + threadIdx.x;
  float4 me = p[t];
  float fx = 0, fy = 0, fz = 0, e = 0;
#pragma unroll 4
  for (int i = 0; i < SF_SOURCES; ++i) {
    float4 o = s[i];
    float dx = o.x - me.x, dy = o.y - me.y, dz = o.z - me.z;
    float q = 0.45f * (dx * dx + dy * dy + dz * dz);
    float u = fmaxf(1.0f - q, 0.0f);
    float w = u * u * (0.1f + 2.7f * q);
    float g = u * (1.3f - 0.7f * q) * o.w;
    fx += dx * g;
    fy += dy * g;
    fz += dz * g;
    e += w * o.w;
  }
  force[t] = make_float4(fx, fy, fz, e);
}
static void run_force() {
  float* p = dalloc<float>(4 * (size_t)SF_N);
  float* src = dalloc<float>(4 * SF_SOURCES);
  float* o0 = dalloc<float>(4 * (size_t)SF_N);
  float* o1 = dalloc<float>(4 * (size_t)SF_N);
  fill_float<<<1024, 256>>>(p, 4 * (size_t)SF_N, 36, 0.0f, 2.0f);
  fill_float<<<8, 256>>>(src, 4 * SF_SOURCES, 37, 0.0f, 2.0f);
  CK(cudaDeviceSynchronize());
  bench("smooth_force_slow",
        [&] { smooth_force_slow<<<SF_N / 256, 256>>>((const float4*)p, (const float4*)src, (float4*)o0); });
  bench("smooth_force_fixed",
        [&] { smooth_force_fixed<<<SF_N / 256, 256>>>((const float4*)p, (const float4*)src, (float4*)o1); });
  check_float("smooth_force", o0, o1, 4 * (size_t)SF_N, 1e-4f);
  CK(cudaFree(p)); CK(cudaFree(src)); CK(cudaFree(o0)); CK(cudaFree(o1));
}

// ---------------------------------------------------------------- logistic orbits in double: DFMA at its rate
constexpr int LO_N = 264 * 1024 * 8;

__global__ void __launch_bounds__(256) double_orbit_healthy(const float* __restrict__ x, float* __restrict__ out) {
  int first = blockIdx.x * 2048 + threadIdx.x;
  double v[8], c[8];
#pragma unroll
  for (int j = 0; j < 8; ++j) {
    c[j] = (double)x[first + j * 256];
    v[j] = 0.1;
  }
#pragma unroll 8
  for (int k = 0; k < 1024; ++k)
#pragma unroll
    for (int j = 0; j < 8; ++j) v[j] = fma(v[j], v[j], c[j]);
#pragma unroll
  for (int j = 0; j < 8; ++j) out[first + j * 256] = (float)v[j];
}
static void run_orbit() {
  float* x = dalloc<float>(LO_N);
  float* o = dalloc<float>(LO_N);
  fill_float<<<1024, 256>>>(x, LO_N, 38, -1.9f, 0.2f);
  CK(cudaDeviceSynchronize());
  bench("double_orbit_healthy", [&] { double_orbit_healthy<<<LO_N / 2048, 256>>>(x, o); });
  check_sane("double_orbit", o, LO_N);
  CK(cudaFree(x)); CK(cudaFree(o));
}

// ---------------------------------------------------------------- key stretching: integer work at its rate
constexpr int KS_N = 264 * 1024 * 4;

__global__ void __launch_bounds__(256) stretch_hash_healthy(const uint32_t* __restrict__ x, uint32_t* __restrict__ out) {
  int first = blockIdx.x * 1024 + threadIdx.x;
  uint32_t a[4], b[4];
#pragma unroll
  for (int j = 0; j < 4; ++j) {
    a[j] = x[first + j * 256];
    b[j] = ~a[j];
  }
#pragma unroll 8
  for (uint32_t k = 0; k < 512; ++k)
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      a[j] = (a[j] ^ b[j]) + k;
      b[j] = __funnelshift_l(b[j], b[j], 13) ^ a[j];
      a[j] = a[j] * 0xCC9E2D51u + b[j];
      b[j] = __funnelshift_l(b[j], b[j], 7) + a[j];
    }
#pragma unroll
  for (int j = 0; j < 4; ++j) out[first + j * 256] = a[j] ^ b[j];
}
static void run_stretch() {
  uint32_t* x = dalloc<uint32_t>(KS_N);
  uint32_t* o = dalloc<uint32_t>(KS_N);
  fill_word<<<1024, 256>>>(x, KS_N, 39);
  CK(cudaDeviceSynchronize());
  bench("stretch_hash_healthy", [&] { stretch_hash_healthy<<<KS_N / 1024, 256>>>(x, o); });
  check_word("stretch_hash", o, o, KS_N);
  CK(cudaFree(x)); CK(cudaFree(o));
}

int main(int argc, char** argv) {
  g_once = argc > 1 && !strcmp(argv[1], "--once");
  run_chol();
  run_entropy();
  run_kmeans();
  run_tab();
  run_dft();
  run_force();
  run_orbit();
  run_stretch();
  return 0;
}
