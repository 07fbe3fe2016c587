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

// ---------------------------------------------------------------- lookups: coarse table in shared memory, fine table in L2
constexpr int LK_COARSE = 24576;                 // 96 KB in shared memory
constexpr int LK_FINE = 16;                      // fine points a coarse cell
constexpr int LK_QUERIES = 8 << 20;
constexpr int LK_GRID = 264;

__device__ __forceinline__ float lk_edge(uint32_t i) { return ((float)i + 0.5f * unit(i + 11u)) * (1.0f / 16.0f); }
__global__ void fill_lookup(float* coarse, float2* fine) {
  uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= (uint32_t)LK_COARSE * LK_FINE) return;
  uint32_t c = i / LK_FINE, j = i % LK_FINE;
  float a = lk_edge(c), b = lk_edge(c + 1);
  if (j == 0) coarse[c] = a;
  float f = j == 0 ? 0.0f : ((float)j + 0.5f * unit(i + 1234567u)) * (1.0f / LK_FINE);
  fine[i] = make_float2(a + (b - a) * f, unit(i + 99u));
}
template <int THREADS>
__device__ __forceinline__ void lk_body(const float* __restrict__ coarse, const float2* __restrict__ fine,
                                        const float* __restrict__ query, float* __restrict__ out) {
  extern __shared__ __align__(16) float edge[];
  for (int i = threadIdx.x; i < LK_COARSE / 4; i += THREADS)
    reinterpret_cast<float4*>(edge)[i] = reinterpret_cast<const float4*>(coarse)[i];
  __syncthreads();
  for (int q = blockIdx.x * THREADS + threadIdx.x; q < LK_QUERIES; q += LK_GRID * THREADS) {
    float e = query[q];
    int lo = 0, n = LK_COARSE;                   // last edge that is not above e
    while (n > 1) {
      int half = n >> 1;
      if (edge[lo + half] <= e) lo += half;
      n -= half;
    }
    const float2* f = fine + (size_t)lo * LK_FINE;
    int p = 0;
#pragma unroll
    for (int h = LK_FINE / 2; h; h >>= 1)
      if (f[p + h].x <= e) p += h;
    if (p == LK_FINE - 1) --p;
    float2 a = f[p], b = f[p + 1];
    out[q] = a.y + (b.y - a.y) * __fdividef(e - a.x, b.x - a.x);
  }
}
__global__ void __launch_bounds__(128) xs_lookup_slow(const float* __restrict__ coarse, const float2* __restrict__ fine,
                                                      const float* __restrict__ query, float* __restrict__ out) {
  lk_body<128>(coarse, fine, query, out);
}
__global__ void __launch_bounds__(1024, 2) xs_lookup_fixed(const float* __restrict__ coarse,
                                                           const float2* __restrict__ fine,
                                                           const float* __restrict__ query, float* __restrict__ out) {
  lk_body<1024>(coarse, fine, query, out);
}
static void run_lookup() {
  float* coarse = dalloc<float>(LK_COARSE);
  float2* fine = dalloc<float2>((size_t)LK_COARSE * LK_FINE);
  float* query = dalloc<float>(LK_QUERIES);
  float* o0 = dalloc<float>(LK_QUERIES);
  float* o1 = dalloc<float>(LK_QUERIES);
  fill_lookup<<<LK_COARSE * LK_FINE / 256, 256>>>(coarse, fine);
  fill_float<<<1024, 256>>>(query, LK_QUERIES, 9, 1.0f, (float)(LK_COARSE - 2) / 16.0f);
  CK(cudaDeviceSynchronize());
  int bytes = LK_COARSE * 4;
  CK(cudaFuncSetAttribute(xs_lookup_slow, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  CK(cudaFuncSetAttribute(xs_lookup_fixed, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  bench("xs_lookup_slow", [&] { xs_lookup_slow<<<LK_GRID, 128, bytes>>>(coarse, fine, query, o0); });
  bench("xs_lookup_fixed", [&] { xs_lookup_fixed<<<LK_GRID, 1024, bytes>>>(coarse, fine, query, o1); });
  check_float("xs_lookup", o0, o1, LK_QUERIES, 1e-5f);
  CK(cudaFree(coarse)); CK(cudaFree(fine)); CK(cudaFree(query)); CK(cudaFree(o0)); CK(cudaFree(o1));
}

// ---------------------------------------------------------------- attention of one query a head over a long cache
constexpr int DA_HEADS = 24;
constexpr int DA_LEN = 32768;
constexpr int DA_D = 64;
constexpr int DA_SPLITS = 32;
constexpr int DA_THREADS = 512;
constexpr int DA_WARPS = DA_THREADS / 32;

struct DaShared {
  float m[DA_WARPS * 4];
  float l[DA_WARPS * 4];
  float acc[DA_WARPS * 4][DA_D];
};
// Leaves max, sum and the unscaled output of keys [begin, end) in m0, l0 and (threads below 64) o.
__device__ __forceinline__ void da_range(const float* __restrict__ q, const __half* __restrict__ k,
                                         const __half* __restrict__ v, int head, int begin, int end, DaShared& s,
                                         float& m0, float& l0, float& o) {
  int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  int group = lane >> 3, part = lane & 7;        // four keys a warp, eight lanes a key
  float qr[8], acc[8];
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    qr[i] = q[head * DA_D + part * 8 + i] * 0.125f;
    acc[i] = 0.0f;
  }
  float m = -1e30f, l = 0.0f;
  const uint4* kk = reinterpret_cast<const uint4*>(k + (size_t)head * DA_LEN * DA_D);
  const uint4* vv = reinterpret_cast<const uint4*>(v + (size_t)head * DA_LEN * DA_D);
  for (int r = begin + warp * 16; r < end; r += DA_WARPS * 16) {
    uint4 kr[4], vr[4];
#pragma unroll
    for (int u = 0; u < 4; ++u) {
      kr[u] = kk[(r + u * 4 + group) * 8 + part];
      vr[u] = vv[(r + u * 4 + group) * 8 + part];
    }
    float d[4];
#pragma unroll
    for (int u = 0; u < 4; ++u) {
      const __half2* h = reinterpret_cast<const __half2*>(&kr[u]);
      d[u] = 0.0f;
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        float2 f = __half22float2(h[i]);
        d[u] = fmaf(f.x, qr[2 * i], d[u]);
        d[u] = fmaf(f.y, qr[2 * i + 1], d[u]);
      }
#pragma unroll
      for (int x = 4; x; x >>= 1) d[u] += __shfl_xor_sync(~0u, d[u], x);
    }
    float mn = fmaxf(fmaxf(fmaxf(d[0], d[1]), fmaxf(d[2], d[3])), m);
    float c = __expf(m - mn);
    l *= c;
#pragma unroll
    for (int i = 0; i < 8; ++i) acc[i] *= c;
    m = mn;
#pragma unroll
    for (int u = 0; u < 4; ++u) {
      float p = __expf(d[u] - m);
      l += p;
      const __half2* h = reinterpret_cast<const __half2*>(&vr[u]);
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        float2 f = __half22float2(h[i]);
        acc[2 * i] = fmaf(p, f.x, acc[2 * i]);
        acc[2 * i + 1] = fmaf(p, f.y, acc[2 * i + 1]);
      }
    }
  }
  int g = warp * 4 + group;
  if (part == 0) {
    s.m[g] = m;
    s.l[g] = l;
  }
#pragma unroll
  for (int i = 0; i < 8; ++i) s.acc[g][part * 8 + i] = acc[i];
  __syncthreads();
  m0 = -1e30f;
  l0 = 0.0f;
  o = 0.0f;
  if (threadIdx.x < DA_D) {
    for (int i = 0; i < DA_WARPS * 4; ++i) m0 = fmaxf(m0, s.m[i]);
    for (int i = 0; i < DA_WARPS * 4; ++i) {
      float c = __expf(s.m[i] - m0);
      l0 = fmaf(s.l[i], c, l0);
      o = fmaf(s.acc[i][threadIdx.x], c, o);
    }
  }
}
__global__ void __launch_bounds__(DA_THREADS) decode_attn_slow(const float* __restrict__ q, const __half* __restrict__ k,
                                                               const __half* __restrict__ v, float* __restrict__ out) {
  __shared__ DaShared s;
  float m, l, o;
  da_range(q, k, v, blockIdx.x, 0, DA_LEN, s, m, l, o);
  if (threadIdx.x < DA_D) out[blockIdx.x * DA_D + threadIdx.x] = o / l;
}
__global__ void __launch_bounds__(DA_THREADS) decode_attn_fixed(const float* __restrict__ q, const __half* __restrict__ k,
                                                                const __half* __restrict__ v, float* __restrict__ part,
                                                                uint32_t* __restrict__ ticket,
                                                                float* __restrict__ out) {
  __shared__ DaShared s;
  __shared__ bool last;
  float m, l, o;
  int head = blockIdx.y, split = blockIdx.x;
  constexpr int SPAN = DA_LEN / DA_SPLITS;
  da_range(q, k, v, head, split * SPAN, (split + 1) * SPAN, s, m, l, o);
  float* row = part + (size_t)(head * DA_SPLITS + split) * (DA_D + 2);
  if (threadIdx.x < DA_D) {
    row[threadIdx.x] = o;
    if (threadIdx.x == 0) {
      row[DA_D] = m;
      row[DA_D + 1] = l;
    }
    __threadfence();
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    uint32_t n = atomicAdd(&ticket[head], 1u);
    last = n == DA_SPLITS - 1;
    if (last) ticket[head] = 0;                  // ready for the next launch
  }
  __syncthreads();
  if (!last || threadIdx.x >= DA_D) return;
  __threadfence();
  const float* all = part + (size_t)head * DA_SPLITS * (DA_D + 2);
  float mm = -1e30f, ll = 0.0f, oo = 0.0f;
  for (int i = 0; i < DA_SPLITS; ++i) mm = fmaxf(mm, __ldcg(all + i * (DA_D + 2) + DA_D));
  for (int i = 0; i < DA_SPLITS; ++i) {
    float c = __expf(__ldcg(all + i * (DA_D + 2) + DA_D) - mm);
    ll = fmaf(__ldcg(all + i * (DA_D + 2) + DA_D + 1), c, ll);
    oo = fmaf(__ldcg(all + i * (DA_D + 2) + threadIdx.x), c, oo);
  }
  out[head * DA_D + threadIdx.x] = oo / ll;
}
static void run_decode() {
  size_t n = (size_t)DA_HEADS * DA_LEN * DA_D;
  float* q = dalloc<float>(DA_HEADS * DA_D);
  __half* k = dalloc<__half>(n);
  __half* v = dalloc<__half>(n);
  float* part = dalloc<float>(DA_HEADS * DA_SPLITS * (DA_D + 2));
  uint32_t* ticket = dalloc<uint32_t>(DA_HEADS);
  float* o0 = dalloc<float>(DA_HEADS * DA_D);
  float* o1 = dalloc<float>(DA_HEADS * DA_D);
  fill_float<<<8, 256>>>(q, DA_HEADS * DA_D, 10, -2.0f, 2.0f);
  fill_half<<<1024, 256>>>(k, n, 11, -1.0f, 1.0f);
  fill_half<<<1024, 256>>>(v, n, 12, 0.0f, 1.0f);
  CK(cudaDeviceSynchronize());
  bench("decode_attn_slow", [&] { decode_attn_slow<<<DA_HEADS, DA_THREADS>>>(q, k, v, o0); });
  bench("decode_attn_fixed", [&] {
    decode_attn_fixed<<<dim3(DA_SPLITS, DA_HEADS), DA_THREADS>>>(q, k, v, part, ticket, o1);
  });
  check_float("decode_attn", o0, o1, DA_HEADS * DA_D, 1e-4f);
  CK(cudaFree(q)); CK(cudaFree(k)); CK(cudaFree(v)); CK(cudaFree(part)); CK(cudaFree(ticket));
  CK(cudaFree(o0)); CK(cudaFree(o1));
}

// ---------------------------------------------------------------- density of particles from a shared set of sources
constexpr int SP_SOURCES = 1024;
constexpr int SP_BIG = 1024, SP_SMALL = 128;     // threads a block, four particles a thread
constexpr int SP_PARTICLES = 140 * SP_BIG * 4;

template <int THREADS>
__device__ __forceinline__ void sp_body(const float* __restrict__ px, const float* __restrict__ py,
                                        const float* __restrict__ pz, const float4* __restrict__ src,
                                        float* __restrict__ density) {
  __shared__ float4 s[SP_SOURCES];
  for (int i = threadIdx.x; i < SP_SOURCES; i += THREADS) s[i] = src[i];
  __syncthreads();
  int first = blockIdx.x * THREADS * 4 + threadIdx.x;
  float x[4], y[4], z[4], d[4];
#pragma unroll
  for (int j = 0; j < 4; ++j) {
    x[j] = px[first + j * THREADS];
    y[j] = py[first + j * THREADS];
    z[j] = pz[first + j * THREADS];
    d[j] = 0.0f;
  }
#pragma unroll 4
  for (int i = 0; i < SP_SOURCES; ++i) {
    float4 p = s[i];
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      float dx = p.x - x[j], dy = p.y - y[j], dz = p.z - z[j];
      float w = fmaxf(fmaf(-dz, dz, fmaf(-dy, dy, fmaf(-dx, dx, 1.0f))), 0.0f);
      d[j] = fmaf(w * w * w, p.w, d[j]);
    }
  }
#pragma unroll
  for (int j = 0; j < 4; ++j) density[first + j * THREADS] = d[j];
}
__global__ void __launch_bounds__(SP_BIG, 1) sph_density_slow(const float* __restrict__ px, const float* __restrict__ py,
                                                              const float* __restrict__ pz,
                                                              const float4* __restrict__ src,
                                                              float* __restrict__ density) {
  sp_body<SP_BIG>(px, py, pz, src, density);
}
__global__ void __launch_bounds__(SP_SMALL) sph_density_fixed(const float* __restrict__ px, const float* __restrict__ py,
                                                              const float* __restrict__ pz,
                                                              const float4* __restrict__ src,
                                                              float* __restrict__ density) {
  sp_body<SP_SMALL>(px, py, pz, src, density);
}
static void run_density() {
  float* p = dalloc<float>(3 * (size_t)SP_PARTICLES);
  float4* src = dalloc<float4>(SP_SOURCES);
  float* d0 = dalloc<float>(SP_PARTICLES);
  float* d1 = dalloc<float>(SP_PARTICLES);
  fill_float<<<1024, 256>>>(p, 3 * (size_t)SP_PARTICLES, 13, 0.0f, 2.0f);
  fill_float<<<16, 256>>>((float*)src, 4 * SP_SOURCES, 14, 0.0f, 2.0f);
  CK(cudaDeviceSynchronize());
  const float *x = p, *y = p + SP_PARTICLES, *z = p + 2 * SP_PARTICLES;
  bench("sph_density_slow", [&] { sph_density_slow<<<SP_PARTICLES / 4 / SP_BIG, SP_BIG>>>(x, y, z, src, d0); });
  bench("sph_density_fixed", [&] { sph_density_fixed<<<SP_PARTICLES / 4 / SP_SMALL, SP_SMALL>>>(x, y, z, src, d1); });
  check_float("sph_density", d0, d1, SP_PARTICLES, 1e-5f);
  CK(cudaFree(p)); CK(cudaFree(src)); CK(cudaFree(d0)); CK(cudaFree(d1));
}

