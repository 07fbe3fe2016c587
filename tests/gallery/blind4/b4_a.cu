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

// ---------------------------------------------------------------- sparse matrix times vector, CSR
constexpr int CSR_ROWS = 262144;
constexpr int CSR_PAD = 256;

__host__ __device__ inline uint32_t csr_start(uint32_t r) {
  // rows have 60 + (7 r mod 9) entries; nine rows in a row hold 9 * 60 + 36
  uint32_t s = 60u * r + (r / 9u) * 36u;
  for (uint32_t i = 0; i < r % 9u; ++i) s += (7u * i) % 9u;
  return s;
}
__global__ void fill_csr(uint32_t* ptr, uint32_t* col, float* val) {
  uint32_t r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r > CSR_ROWS) return;
  uint32_t b = csr_start(r);
  ptr[r] = b;
  if (r == CSR_ROWS) return;
  uint32_t e = csr_start(r + 1);
  for (uint32_t k = b; k < e; ++k) {
    col[k] = r + 2u * (k - b) + (mix32(k) & 1u);
    val[k] = unit(k + 77u) - 0.5f;
  }
}
__global__ void __launch_bounds__(256) csr_spmv_slow(const uint32_t* __restrict__ ptr, const uint32_t* __restrict__ col,
                                                     const float* __restrict__ val, const float* __restrict__ x,
                                                     float* __restrict__ y) {
  uint32_t r = blockIdx.x * blockDim.x + threadIdx.x;
  uint32_t b = ptr[r], e = ptr[r + 1];
  float s = 0.0f;
  for (uint32_t k = b; k < e; ++k) s = fmaf(val[k], x[col[k]], s);
  y[r] = s;
}
__global__ void __launch_bounds__(256) csr_spmv_fixed(const uint32_t* __restrict__ ptr, const uint32_t* __restrict__ col,
                                                      const float* __restrict__ val, const float* __restrict__ x,
                                                      float* __restrict__ y) {
  uint32_t r = (blockIdx.x * blockDim.x + threadIdx.x) >> 5;
  uint32_t lane = threadIdx.x & 31;
  uint32_t b = ptr[r], e = ptr[r + 1];
  float s = 0.0f;
  for (uint32_t k = b + lane; k < e; k += 32) s = fmaf(val[k], x[col[k]], s);
  for (int o = 16; o; o >>= 1) s += __shfl_xor_sync(~0u, s, o);
  if (lane == 0) y[r] = s;
}
static void run_csr() {
  size_t nnz = csr_start(CSR_ROWS);
  uint32_t* ptr = dalloc<uint32_t>(CSR_ROWS + 1);
  uint32_t* col = dalloc<uint32_t>(nnz);
  float* val = dalloc<float>(nnz);
  float* x = dalloc<float>(CSR_ROWS + CSR_PAD);
  float* y0 = dalloc<float>(CSR_ROWS);
  float* y1 = dalloc<float>(CSR_ROWS);
  fill_csr<<<CSR_ROWS / 256 + 1, 256>>>(ptr, col, val);
  fill_float<<<1024, 256>>>(x, CSR_ROWS + CSR_PAD, 1, -1.0f, 1.0f);
  CK(cudaDeviceSynchronize());
  bench("csr_spmv_slow", [&] { csr_spmv_slow<<<CSR_ROWS / 256, 256>>>(ptr, col, val, x, y0); });
  bench("csr_spmv_fixed", [&] { csr_spmv_fixed<<<CSR_ROWS / 8, 256>>>(ptr, col, val, x, y1); });
  check_float("csr_spmv", y0, y1, CSR_ROWS, 1e-4f);
  CK(cudaFree(ptr)); CK(cudaFree(col)); CK(cudaFree(val)); CK(cudaFree(x)); CK(cudaFree(y0)); CK(cudaFree(y1));
}

