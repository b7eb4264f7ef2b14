// Brandes' algorithm from 32 * WORDS sources at once, a level a launch: a row of path counts, of shares and of levels per
// vertex, a lane a source, and a row of bits that says whose neighbours matter (Brandes, A Faster Algorithm for
// Betweenness Centrality, Journal of Mathematical Sociology 25(2), 2001). The CPU twin is kernels/betweenness/brandes.py,
// whose c(v) is `share` here.
//
// Every sum is taken by the vertex that it belongs to, from the row of its neighbours and in the order of that row: no
// float is added by an atomic, so results are equal to the last bit.
//
// Rows. Source s has bit s % 32 of word s / 32, and place (v * WORDS + s / 32) * 32 + s % 32 of the other rows. A row of more
// arcs than `longest` is cut into pieces, whose sums a warp each leaves in `piece_sums` and `piece_bits`.
//
// Contract. row_offsets i64 (vertices + 1), columns VERTEX, in `forward` of successors going backward, and of predecessors
// going forward. `seen`, `now`, `next` u32 (vertices, WORDS); `level` u16, NONE before the search; `paths`, `share` f64
// (vertices, 32 * WORDS). `live` u32 (WORDS) are the sources that go on; `found` u32 (WORDS + 1) receives those of
// the next level, and last the smallest source whose paths are infinite. `sums` f64 (vertices), or (arcs) with ARCS. Block: whole warps.
//
// variants VERTEX: u32 u64
// variants WORDS: 1 2
// variants ARCS: 0 1

#include "kernels/cuda/lanes.cuh"
#include "kernels/cuda/pieces.cuh"

typedef unsigned short u16;

constexpr u32 SOURCES = WARP * WORDS;
constexpr u16 NONE = 0xffff;
constexpr double LARGEST = 1.7976931348623157e308;
constexpr u32 AHEAD = 4;  // neighbours whose rows are read together

struct Bits {
    u32 word[WORDS];

    __device__ __forceinline__ bool any() const {
        u32 bits = 0;
#pragma unroll
        for (u32 j = 0; j < WORDS; ++j) bits |= word[j];
        return bits != 0;
    }
    __device__ __forceinline__ bool mine(u32 j) const { return word[j] >> lane_id() & 1; }
};

struct Sum {
    double of[WORDS];
};

__device__ __forceinline__ u64 place(u64 vertex, u32 j) { return (vertex * WORDS + j) * WARP + lane_id(); }

__device__ __forceinline__ Bits load(const u32* rows, u64 vertex) {
    Bits bits;
#pragma unroll
    for (u32 j = 0; j < WORDS; ++j) bits.word[j] = rows[vertex * WORDS + j];
    return bits;
}

__device__ __forceinline__ void store(u32* rows, u64 vertex, const Bits& bits) {
#pragma unroll
    for (u32 j = 0; j < WORDS; ++j) rows[vertex * WORDS + j] = bits.word[j];
}

__device__ __forceinline__ Bits of_lane(const Bits& bits, u32 lane) {
    Bits all;
#pragma unroll
    for (u32 j = 0; j < WORDS; ++j) all.word[j] = __shfl_sync(ALL_LANES, bits.word[j], lane);
    return all;
}

__device__ __forceinline__ Bits at_level(const u16* level, u64 vertex, u32 wanted) {
    Bits bits;
#pragma unroll
    for (u32 j = 0; j < WORDS; ++j) bits.word[j] = __ballot_sync(ALL_LANES, level[place(vertex, j)] == wanted);
    return bits;
}

