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

__device__ __forceinline__ uint32_t sptr(const void* p) { return (uint32_t)__cvta_generic_to_shared(p); }
__device__ __forceinline__ void cp16(uint32_t dst, const void* src) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(dst), "l"(src) : "memory");
}
__device__ __forceinline__ void cp_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int N>
__device__ __forceinline__ void cp_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
}
__device__ __forceinline__ void ldsm4(uint32_t (&r)[4], uint32_t addr) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(addr)
               : "memory");
}
__device__ __forceinline__ void mma16816(float (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
// Byte offset of 16-byte chunk c (0..7) of row r in a tile with rows of 64 halves.
template <bool SWIZZLE>
__device__ __forceinline__ uint32_t tile_at(uint32_t r, uint32_t c) {
  return r * 128u + ((SWIZZLE ? (c ^ (r & 7u)) : c) << 4);
}
// Brings rows [row0, row0 + 128) x columns [k0, k0 + 64) of a half matrix into shared memory, 256 threads.
template <bool SWIZZLE>
__device__ __forceinline__ void tile_load(uint32_t dst, const __half* __restrict__ m, int row0, int k0, int ld) {
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    int id = i * 256 + threadIdx.x;
    int r = id >> 3, c = id & 7;
    cp16(dst + tile_at<SWIZZLE>(r, c), m + (size_t)(row0 + r) * ld + k0 + c * 8);
  }
}

// ---------------------------------------------------------------- Gram matrix of half vectors with mma.sync and ldmatrix
constexpr int GR_N = 4096;
constexpr int GR_K = 1024;
constexpr int GR_STAGES = 3;

template <bool SWIZZLE>
__device__ __forceinline__ void gr_body(const __half* __restrict__ x, float* __restrict__ out) {
  extern __shared__ __align__(1024) unsigned char sm[];
  uint32_t base = sptr(sm);
  int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  int m0 = blockIdx.y * 128, n0 = blockIdx.x * 128;
  int wm = (warp >> 2) * 64, wn = (warp & 3) * 32;   // a warp makes 64 x 32
  float c[4][4][4];
#pragma unroll
  for (int i = 0; i < 4; ++i)
#pragma unroll
    for (int j = 0; j < 4; ++j)
#pragma unroll
      for (int e = 0; e < 4; ++e) c[i][j][e] = 0.0f;
  constexpr int KT = GR_K / 64;
#pragma unroll
  for (int s = 0; s < GR_STAGES - 1; ++s) {
    tile_load<SWIZZLE>(base + s * 32768, x, m0, s * 64, GR_K);
    tile_load<SWIZZLE>(base + s * 32768 + 16384, x, n0, s * 64, GR_K);
    cp_commit();
  }
  int rd = 0, wr = GR_STAGES - 1;
#pragma unroll 1
  for (int kt = 0; kt < KT; ++kt) {
    cp_wait<GR_STAGES - 2>();
    __syncthreads();
    if (kt + GR_STAGES - 1 < KT) {
      tile_load<SWIZZLE>(base + wr * 32768, x, m0, (kt + GR_STAGES - 1) * 64, GR_K);
      tile_load<SWIZZLE>(base + wr * 32768 + 16384, x, n0, (kt + GR_STAGES - 1) * 64, GR_K);
    }
    cp_commit();
    uint32_t ta = base + rd * 32768, tb = ta + 16384;
#pragma unroll
    for (int ks = 0; ks < 4; ++ks) {
      uint32_t a[4][4], b[2][4];
#pragma unroll
      for (int i = 0; i < 4; ++i)
        ldsm4(a[i], ta + tile_at<SWIZZLE>(wm + i * 16 + (lane & 15), ks * 2 + (lane >> 4)));
#pragma unroll
      for (int j = 0; j < 2; ++j)
        ldsm4(b[j], tb + tile_at<SWIZZLE>(wn + j * 16 + (lane & 7) + ((lane >> 4) << 3), ks * 2 + ((lane >> 3) & 1)));
#pragma unroll
      for (int i = 0; i < 4; ++i)
#pragma unroll
        for (int j = 0; j < 4; ++j) mma16816(c[i][j], a[i], b[j >> 1][(j & 1) * 2], b[j >> 1][(j & 1) * 2 + 1]);
    }
    rd = rd == GR_STAGES - 1 ? 0 : rd + 1;
    wr = wr == GR_STAGES - 1 ? 0 : wr + 1;
  }
#pragma unroll
  for (int i = 0; i < 4; ++i)
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      int r = m0 + wm + i * 16 + (lane >> 2), q = n0 + wn + j * 8 + (lane & 3) * 2;
      *reinterpret_cast<float2*>(out + (size_t)r * GR_N + q) = make_float2(c[i][j][0], c[i][j][1]);
      *reinterpret_cast<float2*>(out + (size_t)(r + 8) * GR_N + q) = make_float2(c[i][j][2], c[i][j][3]);
    }
}
__global__ void __launch_bounds__(256, 2) gram_ldsm_slow(const __half* __restrict__ x, float* __restrict__ out) {
  gr_body<false>(x, out);
}
__global__ void __launch_bounds__(256, 2) gram_ldsm_fixed(const __half* __restrict__ x, float* __restrict__ out) {
  gr_body<true>(x, out);
}