// ---------------------------------------------------------------- one pass of a radix sort: the scatter
constexpr int RS_TILE = 4096;
constexpr int RS_TILES = 4096;
constexpr int RS_THREADS = 512;

__global__ void fill_radix_rank(const uint32_t* key, uint16_t* rank, uint32_t* count) {
  __shared__ uint8_t d[RS_TILE];
  size_t first = (size_t)blockIdx.x * RS_TILE;
  for (int i = threadIdx.x; i < RS_TILE; i += 256) d[i] = (uint8_t)(key[first + i] & 255u);
  __syncthreads();
  uint32_t c = 0;
  for (int i = 0; i < RS_TILE; ++i)
    if (d[i] == threadIdx.x) rank[first + i] = (uint16_t)c++;
  count[blockIdx.x * 256 + threadIdx.x] = c;
}
__global__ void fill_radix_base(const uint32_t* count, uint32_t* base, uint32_t* local) {
  __shared__ uint32_t total[256];
  uint32_t t = threadIdx.x, s = 0;
  for (int b = 0; b < RS_TILES; ++b) s += count[b * 256 + t];
  total[t] = s;
  __syncthreads();
  uint32_t run = 0;
  for (uint32_t i = 0; i < t; ++i) run += total[i];
  for (int b = 0; b < RS_TILES; ++b) {
    base[b * 256 + t] = run;
    run += count[b * 256 + t];
  }
  // start of each digit inside its tile
  for (int b = t; b < RS_TILES; b += 256) {
    uint32_t l = 0;
    for (int i = 0; i < 256; ++i) {
      local[b * 256 + i] = l;
      l += count[b * 256 + i];
    }
  }
}
__global__ void __launch_bounds__(RS_THREADS) radix_scatter_slow(const uint32_t* __restrict__ key,
                                                                 const uint16_t* __restrict__ rank,
                                                                 const uint32_t* __restrict__ base,
                                                                 uint32_t* __restrict__ out) {
  __shared__ uint32_t sbase[256];
  int t = threadIdx.x;
  size_t first = (size_t)blockIdx.x * RS_TILE;
  if (t < 256) sbase[t] = base[blockIdx.x * 256 + t];
  uint32_t k[8], r[8];
#pragma unroll
  for (int j = 0; j < 8; ++j) {
    k[j] = key[first + j * RS_THREADS + t];
    r[j] = rank[first + j * RS_THREADS + t];
  }
  __syncthreads();
#pragma unroll
  for (int j = 0; j < 8; ++j) out[sbase[k[j] & 255u] + r[j]] = k[j];
}
__global__ void __launch_bounds__(RS_THREADS) radix_scatter_fixed(const uint32_t* __restrict__ key,
                                                                  const uint16_t* __restrict__ rank,
                                                                  const uint32_t* __restrict__ base,
                                                                  const uint32_t* __restrict__ local,
                                                                  uint32_t* __restrict__ out) {
  __shared__ uint32_t sbase[256];
  __shared__ uint32_t slocal[256];
  __shared__ uint32_t sorted[RS_TILE];
  int t = threadIdx.x;
  size_t first = (size_t)blockIdx.x * RS_TILE;
  if (t < 256) {
    uint32_t l = local[blockIdx.x * 256 + t];
    slocal[t] = l;
    sbase[t] = base[blockIdx.x * 256 + t] - l;
  }
  uint32_t k[8], r[8];
#pragma unroll
  for (int j = 0; j < 8; ++j) {
    k[j] = key[first + j * RS_THREADS + t];
    r[j] = rank[first + j * RS_THREADS + t];
  }
  __syncthreads();
#pragma unroll
  for (int j = 0; j < 8; ++j) sorted[slocal[k[j] & 255u] + r[j]] = k[j];
  __syncthreads();
#pragma unroll
  for (int j = 0; j < 8; ++j) {
    uint32_t i = j * RS_THREADS + t;
    uint32_t v = sorted[i];
    out[sbase[v & 255u] + i] = v;
  }
}
static void run_radix() {
  size_t n = (size_t)RS_TILE * RS_TILES;
  uint32_t* key = dalloc<uint32_t>(n);
  uint16_t* rank = dalloc<uint16_t>(n);
  uint32_t* count = dalloc<uint32_t>(RS_TILES * 256);
  uint32_t* base = dalloc<uint32_t>(RS_TILES * 256);
  uint32_t* local = dalloc<uint32_t>(RS_TILES * 256);
  uint32_t* o0 = dalloc<uint32_t>(n);
  uint32_t* o1 = dalloc<uint32_t>(n);
  fill_word<<<1024, 256>>>(key, n, 2);
  fill_radix_rank<<<RS_TILES, 256>>>(key, rank, count);
  fill_radix_base<<<1, 256>>>(count, base, local);
  CK(cudaDeviceSynchronize());
  bench("radix_scatter_slow", [&] { radix_scatter_slow<<<RS_TILES, RS_THREADS>>>(key, rank, base, o0); });
  bench("radix_scatter_fixed", [&] { radix_scatter_fixed<<<RS_TILES, RS_THREADS>>>(key, rank, base, local, o1); });
  check_word("radix_scatter", o0, o1, n);
  CK(cudaFree(key)); CK(cudaFree(rank)); CK(cudaFree(count)); CK(cudaFree(base)); CK(cudaFree(local));
  CK(cudaFree(o0)); CK(cudaFree(o1));
}