// Adds up the values of the neighbours in [begin, end) of the columns for the wanted sources that these have a bit of.
// With `by_arc`, adds to each arc what the paths in `own` leave there.
__device__ __forceinline__ void gather(const VERTEX* columns, i64 begin, i64 end, const u32* rows, const double* values,
                                       const Bits& wanted, Sum& sum, Bits& gained, double* by_arc, const Sum& own) {
    for (i64 k = begin; k < end; k += WARP) {
        i64 at = k + lane_id();
        VERTEX neighbour = at < end ? columns[at] : VERTEX(0);
        Bits has = {};
        if (at < end) has = load(rows, neighbour);
#pragma unroll
        for (u32 j = 0; j < WORDS; ++j) has.word[j] &= wanted.word[j];
        u32 left = __ballot_sync(ALL_LANES, has.any());
        while (left) {
            Sum read[AHEAD];
            u32 lane[AHEAD];
            u32 count = __popc(left) < AHEAD ? __popc(left) : AHEAD;
#pragma unroll
            for (u32 i = 0; i < AHEAD; ++i) {
                lane[i] = left ? __ffs(left) - 1 : 0;
                Bits bits = of_lane(has, lane[i]);
                u64 u = __shfl_sync(ALL_LANES, neighbour, lane[i]);
#pragma unroll
                for (u32 j = 0; j < WORDS; ++j) {
                    bool reads = left && bits.mine(j);
                    read[i].of[j] = reads ? values[place(u, j)] : 0.0;
                    if (left) gained.word[j] |= bits.word[j];
                }
                left &= left - 1;
            }
#pragma unroll
            for (u32 i = 0; i < AHEAD; ++i) {
                double passed = 0;
#pragma unroll
                for (u32 j = 0; j < WORDS; ++j) {
                    sum.of[j] += read[i].of[j];
                    passed += read[i].of[j] * own.of[j];
                }
                if (ARCS && by_arc && i < count) {
                    passed = warp_sum(passed);
                    if (lane_id() == 0) by_arc[k + lane[i]] += passed;
                }
            }
        }
    }
}

// Adds the bits and the sums of the pieces of a row, in their order.
__device__ __forceinline__ void add_pieces(u64 first, u64 last, const double* piece_sums, const u32* piece_bits, Sum& sum,
                                           Bits& gained) {
    for (u64 piece = first; piece < last; ++piece) {
        Bits bits = load(piece_bits, piece);
#pragma unroll
        for (u32 j = 0; j < WORDS; ++j) {
            sum.of[j] += piece_sums[place(piece, j)];
            gained.word[j] |= bits.word[j];
        }
    }
}

// What a vertex has that some sources reach.
struct Forward {
    u16* level;
    double* paths;
    u32* found;
    u32 depth;
    Bits live = {};

    __device__ __forceinline__ void commit(u64 v, const Bits& gained, const Sum& sum) {
#pragma unroll
        for (u32 j = 0; j < WORDS; ++j) {
            live.word[j] |= gained.word[j];
            if (!gained.mine(j)) continue;
            level[place(v, j)] = u16(depth);
            paths[place(v, j)] = sum.of[j];
            if (sum.of[j] > LARGEST) atomicMin(&found[WORDS], j * WARP + lane_id());
        }
    }
    __device__ __forceinline__ void finish() {
        if (lane_id()) return;
#pragma unroll
        for (u32 j = 0; j < WORDS; ++j)
            if (live.word[j] & ~__ldcv(&found[j])) atomicOr(&found[j], live.word[j]);
    }
};

// A warp takes 32 vertices in turn.
extern "C" __global__ void forward(const i64* row_offsets, const VERTEX* columns, u64 vertices, u64 longest, const u32* live,
                                   u32* seen, const u32* now, u32* next, u16* level, double* paths, u32* found, u32 depth) {
    Forward state{level, paths, found, depth};
    Bits alive = load(live, 0);
    for (u64 tile = global_thread() / WARP * WARP; tile < vertices; tile += global_threads()) {
        u64 mine = tile + lane_id();
        bool exists = mine < vertices;
        i64 begin = exists ? row_offsets[mine] : 0, end = exists ? row_offsets[mine + 1] : 0;
        Bits known = {}, wanted = {}, newly_visited = {};
        bool is_long = end - begin > i64(longest);
        if (exists) known = load(seen, mine);
#pragma unroll
        for (u32 j = 0; j < WORDS; ++j) wanted.word[j] = alive.word[j] & ~known.word[j];
        u32 left = __ballot_sync(ALL_LANES, begin < end && !is_long && wanted.any());
        while (left) {
            u32 slot = take_lowest(left);
            i64 from = __shfl_sync(ALL_LANES, begin, slot), to = __shfl_sync(ALL_LANES, end, slot);
            Sum sum = {};
            Bits gained = {};
            gather(columns, from, to, now, paths, of_lane(wanted, slot), sum, gained, nullptr, sum);
            state.commit(tile + slot, gained, sum);
            if (lane_id() == slot) newly_visited = gained;
        }
        if (exists && !is_long) {
            store(next, mine, newly_visited);
#pragma unroll
            for (u32 j = 0; j < WORDS; ++j) known.word[j] |= newly_visited.word[j];
            if (newly_visited.any()) store(seen, mine, known);
        }
    }
    __syncwarp();
    state.finish();
}