// ---------------------------------------------------------------- rank correlation: pairs i < j that agree
constexpr int KT_GRID = 132;
constexpr int KT_THREADS = 1024;
constexpr int KT_GROUPS = KT_GRID * 32;          // groups of eight rows
constexpr int KT_N = KT_GROUPS * 8;

__device__ __forceinline__ void kt_group(int g, const float* __restrict__ x, const float* __restrict__ y,
                                         uint32_t* __restrict__ out, uint32_t* sums) {
  float xi[8], yi[8];
  int first = g * 8;
#pragma unroll
  for (int r = 0; r < 8; ++r) {
    xi[r] = x[first + r];
    yi[r] = y[first + r];
  }
  uint32_t c = 0;
  for (int j = first + (int)threadIdx.x; j < KT_N; j += KT_THREADS) {
    float xj = x[j], yj = y[j];
#pragma unroll
    for (int r = 0; r < 8; ++r) c += ((xj - xi[r]) * (yj - yi[r]) > 0.0f && j > first + r) ? 1u : 0u;
  }
  c = __reduce_add_sync(~0u, c);
  if ((threadIdx.x & 31) == 0) sums[threadIdx.x >> 5] = c;
  __syncthreads();
  if (threadIdx.x < 32) {
    c = __reduce_add_sync(~0u, sums[threadIdx.x]);
    if (threadIdx.x == 0) out[g] = c;
  }
  __syncthreads();
}
__global__ void __launch_bounds__(KT_THREADS, 1) kendall_slow(const float* __restrict__ x, const float* __restrict__ y,
                                                              uint32_t* __restrict__ out) {
  __shared__ uint32_t sums[32];
  for (int k = 0; k < KT_GROUPS / KT_GRID; ++k) kt_group(blockIdx.x * (KT_GROUPS / KT_GRID) + k, x, y, out, sums);
}
__global__ void __launch_bounds__(KT_THREADS, 1) kendall_fixed(const float* __restrict__ x, const float* __restrict__ y,
                                                               uint32_t* __restrict__ out) {
  __shared__ uint32_t sums[32];
  for (int k = 0; k < KT_GROUPS / KT_GRID; ++k) {
    // back and forth, so that every block gets the same number of pairs
    int b = (k & 1) ? KT_GRID - 1 - (int)blockIdx.x : (int)blockIdx.x;
    kt_group(b + k * KT_GRID, x, y, out, sums);
  }
}
static void run_kendall() {
  float* x = dalloc<float>(KT_N);
  float* y = dalloc<float>(KT_N);
  uint32_t* o0 = dalloc<uint32_t>(KT_GROUPS);
  uint32_t* o1 = dalloc<uint32_t>(KT_GROUPS);
  fill_float<<<64, 256>>>(x, KT_N, 15, 0.0f, 1.0f);
  fill_float<<<64, 256>>>(y, KT_N, 16, 0.0f, 1.0f);
  CK(cudaDeviceSynchronize());
  bench("kendall_slow", [&] { kendall_slow<<<KT_GRID, KT_THREADS>>>(x, y, o0); });
  bench("kendall_fixed", [&] { kendall_fixed<<<KT_GRID, KT_THREADS>>>(x, y, o1); });
  check_word("kendall", o0, o1, KT_GROUPS);
  CK(cudaFree(x)); CK(cudaFree(y)); CK(cudaFree(o0)); CK(cudaFree(o1));
}