// ---------------------------------------------------------------- fast Walsh-Hadamard transforms, radix 8
// Random projection: several rounds of (random signs, transform) of 4096 values a block, in shared memory.
constexpr int FW_N = 4096;
constexpr int FW_THREADS = 512;
constexpr int FW_ROUNDS = 6;
constexpr int FW_BLOCKS = 4096;

__device__ __forceinline__ uint32_t fw_swizzle(uint32_t i) {
  return i ^ ((i >> 5) & 7u) ^ (((i >> 6) & 3u) << 3);
}
__device__ __forceinline__ void fw_butterfly8(float* v) {
#pragma unroll
  for (int h = 1; h < 8; h <<= 1)
#pragma unroll
    for (int k = 0; k < 8; ++k)
      if (!(k & h)) {
        float a = v[k], b = v[k | h];
        v[k] = a + b;
        v[k | h] = a - b;
      }
}
template <bool SWIZZLE>
__device__ __forceinline__ void fw_body(const float* __restrict__ in, float* __restrict__ out, float* buf) {
  uint32_t t = threadIdx.x;
  volatile float* s = buf;
  const float scale = 1.0f / 64.0f;
  size_t first = (size_t)blockIdx.x * FW_N;
  auto at = [](uint32_t i) { return SWIZZLE ? fw_swizzle(i) : i; };
#pragma unroll
  for (int j = 0; j < 8; ++j) {
    uint32_t i = j * FW_THREADS + t;
    s[at(i)] = in[first + i];
  }
  __syncthreads();
#pragma unroll 1
  for (uint32_t round = 0; round < FW_ROUNDS; ++round) {
#pragma unroll
    for (int stage = 0; stage < 4; ++stage) {
      uint32_t shift = 3 * stage;
      uint32_t lo = t & ((1u << shift) - 1u), hi = t >> shift;
      uint32_t first_i = (hi << (shift + 3)) + lo;
      float v[8];
#pragma unroll
      for (uint32_t k = 0; k < 8; ++k) {
        uint32_t i = first_i + (k << shift);
        v[k] = s[at(i)];
        if (stage == 0 && (__popc((i * 0x9E3779B1u) ^ (round * 0x51ED27u)) & 1)) v[k] = -v[k];
      }
      fw_butterfly8(v);
#pragma unroll
      for (uint32_t k = 0; k < 8; ++k) {
        uint32_t i = first_i + (k << shift);
        s[at(i)] = stage == 3 ? v[k] * scale : v[k];
      }
      __syncthreads();
    }
  }
#pragma unroll
  for (int j = 0; j < 8; ++j) {
    uint32_t i = j * FW_THREADS + t;
    out[first + i] = s[at(i)];
  }
}
__global__ void __launch_bounds__(FW_THREADS, 2) fwht_project_slow(const float* __restrict__ in, float* __restrict__ out) {
  __shared__ float buf[FW_N];
  fw_body<false>(in, out, buf);
}
__global__ void __launch_bounds__(FW_THREADS, 2) fwht_project_fixed(const float* __restrict__ in, float* __restrict__ out) {
  __shared__ float buf[FW_N];
  fw_body<true>(in, out, buf);
}
static void run_fwht() {
  size_t n = (size_t)FW_N * FW_BLOCKS;
  float* in = dalloc<float>(n);
  float* o0 = dalloc<float>(n);
  float* o1 = dalloc<float>(n);
  fill_float<<<1024, 256>>>(in, n, 3, -1.0f, 1.0f);
  CK(cudaDeviceSynchronize());
  bench("fwht_project_slow", [&] { fwht_project_slow<<<FW_BLOCKS, FW_THREADS>>>(in, o0); });
  bench("fwht_project_fixed", [&] { fwht_project_fixed<<<FW_BLOCKS, FW_THREADS>>>(in, o1); });
  check_float("fwht_project", o0, o1, n, 1e-5f);
  CK(cudaFree(in)); CK(cudaFree(o0)); CK(cudaFree(o1));
}

