// Changes: fused still, but no thread holds it all. A block a window: its samples pass through shared memory once, and
// the pairs are divided among eight warps, a square of 8 x 8 or two triangles each; where there are few pairs, warps
// share the samples instead. 72 sums a thread.
// parent: v3
//
// expected: no spills and 16 warps an SM. At c32 0.6 to 0.8 of the copy: 245 issue slots for every 32 samples of a
//   window are as many as the cycles that DRAM takes for them, so `unexplained` or `pipe-bound` rather than
//   `at-dram-roofline`. 2 to 3 times v2 and 10 times v3. At c16 0.8 to 0.9, ahead of v3; at c8 level with it, or a few
//   per cent behind for its barriers.
// measured: c32 267 us, 0.49 of the copy, 2.02 times v2 and 12.3 times v3. c16 0.55, 3 % behind v3; c8 0.49, 1.69 times
//   v3's time. `shared-bank-conflict`, 1.24x to 1.28x: four stores of 4 bytes where one of 16 was meant.
#include "lane_sums.cuh"

constexpr int TILE = 8, TRIANGLE = TILE * (TILE + 1) / 2;  // a warp keeps a square of 64 pairs, or two triangles of 36
constexpr int SUMS = 2 * TRIANGLE;
constexpr int WARPS = 8, THREADS = WARPS * WARP;
constexpr int EACH = 8, CHUNK = EACH * THREADS;  // floats that a thread brings at a time, and a block
constexpr int AHEAD = 3;                         // chunks on their way in registers: 48 KB an SM with two blocks

template <int C>
struct Plan {
    static constexpr int BANDS = C / TILE, SQUARES = BANDS * (BANDS - 1) / 2, TASKS = SQUARES + (BANDS + 1) / 2;
    static constexpr int SLICES = WARPS / TASKS;  // warps that share the samples of a task
    static constexpr int SAMPLES = CHUNK / C;     // of a chunk
    static constexpr int STEPS = SAMPLES / (SLICES * WARP);
    static constexpr int BRINGERS = THREADS / C;  // threads that bring a row, EACH floats of it
};

// The bands of channels whose pairs a task adds up: a square of two, or the triangles of two.
template <int C>
struct Task {
    int first, second;
    bool is_square;
    __device__ explicit Task(int number) : first(1), second(number), is_square(number < Plan<C>::SQUARES) {
        while (is_square && second >= first) second -= first++;
        if (!is_square) {
            first = 2 * (number - Plan<C>::SQUARES);
            second = first + 1;
        }
    }
};

// What a thread brings of a chunk: EACH floats of a row, WIDTH at a time, its neighbours' in between.
template <int C, int WIDTH>
struct Share {
    static constexpr int STEP = Plan<C>::BRINGERS * WIDTH;
    alignas(16) float values[EACH];

    // row is where the thread's first float of the chunk is, left how many floats of the row there are from there on.
    // Past its end a row goes on with its first sample, whose difference to itself is nothing.
    __device__ void bring(const float* row, int left, float origin) {
#pragma unroll
        for (int k = 0; k < EACH; k += WIDTH) {
            const int at = k / WIDTH * STEP;
            if (WIDTH == 4) {
                const float4 none = make_float4(origin, origin, origin, origin);
                const auto pack = reinterpret_cast<float4*>(values + k);
                *pack = at < left ? *reinterpret_cast<const float4*>(row + at) : none;
            } else {
                values[k] = at < left ? row[at] : origin;
            }
        }
    }

    __device__ float leave(float* slot, float origin) const {
        float sum = 0.0f;
#pragma unroll
        for (int k = 0; k < EACH; ++k) {
            const float difference = values[k] - origin;
            sum += difference;
            slot[k / WIDTH * STEP + k % WIDTH] = difference;
        }
        return sum;
    }
};

// As one instruction in either branch: of a sum and a product the compiler makes the sum common to both branches.
__device__ inline void add(float& sum, float x, float y) { sum = fmaf(x, y, sum); }

// x and y are where the two bands' first channels have the lane's sample.
template <int C>
__device__ inline void add_square(float (&sums)[SUMS], const float* x, const float* y) {
    float a[TILE];
#pragma unroll
    for (int i = 0; i < TILE; ++i) a[i] = x[i * Plan<C>::SAMPLES];
#pragma unroll
    for (int j = 0; j < TILE; ++j) {
        const float b = y[j * Plan<C>::SAMPLES];
#pragma unroll
        for (int i = 0; i < TILE; ++i) add(sums[i * TILE + j], a[i], b);
    }
}

template <int C, int START>
__device__ inline void add_triangle(float (&sums)[SUMS], const float* x) {
    float a[TILE];
#pragma unroll
    for (int i = 0; i < TILE; ++i) {
        a[i] = x[i * Plan<C>::SAMPLES];
#pragma unroll
        for (int j = 0; j <= i; ++j) add(sums[START + i * (i + 1) / 2 + j], a[i], a[j]);
    }
}