// A warp takes a piece of a long row; `forward_long` adds them up.
extern "C" __global__ void forward_pieces(const i64* row_offsets, const VERTEX* columns, const VERTEX* piece_vertex,
                                          const i64* piece_begin, u64 pieces, u64 longest, const u32* live, const u32* seen,
                                          const u32* now, const double* paths, double* piece_sums, u32* piece_bits) {
    Bits alive = load(live, 0);
    for (u64 piece = global_thread() / WARP; piece < pieces; piece += global_threads() / WARP) {
        u64 v = piece_vertex[piece];
        i64 begin = piece_begin[piece], end = piece_end(row_offsets, v, begin, longest);
        Bits wanted = load(seen, v), gained = {};
        Sum sum = {};
#pragma unroll
        for (u32 j = 0; j < WORDS; ++j) wanted.word[j] = alive.word[j] & ~wanted.word[j];
        if (wanted.any()) gather(columns, begin, end, now, paths, wanted, sum, gained, nullptr, sum);
#pragma unroll
        for (u32 j = 0; j < WORDS; ++j) piece_sums[place(piece, j)] = sum.of[j];
        if (lane_id() == 0) store(piece_bits, piece, gained);
    }
}

extern "C" __global__ void forward_long(const VERTEX* long_rows, const i64* first_piece, u64 count, const double* piece_sums,
                                        const u32* piece_bits, u32* seen, u32* next, u16* level, double* paths, u32* found,
                                        u32 depth) {
    Forward state{level, paths, found, depth};
    for (u64 i = global_thread() / WARP; i < count; i += global_threads() / WARP) {
        u64 v = long_rows[i];
        Sum sum = {};
        Bits gained = {};
        add_pieces(first_piece[i], first_piece[i + 1], piece_sums, piece_bits, sum, gained);
        state.commit(v, gained, sum);
        Bits known = load(seen, v);
#pragma unroll
        for (u32 j = 0; j < WORDS; ++j) known.word[j] |= gained.word[j];
        __syncwarp();
        if (lane_id() == 0) {
            store(next, v, gained);
            store(seen, v, known);
        }
    }
    state.finish();
}

__device__ __forceinline__ Sum own_paths(const double* paths, u64 v, const Bits& here) {
    Sum own = {};
#pragma unroll
    for (u32 j = 0; j < WORDS; ++j)
        if (here.mine(j)) own.of[j] = paths[place(v, j)];
    return own;
}

// Turns the sum over the level below into the share of a vertex, and adds what it got to the sums of vertices.
__device__ __forceinline__ void share_out(u64 v, u32 depth, u32 endpoints, const Bits& here, const Sum& own, const Sum& sum,
                                          double* share, double* sums) {
    double part = 0;
#pragma unroll
    for (u32 j = 0; j < WORDS; ++j) {
        if (!here.mine(j)) continue;
        share[place(v, j)] = 1 / own.of[j] + sum.of[j];
        part += own.of[j] * sum.of[j] + (endpoints ? 1.0 : 0.0);
    }
    if (ARCS || depth == 0) return;
    part = warp_sum(part);
    if (lane_id() == 0) sums[v] += part;
}