// ---------------------------------------------------------------- change detection: first sample where a sum passes its limit
constexpr int CU_SERIES = 132 * 2048;
constexpr int CU_LEN = 256;
constexpr float CU_LIMIT = 120.0f;

__global__ void __launch_bounds__(256) cusum_slow(const float* __restrict__ x, uint32_t* __restrict__ hit) {
  uint32_t t = blockIdx.x * blockDim.x + threadIdx.x;
  float s = 0.0f;
  uint32_t k = 0;
  for (; k < CU_LEN; ++k) {
    s += x[(size_t)k * CU_SERIES + t];
    if (s > CU_LIMIT) break;
  }
  hit[t] = k;
}
__global__ void __launch_bounds__(256) cusum_fixed(const float* __restrict__ x, uint32_t* __restrict__ hit) {
  uint32_t t = blockIdx.x * blockDim.x + threadIdx.x;
  float s = 0.0f;
  uint32_t found = CU_LEN;
  for (uint32_t k = 0; k < CU_LEN && found == CU_LEN; k += 8) {
    float v[8];
#pragma unroll
    for (int j = 0; j < 8; ++j) v[j] = x[(size_t)(k + j) * CU_SERIES + t];
#pragma unroll
    for (int j = 0; j < 8; ++j) {
      s += v[j];
      if (s > CU_LIMIT && found == CU_LEN) found = k + j;
    }
  }
  hit[t] = found;
}
static void run_cusum() {
  size_t n = (size_t)CU_SERIES * CU_LEN;
  float* x = dalloc<float>(n);
  uint32_t* h0 = dalloc<uint32_t>(CU_SERIES);
  uint32_t* h1 = dalloc<uint32_t>(CU_SERIES);
  fill_float<<<1024, 256>>>(x, n, 4, 0.0f, 1.0f);
  CK(cudaDeviceSynchronize());
  bench("cusum_slow", [&] { cusum_slow<<<CU_SERIES / 256, 256>>>(x, h0); });
  bench("cusum_fixed", [&] { cusum_fixed<<<CU_SERIES / 256, 256>>>(x, h1); });
  check_word("cusum", h0, h1, CU_SERIES);
  CK(cudaFree(x)); CK(cudaFree(h0)); CK(cudaFree(h1));
}