// Plain product of row i of a with row j of b, to prove single values of the matrix kernels.
__global__ void cmp_product(const __half* a, const __half* b, const float* out, int k, int n, uint32_t* bad) {
  int i = mix32(threadIdx.x + blockIdx.x * 1024u) % n, j = mix32(threadIdx.x + blockIdx.x * 1024u + 999999u) % n;
  double s = 0, size = 0;
  for (int e = 0; e < k; ++e) {
    double p = (double)__half2float(a[(size_t)i * k + e]) * (double)__half2float(b[(size_t)j * k + e]);
    s += p;
    size += fabs(p);
  }
  if (!(fabs(s - (double)out[(size_t)i * n + j]) <= 1e-4 * size)) atomicAdd(bad, 1u);
}
static void check_product(const char* name, const __half* a, const __half* b, const float* out, int k, int n) {
  if (g_once) return;
  uint32_t* d = dalloc<uint32_t>(1);
  uint32_t h;
  cmp_product<<<16, 256>>>(a, b, out, k, n, d);
  CK(cudaMemcpy(&h, d, 4, cudaMemcpyDeviceToHost));
  CK(cudaFree(d));
  printf("check %s %s\n", name, h == 0 ? "ok" : "BAD");
  if (h) fprintf(stderr, "%s: %u of 4096 samples differ from a plain product\n", name, h);
}
static void run_gram() {
  __half* x = dalloc<__half>((size_t)GR_N * GR_K);
  float* o0 = dalloc<float>((size_t)GR_N * GR_N);
  float* o1 = dalloc<float>((size_t)GR_N * GR_N);
  fill_half<<<1024, 256>>>(x, (size_t)GR_N * GR_K, 50, -1.0f, 1.0f);
  CK(cudaDeviceSynchronize());
  int bytes = GR_STAGES * 32768;
  CK(cudaFuncSetAttribute(gram_ldsm_slow, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  CK(cudaFuncSetAttribute(gram_ldsm_fixed, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  dim3 grid(GR_N / 128, GR_N / 128);
  bench("gram_ldsm_slow", [&] { gram_ldsm_slow<<<grid, 256, bytes>>>(x, o0); });
  bench("gram_ldsm_fixed", [&] { gram_ldsm_fixed<<<grid, 256, bytes>>>(x, o1); });
  check_float("gram_ldsm", o0, o1, (size_t)GR_N * GR_N, 1e-4f);
  check_product("gram_ldsm_value", x, x, o1, GR_K, GR_N);
  CK(cudaFree(x)); CK(cudaFree(o0)); CK(cudaFree(o1));
}

// ---------------------------------------------------------------- depthwise 7 x 7 convolution, one plane a channel
constexpr int DW_W = 256, DW_H = 256, DW_C = 512;
constexpr int DW_TW = 32, DW_TH = 64;            // outputs of a block
constexpr int DW_SW = DW_TW + 6, DW_SH = DW_TH + 6;

__device__ __forceinline__ void dw_tile(float (*s)[DW_SW], float* w, const float* __restrict__ in,
                                        const float* __restrict__ weight) {
  int x0 = blockIdx.x * DW_TW - 3, y0 = blockIdx.y * DW_TH - 3;
  const float* plane = in + (size_t)blockIdx.z * DW_W * DW_H;
  for (int i = threadIdx.x; i < DW_SW * DW_SH; i += 256) {
    int y = i / DW_SW, x = i - y * DW_SW;
    int gx = x0 + x, gy = y0 + y;
    bool in_plane = gx >= 0 && gx < DW_W && gy >= 0 && gy < DW_H;
    s[y][x] = in_plane ? plane[gy * DW_W + gx] : 0.0f;
  }
#pragma unroll
  for (int i = 0; i < 49; ++i) w[i] = weight[blockIdx.z * 49 + i];
  __syncthreads();
}
__global__ void __launch_bounds__(256) depthwise7_slow(const float* __restrict__ in, const float* __restrict__ weight,
                                                       float* __restrict__ out) {
  __shared__ float s[DW_SH][DW_SW];
  float w[49];
  dw_tile(s, w, in, weight);
  int tx = threadIdx.x & 31, ty = threadIdx.x >> 5;
  float* o = out + ((size_t)blockIdx.z * DW_H + blockIdx.y * DW_TH) * DW_W + blockIdx.x * DW_TW + tx;
#pragma unroll 1
  for (int y = ty; y < DW_TH; y += 8) {
    float a = 0.0f;
#pragma unroll
    for (int v = 0; v < 7; ++v)
#pragma unroll
      for (int u = 0; u < 7; ++u) a = fmaf(s[y + v][tx + u], w[v * 7 + u], a);
    o[y * DW_W] = a;
  }
}
__global__ void __launch_bounds__(256) depthwise7_fixed(const float* __restrict__ in, const float* __restrict__ weight,
                                                        float* __restrict__ out) {
  __shared__ float s[DW_SH][DW_SW];
  float w[49];
  dw_tile(s, w, in, weight);
  int tx = threadIdx.x & 31, ty = (threadIdx.x >> 5) * 8;
  float* o = out + ((size_t)blockIdx.z * DW_H + blockIdx.y * DW_TH + ty) * DW_W + blockIdx.x * DW_TW + tx;
  float a[8];
#pragma unroll
  for (int j = 0; j < 8; ++j) a[j] = 0.0f;
#pragma unroll
  for (int r = 0; r < 14; ++r) {                 // every row feeds up to seven of the eight outputs
    float v[7];
#pragma unroll
    for (int u = 0; u < 7; ++u) v[u] = s[ty + r][tx + u];
#pragma unroll
    for (int j = 0; j < 8; ++j)
      if (r - j >= 0 && r - j < 7) {
#pragma unroll
        for (int u = 0; u < 7; ++u) a[j] = fmaf(v[u], w[(r - j) * 7 + u], a[j]);
      }
  }
#pragma unroll
  for (int j = 0; j < 8; ++j) o[j * DW_W] = a[j];
}
static void run_depthwise() {
  size_t n = (size_t)DW_W * DW_H * DW_C;
  float* in = dalloc<float>(n);
  float* w = dalloc<float>(DW_C * 49);
  float* o0 = dalloc<float>(n);
  float* o1 = dalloc<float>(n);
  fill_float<<<1024, 256>>>(in, n, 51, -1.0f, 1.0f);
  fill_float<<<98, 256>>>(w, DW_C * 49, 52, -1.0f, 1.0f);
  CK(cudaDeviceSynchronize());
  dim3 grid(DW_W / DW_TW, DW_H / DW_TH, DW_C);
  bench("depthwise7_slow", [&] { depthwise7_slow<<<grid, 256>>>(in, w, o0); });
  bench("depthwise7_fixed", [&] { depthwise7_fixed<<<grid, 256>>>(in, w, o1); });
  check_float("depthwise7", o0, o1, n, 1e-5f);
  CK(cudaFree(in)); CK(cudaFree(w)); CK(cudaFree(o0)); CK(cudaFree(o1));
}

// ---------------------------------------------------------------- one Viterbi step for a batch of sequences
// best[b][r] = max over k of transition[r][k] + score[b][k]; the transitions (16 MB) stay in L2.
constexpr int VT_S = 2048;
constexpr int VT_B = 64;

__device__ __forceinline__ float warp_max(float v) {
#pragma unroll
  for (int o = 16; o; o >>= 1) v = fmaxf(v, __shfl_xor_sync(~0u, v, o));
  return v;
}
__global__ void __launch_bounds__(256) viterbi_step_slow(const float4* __restrict__ trans,
                                                         const float4* __restrict__ score, float* __restrict__ best) {
  int lane = threadIdx.x & 31, row = blockIdx.x * 8 + (threadIdx.x >> 5), b = blockIdx.y;
  const float4* t = trans + (size_t)row * (VT_S / 4);
  const float4* s = score + (size_t)b * (VT_S / 4);
  float m = -1e30f;
#pragma unroll 8
  for (int k = lane; k < VT_S / 4; k += 32) {
    float4 p = t[k], q = s[k];
    m = fmaxf(m, fmaxf(fmaxf(p.x + q.x, p.y + q.y), fmaxf(p.z + q.z, p.w + q.w)));
  }
  m = warp_max(m);
  if (lane == 0) best[b * VT_S + row] = m;
}
__global__ void __launch_bounds__(256) viterbi_step_fixed(const float4* __restrict__ trans,
                                                          const float4* __restrict__ score, float* __restrict__ best) {
  int lane = threadIdx.x & 31, row = blockIdx.x * 8 + (threadIdx.x >> 5), b = blockIdx.y * 8;
  const float4* t = trans + (size_t)row * (VT_S / 4);
  const float4* s = score + (size_t)b * (VT_S / 4);
  float m[8];
#pragma unroll
  for (int j = 0; j < 8; ++j) m[j] = -1e30f;
#pragma unroll 2
  for (int k = lane; k < VT_S / 4; k += 32) {
    float4 p = t[k];
#pragma unroll
    for (int j = 0; j < 8; ++j) {                // eight sequences share what was read
      float4 q = s[j * (VT_S / 4) + k];
      m[j] = fmaxf(m[j], fmaxf(fmaxf(p.x + q.x, p.y + q.y), fmaxf(p.z + q.z, p.w + q.w)));
    }
  }
#pragma unroll
  for (int j = 0; j < 8; ++j) {
    float v = warp_max(m[j]);
    if (lane == 0) best[(b + j) * VT_S + row] = v;
  }
}
static void run_viterbi() {
  float* t = dalloc<float>((size_t)VT_S * VT_S);
  float* s = dalloc<float>((size_t)VT_B * VT_S);
  float* o0 = dalloc<float>((size_t)VT_B * VT_S);
  float* o1 = dalloc<float>((size_t)VT_B * VT_S);
  fill_float<<<1024, 256>>>(t, (size_t)VT_S * VT_S, 53, -8.0f, 0.0f);
  fill_float<<<1024, 256>>>(s, (size_t)VT_B * VT_S, 54, -8.0f, 0.0f);
  CK(cudaDeviceSynchronize());
  bench("viterbi_step_slow",
        [&] { viterbi_step_slow<<<dim3(VT_S / 8, VT_B), 256>>>((const float4*)t, (const float4*)s, o0); });
  bench("viterbi_step_fixed",
        [&] { viterbi_step_fixed<<<dim3(VT_S / 8, VT_B / 8), 256>>>((const float4*)t, (const float4*)s, o1); });
  check_float("viterbi_step", o0, o1, (size_t)VT_B * VT_S, 1e-6f);
  CK(cudaFree(t)); CK(cudaFree(s)); CK(cudaFree(o0)); CK(cudaFree(o1));
}

// ---------------------------------------------------------------- best match of half descriptors: max of all inner products
constexpr int BM_Q = 8192, BM_KEYS = 32768, BM_D = 64, BM_SPLITS = 4;
constexpr int BM_PER = BM_KEYS / BM_SPLITS;

__device__ __forceinline__ void bm_expand(float (*s)[132], const __half* __restrict__ m, int row0) {
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    int id = i * 256 + threadIdx.x;
    int r = id & 127, c = id >> 7;
    uint4 v = *reinterpret_cast<const uint4*>(m + (size_t)(row0 + r) * BM_D + c * 8);
    const __half2* h = reinterpret_cast<const __half2*>(&v);
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      float2 f = __half22float2(h[e]);
      s[c * 8 + 2 * e][r] = f.x;
      s[c * 8 + 2 * e + 1][r] = f.y;
    }
  }
}
__global__ void __launch_bounds__(256, 2) best_match_slow(const __half* __restrict__ q, const __half* __restrict__ key,
                                                          float* __restrict__ best) {
  extern __shared__ __align__(1024) unsigned char sm[];
  float (*sq)[132] = reinterpret_cast<float (*)[132]>(sm);
  float (*sk)[132] = sq + BM_D;
  int q0 = blockIdx.x * 128, k0 = blockIdx.y * BM_PER;
  int tx = threadIdx.x & 15, ty = threadIdx.x >> 4;
  bm_expand(sq, q, q0);
  float top[8];
#pragma unroll
  for (int i = 0; i < 8; ++i) top[i] = -1e30f;
#pragma unroll 1
  for (int t = 0; t < BM_PER; t += 128) {
    __syncthreads();
    bm_expand(sk, key, k0 + t);
    __syncthreads();
    float c[8][8];
#pragma unroll
    for (int i = 0; i < 8; ++i)
#pragma unroll
      for (int j = 0; j < 8; ++j) c[i][j] = 0.0f;
#pragma unroll 4
    for (int d = 0; d < BM_D; ++d) {
      float a[8], b[8];
      *reinterpret_cast<float4*>(a) = *reinterpret_cast<const float4*>(&sq[d][ty * 4]);
      *reinterpret_cast<float4*>(a + 4) = *reinterpret_cast<const float4*>(&sq[d][64 + ty * 4]);
      *reinterpret_cast<float4*>(b) = *reinterpret_cast<const float4*>(&sk[d][tx * 4]);
      *reinterpret_cast<float4*>(b + 4) = *reinterpret_cast<const float4*>(&sk[d][64 + tx * 4]);
#pragma unroll
      for (int i = 0; i < 8; ++i)
#pragma unroll
        for (int j = 0; j < 8; ++j) c[i][j] = fmaf(a[i], b[j], c[i][j]);
    }
#pragma unroll
    for (int i = 0; i < 8; ++i)
#pragma unroll
      for (int j = 0; j < 8; ++j) top[i] = fmaxf(top[i], c[i][j]);
  }
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    float v = top[i];
#pragma unroll
    for (int o = 8; o; o >>= 1) v = fmaxf(v, __shfl_xor_sync(~0u, v, o));
    if (tx == 0) best[blockIdx.y * BM_Q + q0 + (i >> 2) * 64 + ty * 4 + (i & 3)] = v;
  }
}
__global__ void __launch_bounds__(256, 2) best_match_fixed(const __half* __restrict__ q, const __half* __restrict__ key,
                                                           float* __restrict__ best) {
  extern __shared__ __align__(1024) unsigned char sm[];
  uint32_t base = sptr(sm);                      // queries, then two tiles of keys
  int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  int q0 = blockIdx.x * 128, k0 = blockIdx.y * BM_PER;
  tile_load<true>(base, q, q0, 0, BM_D);
  tile_load<true>(base + 16384, key, k0, 0, BM_D);
  cp_commit();
  cp_wait<0>();
  __syncthreads();
  uint32_t a[4][4];                              // 16 queries a warp, all 64 components
#pragma unroll
  for (int ks = 0; ks < 4; ++ks) ldsm4(a[ks], base + tile_at<true>(warp * 16 + (lane & 15), ks * 2 + (lane >> 4)));
  float top0 = -1e30f, top1 = -1e30f;
#pragma unroll 1
  for (int t = 0; t < BM_PER / 128; ++t) {
    if (t + 1 < BM_PER / 128) tile_load<true>(base + 16384 * (1 + ((t + 1) & 1)), key, k0 + (t + 1) * 128, 0, BM_D);
    cp_commit();
    uint32_t tk = base + 16384 * (1 + (t & 1));
#pragma unroll
    for (int n = 0; n < 128; n += 16) {
      float c[2][4];
#pragma unroll
      for (int e = 0; e < 4; ++e) c[0][e] = c[1][e] = 0.0f;
#pragma unroll
      for (int ks = 0; ks < 4; ++ks) {
        uint32_t b[4];
        ldsm4(b, tk + tile_at<true>(n + (lane & 7) + ((lane >> 4) << 3), ks * 2 + ((lane >> 3) & 1)));
        mma16816(c[0], a[ks], b[0], b[1]);
        mma16816(c[1], a[ks], b[2], b[3]);
      }
      top0 = fmaxf(fmaxf(top0, fmaxf(c[0][0], c[0][1])), fmaxf(c[1][0], c[1][1]));
      top1 = fmaxf(fmaxf(top1, fmaxf(c[0][2], c[0][3])), fmaxf(c[1][2], c[1][3]));
    }
    cp_wait<0>();
    __syncthreads();
  }
#pragma unroll
  for (int o = 2; o; o >>= 1) {
    top0 = fmaxf(top0, __shfl_xor_sync(~0u, top0, o));
    top1 = fmaxf(top1, __shfl_xor_sync(~0u, top1, o));
  }
  if ((lane & 3) == 0) {
    int r = q0 + warp * 16 + (lane >> 2);
    best[blockIdx.y * BM_Q + r] = top0;
    best[blockIdx.y * BM_Q + r + 8] = top1;
  }
}
static void run_match() {
  __half* q = dalloc<__half>((size_t)BM_Q * BM_D);
  __half* k = dalloc<__half>((size_t)BM_KEYS * BM_D);
  float* o0 = dalloc<float>(BM_Q * BM_SPLITS);
  float* o1 = dalloc<float>(BM_Q * BM_SPLITS);
  fill_half<<<1024, 256>>>(q, (size_t)BM_Q * BM_D, 55, -1.0f, 1.0f);
  fill_half<<<1024, 256>>>(k, (size_t)BM_KEYS * BM_D, 56, -1.0f, 1.0f);
  CK(cudaDeviceSynchronize());
  int b0 = 2 * BM_D * 132 * 4, b1 = 3 * 16384;
  CK(cudaFuncSetAttribute(best_match_slow, cudaFuncAttributeMaxDynamicSharedMemorySize, b0));
  CK(cudaFuncSetAttribute(best_match_fixed, cudaFuncAttributeMaxDynamicSharedMemorySize, b1));
  dim3 grid(BM_Q / 128, BM_SPLITS);
  bench("best_match_slow", [&] { best_match_slow<<<grid, 256, b0>>>(q, k, o0); });
  bench("best_match_fixed", [&] { best_match_fixed<<<grid, 256, b1>>>(q, k, o1); });
  check_float("best_match", o0, o1, BM_Q * BM_SPLITS, 1e-4f);
  CK(cudaFree(q)); CK(cudaFree(k)); CK(cudaFree(o0)); CK(cudaFree(o1));
}

// ---------------------------------------------------------------- similarity of two sets with wgmma
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
#define WGMMA_HERE 1                             // sm_90a only: the compiler may also make plain compute_90
#endif
constexpr int WG_N = 4096;
constexpr int WG_K = 2048;

__device__ __forceinline__ uint64_t wg_desc(uint32_t addr) {
  // K-major tile with rows of 128 bytes, 128-byte swizzle, 1024 bytes from one group of eight rows to the next
  return (uint64_t)((addr & 0x3FFFFu) >> 4) | (1ull << 16) | (64ull << 32) | (1ull << 62);
}
__device__ __forceinline__ void wg_mma(float (&d)[64], uint64_t a, uint64_t b) {
#ifdef WGMMA_HERE
  asm volatile(
      "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 {"
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
      "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
      "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
      "}, %64, %65, 1, 1, 1, 0, 0;\n"
      :
        "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
        "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]),
        "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]),
        "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]),
        "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]),
        "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]),
        "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]),
        "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63])
      : "l"(a), "l"(b));
#endif
}
__device__ __forceinline__ void wg_fence() {
#ifdef WGMMA_HERE
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#endif
}
__device__ __forceinline__ void wg_commit() {
#ifdef WGMMA_HERE
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
#endif
}
template <int N>
__device__ __forceinline__ void wg_wait(float (&d)[64]) {
#ifdef WGMMA_HERE
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(N) : "memory");
#endif
  if (N == 0) {
#pragma unroll
    for (int i = 0; i < 64; ++i) asm volatile("" : "+f"(d[i])::"memory");
  }
}
__device__ __forceinline__ void proxy_fence() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
__device__ __forceinline__ uint32_t align1024(uint32_t a) { return (a + 1023u) & ~1023u; }

