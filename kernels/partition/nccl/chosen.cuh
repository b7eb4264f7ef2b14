// Bits that choose among what lies in one region for each rank: region r has the words `first_words[r]...` of a
// bitmap, whole chunks of them, and positions count the bits that are set before each chunk.

#include "kernels/cuda/types.cuh"

constexpr u32 CHUNK_WORDS = 1024;  // in kernels/partition/nccl/chosen.py too

// A block for each chunk: `act(position, region, i)` for the i-th of a region, if its bit is set.
template <class Act>
__device__ __forceinline__ void each_chosen(const u32* bits, const u64* positions, const u64* first_words, u64 regions,
                                            const Act& act) {
    __shared__ u64 scratch[WARP + 1];
    u64 chunks = first_words[regions] / CHUNK_WORDS;
    for (u64 chunk = blockIdx.x; chunk < chunks; chunk += gridDim.x) {
        u64 before = positions[chunk];
        if (positions[chunk + 1] == before) continue;
        u64 region = 0;
        while (first_words[region + 1] <= chunk * CHUNK_WORDS) ++region;
        for (u32 tile = 0; tile < CHUNK_WORDS; tile += blockDim.x) {
            u64 word = chunk * CHUNK_WORDS + tile + threadIdx.x, all;
            u32 chosen = tile + threadIdx.x < CHUNK_WORDS ? bits[word] : 0;
            u64 place = before + block_exclusive_sum(u64(__popc(chosen)), scratch, all);
            for (; chosen; chosen &= chosen - 1)
                act(place++, region, (word - first_words[region]) * 32 + __ffs(chosen) - 1);
            before += all;
        }
    }
}