// ---------------------------------------------------------------- windowed energy, fed by bulk copies and mbarriers
constexpr int BK_FRAMES = 24;                    // frames of the window kept in shared memory
constexpr int BK_CHUNK = 1024;                   // floats a chunk
constexpr int BK_CHUNKS = 131072;
constexpr int BK_BLOCKS = 264;
constexpr int BK_THREADS = 256;

__device__ __forceinline__ uint32_t sptr(const void* p) { return (uint32_t)__cvta_generic_to_shared(p); }
__device__ __forceinline__ void mbar_init(uint64_t* b, uint32_t n) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(sptr(b)), "r"(n) : "memory");
}
__device__ __forceinline__ void mbar_wait(uint64_t* b, uint32_t parity) {
  asm volatile(
      "{\n"
      ".reg .pred p;\n"
      "W_%=:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n"
      "@p bra D_%=;\n"
      "bra W_%=;\n"
      "D_%=:\n"
      "}\n" ::"r"(sptr(b)), "r"(parity) : "memory");
}
__device__ __forceinline__ void bulk_load(float* dst, const float* src, uint32_t bytes, uint64_t* b) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(sptr(b)), "r"(bytes) : "memory");
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(sptr(dst)),
               "l"(src), "r"(bytes), "r"(sptr(b))
               : "memory");
}
template <int STAGES>
__device__ __forceinline__ void bk_body(const float* __restrict__ x, const float* __restrict__ window,
                                        float* __restrict__ energy) {
  extern __shared__ __align__(128) float sm[];
  float* win = sm;                               // BK_FRAMES * BK_CHUNK
  float* ring = sm + BK_FRAMES * BK_CHUNK;       // STAGES * BK_CHUNK
  __shared__ uint64_t full[STAGES];
  int t = threadIdx.x;
  if (t == 0) {
    for (int s = 0; s < STAGES; ++s) mbar_init(&full[s], 1);
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  }
  for (int i = t; i < BK_FRAMES * BK_CHUNK / 4; i += BK_THREADS)
    reinterpret_cast<float4*>(win)[i] = reinterpret_cast<const float4*>(window)[i];
  __syncthreads();
  int mine = (BK_CHUNKS - (int)blockIdx.x + BK_BLOCKS - 1) / BK_BLOCKS;
  if (t == 0)
    for (int s = 0; s < STAGES && s < mine; ++s)
      bulk_load(ring + s * BK_CHUNK, x + (size_t)(blockIdx.x + s * BK_BLOCKS) * BK_CHUNK, BK_CHUNK * 4, &full[s]);
  float acc = 0.0f;
  int s = 0;
  uint32_t parity = 0;
  for (int c = 0; c < mine; ++c) {
    int frame = (blockIdx.x + c * BK_BLOCKS) % BK_FRAMES;
    mbar_wait(&full[s], parity);
    float4 v = reinterpret_cast<const float4*>(ring + s * BK_CHUNK)[t];
    float4 w = reinterpret_cast<const float4*>(win + frame * BK_CHUNK)[t];
    float a = v.x * w.x, b = v.y * w.y, d = v.z * w.z, e = v.w * w.w;
    acc = fmaf(a, a, acc);
    acc = fmaf(b, b, acc);
    acc = fmaf(d, d, acc);
    acc = fmaf(e, e, acc);
    __syncthreads();
    if (t == 0 && c + STAGES < mine)
      bulk_load(ring + s * BK_CHUNK, x + (size_t)(blockIdx.x + (c + STAGES) * BK_BLOCKS) * BK_CHUNK, BK_CHUNK * 4,
                &full[s]);
    if (++s == STAGES) {
      s = 0;
      parity ^= 1;
    }
  }
  energy[blockIdx.x * BK_THREADS + t] = acc;
}
__global__ void __launch_bounds__(BK_THREADS) bulk_energy_slow(const float* __restrict__ x, const float* __restrict__ window,
                                                               float* __restrict__ energy) {
  bk_body<1>(x, window, energy);
}
__global__ void __launch_bounds__(BK_THREADS) bulk_energy_fixed(const float* __restrict__ x,
                                                                const float* __restrict__ window,
                                                                float* __restrict__ energy) {
  bk_body<4>(x, window, energy);
}
static void run_bulk() {
  size_t n = (size_t)BK_CHUNKS * BK_CHUNK;
  float* x = dalloc<float>(n);
  float* w = dalloc<float>(BK_FRAMES * BK_CHUNK);
  float* e0 = dalloc<float>(BK_BLOCKS * BK_THREADS);
  float* e1 = dalloc<float>(BK_BLOCKS * BK_THREADS);
  fill_float<<<1024, 256>>>(x, n, 5, -1.0f, 1.0f);
  fill_float<<<96, 256>>>(w, BK_FRAMES * BK_CHUNK, 6, 0.0f, 1.0f);
  CK(cudaDeviceSynchronize());
  int b0 = (BK_FRAMES + 1) * BK_CHUNK * 4, b1 = (BK_FRAMES + 4) * BK_CHUNK * 4;
  CK(cudaFuncSetAttribute(bulk_energy_slow, cudaFuncAttributeMaxDynamicSharedMemorySize, b0));
  CK(cudaFuncSetAttribute(bulk_energy_fixed, cudaFuncAttributeMaxDynamicSharedMemorySize, b1));
  bench("bulk_energy_slow", [&] { bulk_energy_slow<<<BK_BLOCKS, BK_THREADS, b0>>>(x, w, e0); });
  bench("bulk_energy_fixed", [&] { bulk_energy_fixed<<<BK_BLOCKS, BK_THREADS, b1>>>(x, w, e1); });
  check_float("bulk_energy", e0, e1, BK_BLOCKS * BK_THREADS, 1e-5f);
  CK(cudaFree(x)); CK(cudaFree(w)); CK(cudaFree(e0)); CK(cudaFree(e1));
}