// ---------------------------------------------------------------- stiff decay with a step that each item chooses
constexpr int OD_THREADS = 132 * 2048;
constexpr int OD_ITEMS = 16;

__device__ __forceinline__ void od_step(float lambda, float h, float& y, float& t) {
  // classical fourth-order step of y' = -lambda (y - 0.25 t (2 - t))
  float a = 0.25f * t * (2.0f - t), tm = t + 0.5f * h, te = t + h;
  float b = 0.25f * tm * (2.0f - tm), c = 0.25f * te * (2.0f - te);
  float k1 = lambda * (a - y);
  float k2 = lambda * (b - (y + 0.5f * h * k1));
  float k3 = lambda * (b - (y + 0.5f * h * k2));
  float k4 = lambda * (c - (y + h * k3));
  y += h * (1.0f / 6.0f) * (k1 + 2.0f * (k2 + k3) + k4);
  t = te;
}
__global__ void fill_lambda(float* p, size_t n) {
  for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x)
    p[i] = exp2f(3.0f + 6.0f * unit((uint32_t)i + 17u));
}
__global__ void __launch_bounds__(256) ode_step_slow(const float* __restrict__ lambda, float* __restrict__ out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
#pragma unroll 1
  for (int k = 0; k < OD_ITEMS; ++k, i += OD_THREADS) {
    float l = lambda[i], h = __fdividef(1.0f, l), y = 1.0f, t = 0.0f;
#pragma unroll 1
    while (t < 1.0f) od_step(l, h, y, t);
    out[i] = y;
  }
}
__global__ void __launch_bounds__(256) ode_step_fixed(const float* __restrict__ lambda, float* __restrict__ out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float l = lambda[i], h = __fdividef(1.0f, l), y = 1.0f, t = 0.0f;
  int k = 0;
#pragma unroll 1
  do {                                           // a lane that is done takes its next item at once
    od_step(l, h, y, t);
    if (!(t < 1.0f) && k < OD_ITEMS) {
      out[i] = y;
      if (++k < OD_ITEMS) {
        i += OD_THREADS;
        l = lambda[i];
        h = __fdividef(1.0f, l);
        y = 1.0f;
        t = 0.0f;
      }
    }
  } while (__any_sync(~0u, k < OD_ITEMS));
}
static void run_ode() {
  size_t n = (size_t)OD_THREADS * OD_ITEMS;
  float* l = dalloc<float>(n);
  float* o0 = dalloc<float>(n);
  float* o1 = dalloc<float>(n);
  fill_lambda<<<1024, 256>>>(l, n);
  CK(cudaDeviceSynchronize());
  bench("ode_step_slow", [&] { ode_step_slow<<<OD_THREADS / 256, 256>>>(l, o0); });
  bench("ode_step_fixed", [&] { ode_step_fixed<<<OD_THREADS / 256, 256>>>(l, o1); });
  check_float("ode_step", o0, o1, n, 1e-4f);
  CK(cudaFree(l)); CK(cudaFree(o0)); CK(cudaFree(o1));
}

