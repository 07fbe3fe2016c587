// Runs the cases of the gallery: warm, then each once in the NVTX ranges `gallery` and its name, or timed.
// Usage: gallery [--time | --list] [CASE…]
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <nvtx3/nvToolsExt.h>
#include <string>
#include <vector>

#include "gallery.cuh"

float *A, *B, *OUT, *SMALL, *HOST, *HOST_OUT;
unsigned *ROWS;
half *HALF_A, *HALF_B;
constexpr long FLUSH = 64L << 20;  // floats: 256 MiB, more than four times the L2
constexpr int REPEATS = 20;
constexpr double TOLERANCE = 2e-4;  // sums in another order; a fault shows as whole elements
static float *flush;
static double *sums;

static Case *&first_case() {
    static Case *first = nullptr;
    return first;
}

Case::Case(const char *n, void (*l)(), Result (*r)(), const char *s) : name(n), launch(l), result(r), same_as(s) {
    next = first_case();
    first_case() = this;
}

void check(cudaError_t status, const char *what, int line) {
    if (status == cudaSuccess) return;
    std::fprintf(stderr, "%s (line %d): %s\n", what, line, cudaGetErrorString(status));
    std::exit(1);
}

__device__ unsigned scrambled(unsigned i) {
    i ^= i >> 16, i *= 0x7feb352du, i ^= i >> 15, i *= 0x846ca68bu;
    return i ^ (i >> 16);
}

__global__ void fill_values(float *out, long n, unsigned seed) {
    for (long i = blockIdx.x * 256L + threadIdx.x; i < n; i += gridDim.x * 256L) out[i] = scrambled(i + seed) & 7;
}

__global__ void fill_halves(half *out, long n, unsigned seed) {
    for (long i = blockIdx.x * 256L + threadIdx.x; i < n; i += gridDim.x * 256L)
        out[i] = __float2half((scrambled(i + seed) & 7) * 0.125f);
}

__global__ void fill_rows(unsigned *out, long n) {
    for (long i = blockIdx.x * 256L + threadIdx.x; i < n; i += gridDim.x * 256L)
        out[i] = scrambled(unsigned(i / 32)) % ROW_COUNT;
}

__global__ void read_all(const float4 *in, long n, float *out) {
    float sum = 0;
    for (long i = blockIdx.x * 256L + threadIdx.x; i < n; i += gridDim.x * 256L) sum += in[i].x;
    if (sum < 0) *out = sum;
}

__global__ void weigh(Result r, double *out) {
    double weighted = 0, size = 0;
    for (long i = blockIdx.x * 256L + threadIdx.x; i < r.count; i += gridDim.x * 256L) {
        double v = r.values[i * r.stride];
        weighted += v * (0.5 + (i % 1021) / 1021.0);
        size += fabs(v);
    }
    atomicAdd(out, weighted);
    atomicAdd(out + 1, size);
}

struct Sum {
    double weighted, size;
};

static void allocate() {
    CHECK(cudaMalloc(&A, BIG * 4));
    CHECK(cudaMalloc(&B, BIG * 4));
    CHECK(cudaMalloc(&OUT, BIG * 4));
    CHECK(cudaMalloc(&SMALL, SMALL_COUNT * 4));
    CHECK(cudaMalloc(&ROWS, ROW_COUNT * 128));
    CHECK(cudaMalloc(&flush, FLUSH * 4));
    CHECK(cudaMalloc(&sums, 16));
    CHECK(cudaMalloc(&HALF_A, 8 << 20));
    CHECK(cudaMalloc(&HALF_B, 8 << 20));
    CHECK(cudaHostAlloc(&HOST, HOST_COUNT * 4, cudaHostAllocMapped));
    CHECK(cudaHostAlloc(&HOST_OUT, HOST_COUNT * 4, cudaHostAllocMapped));
    fill_values<<<1024, 256>>>(A, BIG, 1);
    fill_values<<<1024, 256>>>(B, BIG, 2);
    fill_values<<<1024, 256>>>(HOST, HOST_COUNT, 1);  // as the beginning of A
    fill_rows<<<1024, 256>>>(ROWS, ROW_COUNT * 32);
    fill_halves<<<1024, 256>>>(HALF_A, 4 << 20, 1);
    fill_halves<<<1024, 256>>>(HALF_B, 4 << 20, 2);
    CHECK(cudaMemset(flush, 0, FLUSH * 4));
    CHECK(cudaMemset(OUT, 0, BIG * 4));
    CHECK(cudaDeviceSynchronize());
}

