// Forward visits. nn, nd and dn rows are mapped to lanes, warps or blocks by their lengths (the paper's section
// IV-A, after Merrill's hybrid gather); dd arcs are cut evenly over the warps wherever rows end (merge-based).

#include "kernels/partition/by_length.cuh"
#include "kernels/partition/reach.cuh"

#if !ENCODED  // those of encoded rows are in encoded.cuh

// Where the blocks of a visit begin: small visits run beside each other, in blocks of their own.
__device__ __forceinline__ u32 start_of(Reading visit) { return gridDim.x * (visit + 1) / 4; }

__device__ __forceinline__ void visit_nn(const World& w, const Rank& r, BlockRow& shared, u64 count) {
    visit_by_length<BATCH>(
        shared, count, start_of(READ_NN),
        [&](u64 i) {
            u32 owner = r.nn_queue[i];
            OFFSET begin = r.nn_offsets[owner];
            return RowOf{begin, owner, u32(r.nn_offsets[owner + 1] - begin)};
        },
        [&](const Arcs<BATCH>& a) {
            VERTEX vertex[BATCH];
#pragma unroll
            for (u32 k = 0; k < BATCH; ++k) vertex[k] = a.live[k] ? r.nn_columns[a.arc[k]] : VERTEX(0);
            reach_normals(w, r, a.live, vertex, a.owner);
        });
}

// Reach what arcs lead to, of which `columns` are 32 bits: delegates, or normal vertices here.
template <bool FRESH_HAS_SEEN, class Key>
__device__ __forceinline__ void reach_columns(const Arcs<BATCH>& a, Columns<u32> columns, const u32* seen, u32* fresh, u64* keys,
                                              const Key& key) {
    u32 place[BATCH];
#pragma unroll
    for (u32 k = 0; k < BATCH; ++k) place[k] = a.live[k] ? columns[a.arc[k]] : 0;
    claim<FRESH_HAS_SEEN>(seen, fresh, keys, a.live, place, key);
}

__device__ __forceinline__ void visit_nd(const World& w, const Rank& r, BlockRow& shared, u64 count, u32* found) {
    visit_by_length<BATCH>(
        shared, count, start_of(READ_ND),
        [&](u64 i) {
            u32 owner = r.nd_queue[i];
            OFFSET begin = r.nd_offsets[owner];
            return RowOf{begin, owner, u32(r.nd_offsets[owner + 1] - begin)};
        },
        [&](const Arcs<BATCH>& a) {
            reach_columns<false>(a, r.nd_columns, r.delegates_seen, found, r.delegate_keys,
                          [&](u32 k) { return u64(a.owner[k]) * w.rank_count + r.rank; });
        });
}

__device__ __forceinline__ void visit_dn(const World& w, const Rank& r, BlockRow& shared, u64 entries) {
    visit_by_length<BATCH>(
        shared, entries, start_of(READ_DN),
        [&](u64 i) {
            u64 entry = r.dn_queue[i];
            u32 owner = u32(entry >> 32);
            OFFSET begin = r.dn_offsets[owner] + OFFSET(entry & 0xffffffffu) * ROW_CHUNK;
            OFFSET left = r.dn_offsets[owner + 1] - begin;
            return RowOf{begin, owner, left < ROW_CHUNK ? u32(left) : ROW_CHUNK};
        },
        [&](const Arcs<BATCH>& a) {
            reach_columns<true>(a, r.dn_columns, r.seen, r.reached, r.keys, [&](u32 k) { return u64(w.delegates[a.owner[k]]); });
        });
}

// A warp's share of the arcs is one run, so that it looks for the row it begins in but once.
__device__ __forceinline__ void visit_dd(const World& w, const Rank& r, u64 tail, u32* found) {
    u64 rows = tail >> MERGE_BITS, arcs = tail & MERGE_ARCS, warps = global_threads() / WARP;
    u64 share = ((arcs + warps - 1) / warps + WARP - 1) / WARP * WARP, first = global_thread() / WARP * share;
    if (first >= arcs) return;
    u64 last = first + share < arcs ? first + share : arcs, low = row_of_tile(r, rows, first);
    u64 begin = r.dd_starts[low], end = low + 1 < rows ? r.dd_starts[low + 1] : arcs;
    u32 d = r.dd_queue[low];
    u64 row = r.dd_offsets[d];
    for (u64 at = first; at < last; at += BATCH * WARP) {
        Arcs<BATCH> a;
#pragma unroll
        for (u32 k = 0; k < BATCH; ++k) {
            u64 arc = at + k * WARP + lane_id();
            a.live[k] = arc < last;
            if (a.live[k] && arc >= end) {
                while (arc >= end) {
                    ++low;
                    begin = end;
                    end = low + 1 < rows ? r.dd_starts[low + 1] : arcs;
                }
                d = r.dd_queue[low];
                row = r.dd_offsets[d];
            }
            a.arc[k] = OFFSET(row + (arc - begin));
            a.owner[k] = d;
        }
        reach_columns<false>(a, r.dd_columns, r.delegates_seen, found, r.delegate_keys,
                      [&](u32 k) { return u64(w.delegates[a.owner[k]]); });
    }
}

#endif