template <int C>
__device__ inline void add_pairs(float (&sums)[SUMS], bool is_square, const float* x, const float* y) {
#pragma unroll
    for (int step = 0; step < Plan<C>::STEPS; ++step) {
        const int t = step * Plan<C>::SLICES * WARP;
        if (is_square) {
            add_square<C>(sums, x + t, y + t);
        } else {
            add_triangle<C, 0>(sums, x + t);
            if (Plan<C>::BANDS > 1) add_triangle<C, TRIANGLE>(sums, y + t);
        }
    }
}

// The sum of a pair of channels, i >= j, from what the warps have added up.
template <int C>
__device__ inline float sum_of_pair(const float* totals, int i, int j) {
    const int band = i / TILE, other = j / TILE, row = i % TILE, column = j % TILE;
    const bool is_square = band != other;
    const int task = is_square ? band * (band - 1) / 2 + other : Plan<C>::SQUARES + band / 2;
    const int k = is_square ? row * TILE + column : band % 2 * TRIANGLE + row * (row + 1) / 2 + column;
    float sum = 0.0f;
    for (int slice = 0; slice < Plan<C>::SLICES; ++slice) sum += totals[(slice * Plan<C>::TASKS + task) * SUMS + k];
    return sum;
}

template <int C, int WIDTH>
__global__ void __launch_bounds__(THREADS, 2)
    covariance_over_warps(const float* __restrict__ x, float* __restrict__ mean, float* __restrict__ cov,
                          int samples) {
    using P = Plan<C>;
    __shared__ __align__(16) float staged[WARPS * ROOM];  // two chunks; room to add up afterwards
    __shared__ float totals[WARPS * SUMS], of_bringer[THREADS], of_channel[C];
    const long long window = blockIdx.x;
    const int warp = threadIdx.x / WARP, mine = threadIdx.x / P::BRINGERS;
    const int column = threadIdx.x % P::BRINGERS * WIDTH;
    const float* row = x + (window * C + mine) * samples;
    const float origin = row[0];
    row += column;
    int left = samples - column;  // floats of the row that have not been asked for
    float* put = staged + mine * P::SAMPLES + column;
    const Task<C> task(warp % P::TASKS);
    const float* get = staged + warp / P::TASKS * WARP + threadIdx.x % WARP;
    Share<C, WIDTH> ahead[AHEAD];
    float sums[SUMS] = {}, sum = 0.0f;
#pragma unroll
    for (int k = 0; k < AHEAD; ++k) {
        ahead[k].bring(row, left, origin);
        row += P::SAMPLES, left -= P::SAMPLES;
    }
    int slot = 0;
#pragma unroll 1
    for (int chunks = (samples - 1) / P::SAMPLES + 1; chunks > 0; chunks -= AHEAD) {
#pragma unroll
        for (int k = 0; k < AHEAD; ++k) {
            if (k >= chunks) break;
            sum += ahead[k].leave(put + slot, origin);
            ahead[k].bring(row, left, origin);
            row += P::SAMPLES, left -= P::SAMPLES;
            __syncthreads();  // the other slot is written next: whoever still reads it has not passed here
            const float* first = get + slot + task.first * TILE * P::SAMPLES;
            add_pairs<C>(sums, task.is_square, first, first + (task.second - task.first) * TILE * P::SAMPLES);
            slot = CHUNK - slot;
        }
    }
    of_bringer[threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.x < C) {
        float total = 0.0f;
        for (int k = 0; k < P::BRINGERS; ++k) total += of_bringer[threadIdx.x * P::BRINGERS + k];
        of_channel[threadIdx.x] = total;
        mean[window * C + threadIdx.x] = x[(window * C + threadIdx.x) * samples] + total / samples;
    }
    add_up(sums, totals + warp * SUMS, staged + warp * ROOM);
    __syncthreads();
    for (int k = threadIdx.x; k < C * C; k += THREADS) {
        const int i = k / C > k % C ? k / C : k % C, j = k / C + k % C - i;
        const float both = of_channel[i] * (of_channel[j] / samples);
        cov[window * C * C + k] = (sum_of_pair<C>(totals, i, j) - both) / (samples - 1);
    }
}

template <int C>
static cudaError_t launch(const float* x, float* mean, float* cov, long long windows, long long samples,
                          cudaStream_t stream) {
    const bool wide = samples % 4 == 0 && reinterpret_cast<size_t>(x) % 16 == 0;
    const auto chosen = wide ? covariance_over_warps<C, 4> : covariance_over_warps<C, 1>;
    chosen<<<windows, THREADS, 0, stream>>>(x, mean, cov, samples);
    return cudaGetLastError();
}

extern "C" cudaError_t fusion_limit(const float* x, float* mean, float* cov, long long windows, long long channels,
                                    long long samples, cudaStream_t stream) {
    if (windows < 0 || windows > INT_MAX || samples < 2 || samples > INT_MAX / 2) return cudaErrorInvalidValue;
    if (windows == 0) return cudaSuccess;
    if (channels == 8) return launch<8>(x, mean, cov, windows, samples, stream);
    if (channels == 16) return launch<16>(x, mean, cov, windows, samples, stream);
    if (channels == 32) return launch<32>(x, mean, cov, windows, samples, stream);
    return cudaErrorInvalidValue;
}