// ---------------------------------------------------------------- residual and gate: a clean stream
constexpr size_t GL_N = (size_t)64 << 20;

__device__ __forceinline__ float gate(float v) { return __fdividef(v, 1.0f + __expf(-1.702f * v)); }
__global__ void __launch_bounds__(256) residual_gate_healthy(const float4* __restrict__ a, const float4* __restrict__ b,
                                                             float4* __restrict__ o) {
  size_t i = (size_t)blockIdx.x * 512 + threadIdx.x;
  float4 p = __ldcs(a + i), q = __ldcs(b + i);
  float4 r = __ldcs(a + i + 256), s = __ldcs(b + i + 256);
  __stcs(o + i, make_float4(gate(p.x + q.x), gate(p.y + q.y), gate(p.z + q.z), gate(p.w + q.w)));
  __stcs(o + i + 256, make_float4(gate(r.x + s.x), gate(r.y + s.y), gate(r.z + s.z), gate(r.w + s.w)));
}
static void run_gate() {
  float* a = dalloc<float>(GL_N);
  float* b = dalloc<float>(GL_N);
  float* o = dalloc<float>(GL_N);
  fill_float<<<1024, 256>>>(a, GL_N, 7, -1.0f, 1.0f);
  fill_float<<<1024, 256>>>(b, GL_N, 8, -1.0f, 1.0f);
  CK(cudaDeviceSynchronize());
  bench("residual_gate_healthy", [&] {
    residual_gate_healthy<<<GL_N / 4 / 512, 256>>>((const float4*)a, (const float4*)b, (float4*)o);
  });
  check_sane("residual_gate", o, GL_N);
  CK(cudaFree(a)); CK(cudaFree(b)); CK(cudaFree(o));
}

int main(int argc, char** argv) {
  g_once = argc > 1 && !strcmp(argv[1], "--once");
  run_csr();
  run_radix();
  run_fwht();
  run_cusum();
  run_bulk();
  run_gate();
  return 0;
}