// A warp takes 32 vertices in turn. `below` are the vertices of the next level, `here` receives those of this one.
extern "C" __global__ void backward(const i64* row_offsets, const VERTEX* columns, u64 vertices, u64 longest, const u32* below,
                                    u32* here, const u16* level, const double* paths, double* share, double* sums, u32 depth,
                                    u32 endpoints) {
    for (u64 tile = global_thread() / WARP * WARP; tile < vertices; tile += global_threads()) {
        u64 mine = tile + lane_id();
        Bits own_bits = {};
        u32 count = vertices - tile < WARP ? u32(vertices - tile) : WARP;
#pragma unroll 4
        for (u32 slot = 0; slot < count; ++slot) {
            Bits bits = at_level(level, tile + slot, depth);
            if (lane_id() == slot) own_bits = bits;
        }
        i64 begin = mine < vertices ? row_offsets[mine] : 0, end = mine < vertices ? row_offsets[mine + 1] : 0;
        if (mine < vertices) store(here, mine, own_bits);
        u32 left = __ballot_sync(ALL_LANES, own_bits.any() && end - begin <= i64(longest));
        while (left) {
            u32 slot = take_lowest(left);
            u64 v = tile + slot;
            i64 from = __shfl_sync(ALL_LANES, begin, slot), to = __shfl_sync(ALL_LANES, end, slot);
            Bits wanted = of_lane(own_bits, slot), gained = {};
            Sum sum = {}, own = own_paths(paths, v, wanted);
            gather(columns, from, to, below, share, wanted, sum, gained, sums, own);
            share_out(v, depth, endpoints, wanted, own, sum, share, sums);
        }
    }
}

// A warp takes a piece of a long row, after `backward`; `backward_long` adds them up.
extern "C" __global__ void backward_pieces(const i64* row_offsets, const VERTEX* columns, const VERTEX* piece_vertex,
                                           const i64* piece_begin, u64 pieces, u64 longest, const u32* below, const u32* here,
                                           const double* paths, const double* share, double* sums, double* piece_sums,
                                           u32* piece_bits) {
    for (u64 piece = global_thread() / WARP; piece < pieces; piece += global_threads() / WARP) {
        u64 v = piece_vertex[piece];
        Bits wanted = load(here, v), gained = {};
        Sum sum = {};
        if (wanted.any()) {
            i64 begin = piece_begin[piece], end = piece_end(row_offsets, v, begin, longest);
            gather(columns, begin, end, below, share, wanted, sum, gained, sums, own_paths(paths, v, wanted));
        }
#pragma unroll
        for (u32 j = 0; j < WORDS; ++j) piece_sums[place(piece, j)] = sum.of[j];
        if (lane_id() == 0) store(piece_bits, piece, gained);
    }
}

extern "C" __global__ void backward_long(const VERTEX* long_rows, const i64* first_piece, u64 count, const double* piece_sums,
                                         const u32* piece_bits, const u32* here, const double* paths, double* share,
                                         double* sums, u32 depth, u32 endpoints) {
    for (u64 i = global_thread() / WARP; i < count; i += global_threads() / WARP) {
        u64 v = long_rows[i];
        Bits wanted = load(here, v), gained = {};
        if (!wanted.any()) continue;
        Sum sum = {};
        add_pieces(first_piece[i], first_piece[i + 1], piece_sums, piece_bits, sum, gained);
        share_out(v, depth, endpoints, wanted, own_paths(paths, v, wanted), sum, share, sums);
    }
}

// Puts the sources on level 0; the bits are zero and the levels NONE before. One block.
extern "C" __global__ void start(const i64* sources, u32 count, u32* seen, u32* now, u16* level, double* paths) {
    for (u32 s = threadIdx.x; s < count; s += blockDim.x) {
        u64 v = u64(sources[s]), at = (v * WORDS + s / WARP) * WARP + s % WARP;
        atomicOr(&seen[v * WORDS + s / WARP], 1u << s % WARP);
        atomicOr(&now[v * WORDS + s / WARP], 1u << s % WARP);
        level[at] = 0;
        paths[at] = 1;
    }
}

// Counts the vertices that each source has reached; `reached` is zero before.
extern "C" __global__ void count_reached(const u32* seen, u64 vertices, u64* reached) {
    u64 own[WORDS] = {};
    for (u64 v = global_thread() / WARP; v < vertices; v += global_threads() / WARP) {
        Bits bits = load(seen, v);
#pragma unroll
        for (u32 j = 0; j < WORDS; ++j) own[j] += bits.mine(j);
    }
#pragma unroll
    for (u32 j = 0; j < WORDS; ++j)
        if (own[j]) atomicAdd(&reached[j * WARP + lane_id()], own[j]);
}

// Adds to each source the paths that begin there, in the order of the sources. One thread.
extern "C" __global__ void add_begins(const i64* sources, u32 count, const u64* reached, double* sums) {
    for (u32 s = 0; s < count; ++s) sums[sources[s]] += double(reached[s] - 1);
}