static void run_once(const Case &c) {
    CHECK(cudaMemset(SMALL, 0, SMALL_COUNT * 4));
    c.launch();
    cudaError_t status = cudaGetLastError();
    if (status == cudaSuccess) status = cudaDeviceSynchronize();
    check(status, c.name, __LINE__);
}

static Sum sum_of(const Case &c) {
    Sum sum;
    CHECK(cudaMemset(OUT, 0, BIG * 4));
    run_once(c);
    CHECK(cudaMemset(sums, 0, 16));
    weigh<<<512, 256>>>(c.result(), sums);
    CHECK(cudaMemcpy(&sum, sums, 16, cudaMemcpyDeviceToHost));
    return sum;
}

static double median_us(const Case &c) {
    std::vector<float> samples;
    cudaEvent_t start, stop;
    CHECK(cudaEventCreate(&start));
    CHECK(cudaEventCreate(&stop));
    for (int i = 0; i < REPEATS; ++i) {
        float ms;
        CHECK(cudaMemset(SMALL, 0, SMALL_COUNT * 4));
        read_all<<<SMS * 8, 256>>>((const float4 *)flush, FLUSH / 4, SMALL);
        CHECK(cudaEventRecord(start));
        c.launch();
        CHECK(cudaEventRecord(stop));
        CHECK(cudaEventSynchronize(stop));
        CHECK(cudaEventElapsedTime(&ms, start, stop));
        samples.push_back(ms * 1e3f);
    }
    std::sort(samples.begin(), samples.end());
    return 0.5 * (samples[REPEATS / 2 - 1] + samples[REPEATS / 2]);
}

static bool agree(Sum a, Sum b) {
    return std::fabs(a.weighted - b.weighted) <= TOLERANCE * (a.size + b.size) &&
           std::fabs(a.size - b.size) <= TOLERANCE * (a.size + b.size);
}

// Prints one JSON object a line within a list; false where a result is empty, not finite or not its partner's.
static bool time_all(const std::vector<Case *> &cases) {
    std::map<std::string, Sum> results;
    bool good = true;
    for (Case *c = first_case(); c; c = c->next) results[c->name] = {NAN, NAN};
    for (Case *c : cases) results[c->name] = sum_of(*c);
    std::printf("[\n");
    for (Case *c : cases) {
        Sum own = results[c->name];
        bool same = true;
        if (c->same_as) {
            Sum &other = results.at(c->same_as);
            if (std::isnan(other.size))
                for (Case *o = first_case(); o; o = o->next)
                    if (!std::strcmp(o->name, c->same_as)) other = sum_of(*o);
            same = agree(own, other);
        }
        bool sound = std::isfinite(own.weighted) && own.size > 0;
        good = good && sound && same;
        std::printf("{\"name\": \"%s\", \"median_us\": %.2f, \"sound\": %s, \"agrees\": %s, \"sum\": \"%.9g/%.9g\"}%s\n",
                    c->name, median_us(*c), sound ? "true" : "false", !c->same_as ? "null" : same ? "true" : "false",
                    own.weighted, own.size, c == cases.back() ? "" : ",");
        std::fflush(stdout);
    }
    std::printf("]\n");
    return good;
}

static std::vector<Case *> chosen(int argc, char **argv) {
    std::vector<Case *> cases;
    for (int i = 1; i < argc; ++i) {
        if (argv[i][0] == '-') continue;
        Case *c = first_case();
        while (c && std::strcmp(c->name, argv[i])) c = c->next;
        if (!c) std::fprintf(stderr, "no case is called %s\n", argv[i]), std::exit(2);
        cases.push_back(c);
    }
    if (cases.empty()) {
        for (Case *c = first_case(); c; c = c->next) cases.push_back(c);
        std::sort(cases.begin(), cases.end(), [](Case *a, Case *b) { return std::strcmp(a->name, b->name) < 0; });
    }
    return cases;
}

int main(int argc, char **argv) {
    std::string mode = argc > 1 && argv[1][0] == '-' ? argv[1] : "";
    std::vector<Case *> cases = chosen(argc, argv);
    if (mode == "--list") {
        for (Case *c : cases) std::printf("%s %s\n", c->name, c->same_as ? c->same_as : "-");
        return 0;
    }
    allocate();
    if (mode == "--time") return time_all(cases) ? 0 : 3;
    for (Case *c : cases) run_once(*c);
    nvtxRangePushA("gallery");
    for (Case *c : cases) {
        nvtxRangePushA(c->name);
        run_once(*c);
        nvtxRangePop();
    }
    nvtxRangePop();
    return 0;
}
