// Top-down: the arcs of the frontier, claimed one by one. How a warp expands the entries that it takes is its row
// source's: include sources/expand_columns.cuh or sources/expand_encoded.cuh first.

#include "kernels/bfs/cuda/claim.cuh"

// Entries that a warp takes at once: as few as keep all warps busy, but `least` so that lanes are.
__device__ __forceinline__ u32 entries_per_warp(u64 entries, u64 warps, u32 least) {
    u64 share = (entries + warps - 1) / warps;
    return share < least ? least : share > WARP ? WARP : u32(share);
}

// Expand the frontier's entries over the whole grid.
template <class Sink>
__device__ __forceinline__ void expand_all(const Search& s, Sink& sink, const Progress& p, u64* arena) {
    Decoded decoded(arena);
    u64 begin = p.begin, end = p.end;
    u32 depth = p.level + 1;
    u64 warps = global_threads() / WARP;
    u32 share = entries_per_warp(end - begin, warps, 1);
    // Neighbouring entries go to different multiprocessors: hubs lie together in the queue.
    for (u64 first = begin + (u64(warp_id()) * gridDim.x + blockIdx.x) * share; first < end; first += warps * share) {
        u64 i = first + lane_id();
        bool valid = lane_id() < share && i < end;
        expand(s, sink, decoded, valid, s.queue.read_if(valid, i), depth);
    }
}

__device__ __forceinline__ void push(const Search& s, Progress& p, u64* arena, bool queued) {
    GridSink sink(s, behind_decoded(arena), !queued);
    expand_all(s, sink, p, arena);
    sink.finish(p);
}

__device__ __forceinline__ void count_pushed(const Search& s, Progress& p, u64* arena) {
    Counter sink;
    expand_all(s, sink, p, arena);
    add_totals(s, p, sink.found, sink.weight);
}

// Between levels: cut the listed hubs into entries, and copy `exact` to `other` for a push without a queue.
__device__ __forceinline__ void redistribute(const Search& s, const Progress& p) {
    for (u64 i = p.hub_begin + u64(warp_id()) * gridDim.x + blockIdx.x; i < p.hub_end; i += global_threads() / WARP) {
        VERTEX hub = s.hubs[i];
        Row row = listed_row(s.rows, hub);
        u64 units = all_units(s.rows, row);
        u64 base = reserve(s, units);
        for (u64 unit = lane_id(); unit < units; unit += WARP) s.queue.write(base + unit, part_entry(row, unit));
    }
    for (u64 word = global_thread(); word < s.words; word += global_threads()) s.other[word] = s.exact[word];
}

// Put the vertices of the last level into the queue: they are in `exact` and not in `other`.
__device__ __forceinline__ void enqueue(const Search& s, Progress& p, u64* arena) {
    GridSink sink(s, arena, false);
    for (u64 base = global_thread() - lane_id(); base < s.words; base += global_threads()) {
        u64 word = base + lane_id();
        u32 bits = word < s.words ? s.exact[word] & ~s.other[word] : 0;
        while (__any_sync(ALL_LANES, bits)) {
            bool some = bits != 0;
            VERTEX vertex = some ? VERTEX(word * 32 + __ffs(bits) - 1) : VERTEX(0);
            bits &= bits - 1;
            hand_over(s, sink, some, some ? read_extent(s.rows, vertex) : Extent{}, vertex);
        }
    }
    sink.found = 0;  // they were counted when they were found
    sink.finish(p);
}
