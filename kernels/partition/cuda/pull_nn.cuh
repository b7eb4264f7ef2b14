// Pull along nn: where the frontier has more nn arcs than the unvisited have, these go through their own. The frontiers of
// other ranks are bits, which every rank reads as a whole, so that nothing is sent and nothing received. (The paper
// visits nn forward always, section IV-B. A bit of each vertex is less than four bytes of each arc that is cut.)

#include "kernels/partition/cuda/pull.cuh"

// Read the frontiers of the other ranks, where not all are on this device; all blocks synchronise before anybody reads them.
__device__ __forceinline__ void gather_fronts(const World& w, const Rank& r) {
    constexpr u32 AT_ONCE = 4;
    if (!r.fronts) return;
    u64 words = r.sent_words;
    for (u32 from = 0; from < w.rank_count; ++from) {
        if (from == r.rank) continue;
        const u32* theirs = w.ranks[from].front;
        for (u64 base = global_thread(); base < words; base += AT_ONCE * global_threads()) {
            u32 word[AT_ONCE];
#pragma unroll
            for (u32 k = 0; k < AT_ONCE; ++k) {
                u64 i = base + k * global_threads();
                word[k] = i < words ? __ldcv(&theirs[i]) : 0;
            }
#pragma unroll
            for (u32 k = 0; k < AT_ONCE; ++k) {
                u64 i = base + k * global_threads();
                if (i < words) r.fronts[from * words + i] = word[k];
            }
        }
    }
}

#if ENCODED  // such rows are visited forward

__device__ __forceinline__ void pull_nn(const World&, const Rank&, bool) {}

#else

// Check the deferred nn rows, WAITING at most, and take them off the list. Rows ascend, so the first hit is the
// smallest neighbour.
__device__ __forceinline__ void pull_along_rows(const World& w, const Rank& r, u32* list, u32& held) {
    u32 count = held < WAITING ? held : WAITING, ranks = u32(w.rank_count), row[2];
    OFFSET at[2], end[2];
    held -= count;
    __syncwarp();
#pragma unroll
    for (u32 k = 0; k < 2; ++k) {
        bool pulls = lane_id() + k * WARP < count;
        row[k] = pulls ? list[held + lane_id() + k * WARP] : 0;
        at[k] = pulls ? r.nn_offsets[row[k]] : 0;
        end[k] = pulls ? r.nn_offsets[row[k] + 1] : 0;
    }
    __syncwarp();
    while (__any_sync(ALL_LANES, at[0] < end[0] || at[1] < end[1])) {
        VERTEX vertex[2];
        bool hit[2];
#pragma unroll
        for (u32 k = 0; k < 2; ++k) vertex[k] = at[k] < end[k] ? r.nn_columns[at[k]] : VERTEX(0);
#pragma unroll
        for (u32 k = 0; k < 2; ++k) {
            u32 of = ranks == 1 ? 0 : u32(vertex[k] % ranks), id = ranks == 1 ? u32(vertex[k]) : u32(vertex[k] / ranks);
            hit[k] = at[k] < end[k] && test_bit(r.fronts && of != r.rank ? r.fronts + of * r.sent_words : w.ranks[of].front, id);
        }
        claim<true>(r.seen, r.reached, r.keys, hit, row, [&](u32 k) {
            note_class(r, row[k]);
            return normal_key(HAS_COMPACT_IDS && r.nn_vertices ? r.nn_vertices[at[k]] : vertex[k]);
        });
#pragma unroll
        for (u32 k = 0; k < 2; ++k) at[k] = hit[k] ? end[k] : at[k] + 1;
    }
}

// All that have nd arcs too are left out where they are reached in any case (`sweeps`).
__device__ __forceinline__ void pull_nn(const World& w, const Rank& r, bool sweeps) {
    u32* list = waiting_rows();
    u32 words = u32(r.local_words), warps = u32(global_threads() / WARP), width = words_at_once(words), held = 0;
    bool over = false;
    for (u32 first = u32(global_thread() / WARP) * width; !over; first += warps * width) {
        over = first >= words;
        u32 word = first + lane_id();
        u32 rest = lane_id() < width && word < words ? r.nn_mask[word] & ~r.seen[word] : 0;
        // Who takes the smallest pulls for all.
        if (TREE != SMALLEST && rest) rest &= ~(*reinterpret_cast<volatile u32*>(&r.reached[word]) | (sweeps ? r.nd_mask[word] : 0));
        do {
            take_rows(list, held, word, rest);
            while (held >= WAITING || (over && held)) pull_along_rows(w, r, list, held);
        } while (__any_sync(ALL_LANES, rest));
    }
}

#endif
