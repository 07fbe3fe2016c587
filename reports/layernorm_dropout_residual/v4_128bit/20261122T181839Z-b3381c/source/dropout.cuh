// Which elements are kept: Philox4x32-10 (Salmon and others, "Parallel random numbers: as easy as 1, 2, 3", 2011), a
// function of the seed and of the place in the matrix, so that nothing is stored and every version keeps the same.
#pragma once
#include <cuda_runtime.h>

constexpr int ROUNDS = 10;
constexpr int DRAWS = 8;  // of one call, 16 bits each
constexpr long long KEEP_OF = 1 << 16;

// The key of each round is worked out on the host: a kernel finds them in its parameters.
struct Dropout {
    unsigned keys[ROUNDS][2];
    unsigned keep;  // of KEEP_OF
    float scale;
};

inline Dropout dropout_of(long long keep, long long seed) {
    Dropout dropout = {};
    for (unsigned round = 0; round < ROUNDS; ++round) {
        dropout.keys[round][0] = static_cast<unsigned>(seed) + round * 0x9E3779B9u;
        dropout.keys[round][1] = static_cast<unsigned>(seed >> 32) + round * 0xBB67AE85u;
    }
    dropout.keep = static_cast<unsigned>(keep);
    dropout.scale = keep ? static_cast<float>(static_cast<double>(KEEP_OF) / keep) : 0.0f;
    return dropout;
}

// The draws of columns 8 * group to 8 * group + 7 of a row, two in a word, the lower half first.
__device__ inline void call(const Dropout& dropout, unsigned group, unsigned row, unsigned (&word)[DRAWS / 2]) {
    word[0] = group, word[1] = row, word[2] = word[3] = 0;
#pragma unroll
    for (int round = 0; round < ROUNDS; ++round) {
        const unsigned long long a = 0xD2511F53ull * word[0], c = 0xCD9E8D57ull * word[2];
        word[0] = static_cast<unsigned>(c >> 32) ^ word[1] ^ dropout.keys[round][0];
        word[2] = static_cast<unsigned>(a >> 32) ^ word[3] ^ dropout.keys[round][1];
        word[1] = static_cast<unsigned>(c);
        word[3] = static_cast<unsigned>(a);
    }
}

// The same eight, a bit each: set where the element is kept.
__device__ inline unsigned kept_of(const Dropout& dropout, unsigned group, unsigned row) {
    unsigned word[DRAWS / 2], bits = 0;
    call(dropout, group, row, word);
#pragma unroll
    for (int k = 0; k < DRAWS; ++k) {
        const unsigned draw = k % 2 ? word[k / 2] >> 16 : word[k / 2] & 0xffff;
        bits |= (draw < dropout.keep ? 1u : 0u) << k;
    }
    return bits;
}