__device__ __forceinline__ void wg_store(float (&d)[64], float* __restrict__ out, int m0, int n0, int ld) {
  int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  int r = m0 + warp * 16 + (lane >> 2), q = n0 + (lane & 3) * 2;
#pragma unroll
  for (int j = 0; j < 16; ++j) {
    *reinterpret_cast<float2*>(out + (size_t)r * ld + q + j * 8) = make_float2(d[4 * j], d[4 * j + 1]);
    *reinterpret_cast<float2*>(out + (size_t)(r + 8) * ld + q + j * 8) = make_float2(d[4 * j + 2], d[4 * j + 3]);
  }
}
__global__ void __launch_bounds__(256, 2) similarity_wgmma_slow(const __half* __restrict__ a, const __half* __restrict__ b,
                                                                float* __restrict__ out) {
  extern __shared__ __align__(1024) unsigned char sm[];
  uint32_t ta = align1024(sptr(sm)), tb = ta + 16384;
  int m0 = blockIdx.y * 128, n0 = blockIdx.x * 128, wg = threadIdx.x >> 7;
  float d[64];
#pragma unroll
  for (int i = 0; i < 64; ++i) d[i] = 0.0f;
#pragma unroll 1
  for (int kt = 0; kt < WG_K / 64; ++kt) {
    tile_load<true>(ta, a, m0, kt * 64, WG_K);
    tile_load<true>(tb, b, n0, kt * 64, WG_K);
    cp_commit();
    cp_wait<0>();
    proxy_fence();
    __syncthreads();
#pragma unroll
    for (int ks = 0; ks < 4; ++ks) {
      wg_fence();
      wg_mma(d, wg_desc(ta + wg * 8192 + ks * 32), wg_desc(tb + ks * 32));
      wg_commit();
      wg_wait<0>(d);
    }
    __syncthreads();
  }
  wg_store(d, out, m0, n0, WG_N);
}
constexpr int WG_STAGES = 3;
__global__ void __launch_bounds__(256, 2) similarity_wgmma_fixed(const __half* __restrict__ a,
                                                                 const __half* __restrict__ b, float* __restrict__ out) {
  extern __shared__ __align__(1024) unsigned char sm[];
  uint32_t base = align1024(sptr(sm));
  int m0 = blockIdx.y * 128, n0 = blockIdx.x * 128, wg = threadIdx.x >> 7;
  float d[64];
#pragma unroll
  for (int i = 0; i < 64; ++i) d[i] = 0.0f;
  constexpr int KT = WG_K / 64;
#pragma unroll
  for (int s = 0; s < WG_STAGES - 1; ++s) {
    tile_load<true>(base + s * 32768, a, m0, s * 64, WG_K);
    tile_load<true>(base + s * 32768 + 16384, b, n0, s * 64, WG_K);
    cp_commit();
  }
  int rd = 0, wr = WG_STAGES - 1;
#pragma unroll 1
  for (int kt = 0; kt < KT; ++kt) {
    cp_wait<WG_STAGES - 2>();
    proxy_fence();
    __syncthreads();
    uint32_t ta = base + rd * 32768, tb = ta + 16384;
    wg_fence();
#pragma unroll
    for (int ks = 0; ks < 4; ++ks) wg_mma(d, wg_desc(ta + wg * 8192 + ks * 32), wg_desc(tb + ks * 32));
    wg_commit();
    if (kt + WG_STAGES - 1 < KT) {               // loads run while the products do
      tile_load<true>(base + wr * 32768, a, m0, (kt + WG_STAGES - 1) * 64, WG_K);
      tile_load<true>(base + wr * 32768 + 16384, b, n0, (kt + WG_STAGES - 1) * 64, WG_K);
    }
    cp_commit();
    wg_wait<0>(d);
    rd = rd == WG_STAGES - 1 ? 0 : rd + 1;
    wr = wr == WG_STAGES - 1 ? 0 : wr + 1;
  }
  wg_store(d, out, m0, n0, WG_N);
}
// The same tiles over and over: a block power sum whose operands never leave shared memory.
constexpr int PS_ROUNDS = 384;
__global__ void __launch_bounds__(256, 2) resident_wgmma_healthy(const __half* __restrict__ a,
                                                                 const __half* __restrict__ b, float* __restrict__ out) {
  extern __shared__ __align__(1024) unsigned char sm[];
  uint32_t ta = align1024(sptr(sm)), tb = ta + 16384;
  int wg = threadIdx.x >> 7;
  tile_load<true>(ta, a, blockIdx.x * 128, 0, 64);
  tile_load<true>(tb, b, blockIdx.x * 128, 0, 64);
  cp_commit();
  cp_wait<0>();
  proxy_fence();
  __syncthreads();
  float d[64];
#pragma unroll
  for (int i = 0; i < 64; ++i) d[i] = 0.0f;
#pragma unroll 1
  for (int r = 0; r < PS_ROUNDS; ++r) {
    wg_fence();
#pragma unroll
    for (int ks = 0; ks < 4; ++ks) wg_mma(d, wg_desc(ta + wg * 8192 + ks * 32), wg_desc(tb + ks * 32));
    wg_commit();
    wg_wait<1>(d);
  }
  wg_wait<0>(d);
  wg_store(d, out, blockIdx.x * 128, 0, 128);
}
static void run_wgmma() {
  __half* a = dalloc<__half>((size_t)WG_N * WG_K);
  __half* b = dalloc<__half>((size_t)WG_N * WG_K);
  float* o0 = dalloc<float>((size_t)WG_N * WG_N);
  float* o1 = dalloc<float>((size_t)WG_N * WG_N);
  fill_half<<<1024, 256>>>(a, (size_t)WG_N * WG_K, 57, -1.0f, 1.0f);
  fill_half<<<1024, 256>>>(b, (size_t)WG_N * WG_K, 58, -1.0f, 1.0f);
  CK(cudaDeviceSynchronize());
  int b0 = 32768 + 1024, b1 = WG_STAGES * 32768 + 1024;
  CK(cudaFuncSetAttribute(similarity_wgmma_slow, cudaFuncAttributeMaxDynamicSharedMemorySize, b0));
  CK(cudaFuncSetAttribute(similarity_wgmma_fixed, cudaFuncAttributeMaxDynamicSharedMemorySize, b1));
  CK(cudaFuncSetAttribute(resident_wgmma_healthy, cudaFuncAttributeMaxDynamicSharedMemorySize, b0));
  dim3 grid(WG_N / 128, WG_N / 128);
  bench("similarity_wgmma_slow", [&] { similarity_wgmma_slow<<<grid, 256, b0>>>(a, b, o0); });
  bench("similarity_wgmma_fixed", [&] { similarity_wgmma_fixed<<<grid, 256, b1>>>(a, b, o1); });
  check_float("similarity_wgmma", o0, o1, (size_t)WG_N * WG_N, 1e-4f);
  check_product("similarity_wgmma_value", a, b, o1, WG_K, WG_N);
  bench("resident_wgmma_healthy", [&] { resident_wgmma_healthy<<<264, 256, b0>>>(a, b, o0); });
  check_sane("resident_wgmma", o0, 264 * 128 * 128);
  CK(cudaFree(a)); CK(cudaFree(b)); CK(cudaFree(o0)); CK(cudaFree(o1));
}

int main(int argc, char** argv) {
  g_once = argc > 1 && !strcmp(argv[1], "--once");
  run_gram();
  run_depthwise();
  run_viterbi();
  run_match();
  run_wgmma();
  return 0;
}
