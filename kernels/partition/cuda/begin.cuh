// The beginning of a search: what the last one left is forgotten, and the source is the frontier.

#include "kernels/partition/cuda/labels.cuh"

// The source's rows: its counts, as those of a level that has it for a frontier, and its queues.
__device__ __forceinline__ void count_source(const Rank& r, u64 id, u64 place, bool normal, bool delegate) {
    auto arcs = [](bool own, const OFFSET* offsets, u64 at) { return own ? u64(offsets[at + 1] - offsets[at]) : 0; };
    u64 nn = arcs(normal, r.nn_offsets, id), nd = arcs(normal, r.nd_offsets, id);
    u64 dn = arcs(delegate, r.dn_offsets, place), dd = arcs(delegate, r.dd_offsets, place);
    for (u32 i = 0; i < SIDES * COUNTS; ++i) r.counts[i] = 0;
    r.counts[N_NEW] = normal, r.counts[D_NEW] = delegate;
    r.counts[NN_ROWS] = nn != 0, r.counts[ND_ARCS] = nd, r.counts[DN_ARCS] = dn, r.counts[DD_ARCS] = dd;
    r.counts[ND_ROWS] = nd != 0, r.counts[DN_ROWS] = dn != 0, r.counts[DD_ROWS] = dd != 0;
    r.counts[NN_TAIL] = nn != 0, r.counts[ND_TAIL] = nd != 0;
    r.counts[DN_TAIL] = dn ? 1ull << MERGE_BITS | dn : 0, r.counts[DD_TAIL] = dd ? 1ull << MERGE_BITS | dd : 0;
    if (nn) r.nn_queue[0] = u32(id);
    if (nd) r.nd_queue[0] = u32(id);
    if (dn) r.dn_queue[0] = u32(place), r.dn_starts[0] = 0;
    if (dd) r.dd_queue[0] = u32(place), r.dd_starts[0] = 0;
}

// A search's source: its number among delegates, or its compact id on its rank if it has one, or neither.
struct Source {
    u64 vertex, delegate, id;

    __device__ __forceinline__ bool is_normal(const World& w, const Rank& r) const {
        return delegate == ~0ull && VERTEX(vertex) % VERTEX(w.rank_count) == r.rank;
    }
    // Where it is on its rank, if it has no compact id there.
    __device__ __forceinline__ u64 alone(const World& w, const Rank& r) const {
        return id == ~0ull && is_normal(w, r) ? VERTEX(vertex) / VERTEX(w.rank_count) : ~0ull;
    }
};

// Forget the last search, and make the source the frontier.
__device__ __forceinline__ void begin(const World& w, const Rank& r, const Source& source) {
    bool delegate = source.delegate != ~0ull, normal = source.is_normal(w, r), compacted = normal && source.id != ~0ull;
    u64 word = compacted ? source.id / 32 : ~0ull, delegate_word = delegate ? source.delegate / 32 : ~0ull;
    u32 bit = 1u << (source.id & 31), delegate_bit = 1u << (source.delegate & 31);
    if (global_thread() == global_threads() - 1) {
        count_source(r, source.id, source.delegate, compacted, delegate);
        r.counts[N_NEW] = normal;
    }
    fill_but(r.planes, r.local_words, 0u, word, bit);
    fill_but(r.delegate_depths, w.delegate_count, u8(0), source.delegate, u8(shallow(0)));
    if (TREE) fill(r.delegate_keys, w.delegate_count, NO_KEY);
    if (TREE == SMALLEST) fill(r.keys, r.local, NO_KEY), fill(r.classed, r.local_words, 0u);
    if (TREE == ANY) copy(r.keys, r.expected, r.local);
    fill_but(r.seen, r.local_words + 1, 0u, word, bit);
    fill_but(r.reached, r.local_words, 0u, word, bit);
    fill_but(r.front, r.local_words, 0u, word, bit);
    fill_but(r.delegates_seen, w.words + 1, 0u, delegate_word, delegate_bit);
    fill_but(r.delegates_front, w.words, 0u, delegate_word, delegate_bit);
    fill(r.found, 2 * w.words, 0u);
    if (r.sent) fill(r.sent, w.rank_count * r.sent_words, 0u);
    for (u64 i = global_thread(); i < w.rank_count; i += global_threads()) {
        r.bin_tail[i] = r.bin_start[i];
        r.came[i] = r.came[w.rank_count + i] = w.ranks[i].bin_start[r.rank];
    }
}