// ---------------------------------------------------------------- Gram-Schmidt of 16 vectors, one set a block
constexpr int GS_V = 16;
constexpr int GS_N = 1024;
constexpr int GS_SETS = 528;

__global__ void __launch_bounds__(GS_N, 2) gram_schmidt_slow(const float* __restrict__ in, float* __restrict__ out) {
  extern __shared__ float v[];                   // GS_V rows of GS_N
  __shared__ float red[GS_N];
  int t = threadIdx.x;
  size_t first = (size_t)blockIdx.x * GS_V * GS_N;
  for (int j = 0; j < GS_V; ++j) v[j * GS_N + t] = in[first + j * GS_N + t];
#pragma unroll 1
  for (int i = 0; i < GS_V; ++i) {
    float q = v[i * GS_N + t];
    red[t] = q * q;
    __syncthreads();
#pragma unroll 1
    for (int s = GS_N / 2; s; s >>= 1) {
      if (t < s) red[t] += red[t + s];
      __syncthreads();
    }
    q *= rsqrtf(red[0]);
    __syncthreads();
    v[i * GS_N + t] = q;
#pragma unroll 1
    for (int j = i + 1; j < GS_V; ++j) {
      float w = v[j * GS_N + t];
      red[t] = q * w;
      __syncthreads();
#pragma unroll 1
      for (int s = GS_N / 2; s; s >>= 1) {
        if (t < s) red[t] += red[t + s];
        __syncthreads();
      }
      v[j * GS_N + t] = fmaf(-red[0], q, w);
      __syncthreads();
    }
  }
  for (int j = 0; j < GS_V; ++j) out[first + j * GS_N + t] = v[j * GS_N + t];
}
__global__ void __launch_bounds__(GS_N, 2) gram_schmidt_fixed(const float* __restrict__ in, float* __restrict__ out) {
  extern __shared__ float v[];
  __shared__ float square[32];
  __shared__ float part[GS_V][32];
  __shared__ float dot[GS_V];
  int t = threadIdx.x, lane = t & 31, warp = t >> 5;
  size_t first = (size_t)blockIdx.x * GS_V * GS_N;
  for (int j = 0; j < GS_V; ++j) v[j * GS_N + t] = in[first + j * GS_N + t];
#pragma unroll 1
  for (int i = 0; i < GS_V; ++i) {
    float q = v[i * GS_N + t];
    float n = q * q;
#pragma unroll
    for (int o = 16; o; o >>= 1) n += __shfl_xor_sync(~0u, n, o);
    if (lane == 0) square[warp] = n;
    __syncthreads();
    n = square[lane];
#pragma unroll
    for (int o = 16; o; o >>= 1) n += __shfl_xor_sync(~0u, n, o);
    q *= rsqrtf(n);
    v[i * GS_N + t] = q;
    if (i == GS_V - 1) break;
    // all products with the later vectors at once: sixteen sums in sixteen shuffles
    float p[GS_V];
#pragma unroll
    for (int j = 0; j < GS_V; ++j) p[j] = j > i ? q * v[j * GS_N + t] : 0.0f;
#pragma unroll
    for (int o = 16, m = 8; m; o >>= 1, m >>= 1) {
      bool up = lane & o;
#pragma unroll
      for (int k = 0; k < m; ++k) {
        float send = up ? p[k] : p[k + m], keep = up ? p[k + m] : p[k];
        p[k] = keep + __shfl_xor_sync(~0u, send, o);
      }
    }
    p[0] += __shfl_xor_sync(~0u, p[0], 1);
    if (!(lane & 1)) part[lane >> 1][warp] = p[0];
    __syncthreads();
    if (warp < GS_V) {
      float s = part[warp][lane];
#pragma unroll
      for (int o = 16; o; o >>= 1) s += __shfl_xor_sync(~0u, s, o);
      if (lane == 0) dot[warp] = s;
    }
    __syncthreads();
#pragma unroll 1
    for (int j = i + 1; j < GS_V; ++j) v[j * GS_N + t] = fmaf(-dot[j], q, v[j * GS_N + t]);
  }
  for (int j = 0; j < GS_V; ++j) out[first + j * GS_N + t] = v[j * GS_N + t];
}
static void run_gs() {
  size_t n = (size_t)GS_SETS * GS_V * GS_N;
  float* in = dalloc<float>(n);
  float* o0 = dalloc<float>(n);
  float* o1 = dalloc<float>(n);
  fill_float<<<1024, 256>>>(in, n, 18, -1.0f, 1.0f);
  CK(cudaDeviceSynchronize());
  int bytes = GS_V * GS_N * 4;
  CK(cudaFuncSetAttribute(gram_schmidt_slow, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  CK(cudaFuncSetAttribute(gram_schmidt_fixed, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  bench("gram_schmidt_slow", [&] { gram_schmidt_slow<<<GS_SETS, GS_N, bytes>>>(in, o0); });
  bench("gram_schmidt_fixed", [&] { gram_schmidt_fixed<<<GS_SETS, GS_N, bytes>>>(in, o1); });
  check_float("gram_schmidt", o0, o1, n, 1e-3f);
  CK(cudaFree(in)); CK(cudaFree(o0)); CK(cudaFree(o1));
}

// ---------------------------------------------------------------- series evaluation: FMA at its rate
constexpr int SE_N = 132 * 2048 * 8 * 4;
__constant__ float se_coef[512];

__global__ void __launch_bounds__(256) series_healthy(const float* __restrict__ x, float* __restrict__ y) {
  int first = blockIdx.x * 2048 + threadIdx.x;
  float v[8], p[8];
#pragma unroll
  for (int j = 0; j < 8; ++j) {
    v[j] = x[first + j * 256];
    p[j] = 0.0f;
  }
#pragma unroll 64
  for (int k = 0; k < 512; ++k)
#pragma unroll
    for (int j = 0; j < 8; ++j) p[j] = fmaf(p[j], v[j], se_coef[k]);
#pragma unroll
  for (int j = 0; j < 8; ++j) y[first + j * 256] = p[j];
}
static void run_series() {
  float* x = dalloc<float>(SE_N);
  float* y = dalloc<float>(SE_N);
  float c[512];
  for (int i = 0; i < 512; ++i) c[i] = unit(i + 19u) - 0.5f;
  CK(cudaMemcpyToSymbol(se_coef, c, sizeof c));
  fill_float<<<1024, 256>>>(x, SE_N, 20, -0.9f, 0.9f);
  CK(cudaDeviceSynchronize());
  bench("series_healthy", [&] { series_healthy<<<SE_N / 2048, 256>>>(x, y); });
  check_sane("series", y, SE_N);
  CK(cudaFree(x)); CK(cudaFree(y));
}

// ---------------------------------------------------------------- five-point stencil that streams
constexpr int ST_W = 16384, ST_H = 8192, ST_ROWS = 16;

__global__ void __launch_bounds__(256) diffuse_healthy(const float* __restrict__ in, float* __restrict__ out) {
  int x = (blockIdx.x * 256 + threadIdx.x) * 4;
  int y0 = blockIdx.y * ST_ROWS;
  auto row = [&](int y) -> const float* { return in + (size_t)min(max(y, 0), ST_H - 1) * ST_W; };
  int xl = max(x - 1, 0), xr = min(x + 4, ST_W - 1);
  float4 up = *reinterpret_cast<const float4*>(row(y0 - 1) + x);
  float4 mid = *reinterpret_cast<const float4*>(row(y0) + x);
#pragma unroll 4
  for (int r = 0; r < ST_ROWS; ++r) {
    const float* m = row(y0 + r);
    float4 down = *reinterpret_cast<const float4*>(row(y0 + r + 1) + x);
    float a = m[xl], b = m[xr];
    float4 o;
    o.x = mid.x + 0.2f * (a + mid.y + up.x + down.x - 4.0f * mid.x);
    o.y = mid.y + 0.2f * (mid.x + mid.z + up.y + down.y - 4.0f * mid.y);
    o.z = mid.z + 0.2f * (mid.y + mid.w + up.z + down.z - 4.0f * mid.z);
    o.w = mid.w + 0.2f * (mid.z + b + up.w + down.w - 4.0f * mid.w);
    *reinterpret_cast<float4*>(out + (size_t)(y0 + r) * ST_W + x) = o;
    up = mid;
    mid = down;
  }
}
static void run_diffuse() {
  size_t n = (size_t)ST_W * ST_H;
  float* in = dalloc<float>(n);
  float* out = dalloc<float>(n);
  fill_float<<<1024, 256>>>(in, n, 21, 0.0f, 1.0f);
  CK(cudaDeviceSynchronize());
  bench("diffuse_healthy", [&] { diffuse_healthy<<<dim3(ST_W / 1024, ST_H / ST_ROWS), 256>>>(in, out); });
  check_sane("diffuse", out, n);
  CK(cudaFree(in)); CK(cudaFree(out));
}

int main(int argc, char** argv) {
  g_once = argc > 1 && !strcmp(argv[1], "--once");
  run_lookup();
  run_decode();
  run_density();
  run_kendall();
  run_ode();
  run_gs();
  run_series();
  run_diffuse();
  return 0;
}
