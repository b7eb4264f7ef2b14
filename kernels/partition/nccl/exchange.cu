// What lies between sending and receiving: masks that are joined, and things that bits choose (sections V-A, V-B
// and VI-A3 of Pan, Pearce, Owens, IPDPS 2018).

#include "kernels/partition/nccl/chosen.cuh"

__device__ __forceinline__ u64 atomic_warp_add(u64* count, bool mine) {
    u32 all = __ballot_sync(ALL_LANES, mine);
    u64 place = 0;
    if (all && lane_id() == 0) place = atomicAdd(count, u64(__popc(all)));
    return __shfl_sync(ALL_LANES, place, 0) + __popc(all & lanes_below());
}

// Words of a mask that are not zero, as place << 32 | word; `count`, zero before, counts those without room too.
extern "C" __global__ void __launch_bounds__(512, 2)
    list_changed(const u32* mask, u64* pairs, u64* count, u64 words, u64 room) {
    for (u64 first = global_thread() - lane_id(); first < words; first += global_threads()) {
        u64 i = first + lane_id();
        u32 word = i < words ? mask[i] : 0;
        u64 place = atomic_warp_add(count, word != 0);
        if (word && place < room) pairs[place] = i << 32 | word;
    }
}

// Set the bits of such lists, of which each rank has `counts[rank]` entries in a row of `width`.
extern "C" __global__ void __launch_bounds__(512, 2)
    join_changed(u32* mask, const u64* pairs, const u64* counts, u64 ranks, u64 width) {
    for (u64 rank = 0; rank < ranks; ++rank)
        for (u64 i = global_thread(); i < counts[rank]; i += global_threads()) {
            u64 pair = pairs[rank * width + i];
            atomicOr(&mask[pair >> 32], u32(pair));
        }
}

// The OR of rows; with `keep`, of what is there too.
extern "C" __global__ void __launch_bounds__(512, 2)
    join_words(u32* mask, const u32* rows, u64 words, u64 row_count, u64 stride, u64 keep) {
    for (u64 i = global_thread(); i < words; i += global_threads()) {
        u32 bits = keep ? mask[i] : 0;
        for (u64 row = 0; row < row_count; ++row) bits |= rows[row * stride + i];
        mask[i] = bits;
    }
}

// How many bits each chunk has; a block for each chunk.
extern "C" __global__ void __launch_bounds__(512, 2) count_chosen(const u32* bits, u64* counts, u64 chunks) {
    __shared__ u64 scratch[WARP + 1];
    for (u64 chunk = blockIdx.x; chunk < chunks; chunk += gridDim.x) {
        u64 own = 0, all;
        for (u32 i = threadIdx.x; i < CHUNK_WORDS; i += blockDim.x) own += __popc(bits[chunk * CHUNK_WORDS + i]);
        block_exclusive_sum(own, scratch, all);
        if (threadIdx.x == 0) counts[chunk] = all;
    }
}

// One block: positions from counts, (chunks + 1).
extern "C" __global__ void __launch_bounds__(512, 2) place_chosen(const u64* counts, u64* positions, u64 chunks) {
    __shared__ u64 scratch[WARP + 1];
    u64 before = 0;
    for (u64 first = 0; first < chunks; first += blockDim.x) {
        u64 i = first + threadIdx.x, all;
        u64 place = before + block_exclusive_sum(i < chunks ? counts[i] : 0ull, scratch, all);
        if (i < chunks) positions[i] = place;
        before += all;
    }
    if (threadIdx.x == 0) positions[chunks] = before;
}

// Copy what is chosen, in order; region r's things begin at `starts[r]`.
extern "C" __global__ void __launch_bounds__(512, 2)
    pick(const u32* bits, const u64* positions, const u64* first_words, const u64* starts, const u32* things,
         u32* picked, u64 regions) {
    each_chosen(bits, positions, first_words, regions,
                [&](u64 place, u64 region, u64 i) { picked[place] = things[starts[region] + i]; });
}

// Move parcels, (count, from, to) each, from one array to another.
extern "C" __global__ void __launch_bounds__(512, 2)
    move_parcels(const u32* things, u32* moved, const u64* parcels, u64 count) {
    for (u64 parcel = 0; parcel < count; ++parcel) {
        const u64* p = parcels + 3 * parcel;
        for (u64 i = global_thread(); i < p[0]; i += global_threads()) moved[p[2] + i] = things[p[1] + i];
    }
}
