// What is wrong along the arcs of many searches' levels, in one pass over the rows. The rules are those of
// kernels/verify/arcs.py.
//
// The table has `words` words for each vertex with its labels in all searches of a batch: the level plus 1, or 0
// where the vertex was not reached. One gather of a neighbour's words so brings its labels in up to 64 searches.
// Lane q of a group of `words` lanes has the searches of word q; a warp examines 32 / words arcs at once.
//
// Contract: offsets of `rows` rows from vertex `first` on, and columns of their arcs, which begin at offsets[0].
// words is a power of two, 16 at most. Predecessors are those of all n vertices, searches one after another, of a
// `kind` (integers.cuh) or 0 for none, within -1 and n - 1 where they matter. n is below 2^31.
// counts[search * RULES + rule] gains the vertices that break a rule; `bits`, unless null, those of each vertex of
// search `wanted`. Any block that is a multiple of 32; grids stride.
//
// variants VERTEX: u32 u64
// variants LABEL: u8 u16 u32
typedef unsigned short u16;
#include "kernels/verify/cuda/counts.cuh"
#include "kernels/verify/cuda/integers.cuh"
#include "kernels/verify/cuda/long_rows.cuh"
#include "kernels/verify/cuda/rules.cuh"

constexpr u32 PER_WORD = 4 / sizeof(LABEL);
constexpr u32 LABEL_BITS = 8 * sizeof(LABEL);
constexpr u32 LABEL_MASK = 0xffffffffu >> (32 - LABEL_BITS);
constexpr u32 CHUNK = 4;  // searches whose distances come together
constexpr u32 TILE = 8;   // rows of which a warp reads the predecessors together
constexpr u32 AHEAD = 4;  // gathers that a lane has under way

constexpr u32 ORPHAN = 0xfffffffeu, NO_ARC = 0xffffffffu;  // neither is a vertex

enum Seen : u32 { JUMPS = 1, LEAVES = 2, FOUND = 4 };  // of a search, 8 bits each

__device__ __forceinline__ u32 label_at(u32 word, u32 place) { return word >> LABEL_BITS * place & LABEL_MASK; }

__device__ __forceinline__ u32 label_of(const u32* table, u32 words, u64 v, u32 search) {
    return label_at(table[v * words + search / PER_WORD], search % PER_WORD);
}

__device__ __forceinline__ u32 parent_at(const void* predecessor, u32 kind, u64 place) {
    const i64 parent = integer_at(predecessor, kind, place);
    return parent < 0 ? ORPHAN : u32(parent);
}

// Write the labels of CHUNK searches from `first` on into the table.
extern "C" __global__ void arrange(const void* distance, u32 kind, u64 n, u32 searches, u32 first, u32* table,
                                   u32 words) {
    for (u64 v = global_thread(); v < n; v += global_threads()) {
        for (u32 word = 0; word < CHUNK / PER_WORD && first / PER_WORD + word < words; word++) {
            u32 labels = 0;
            for (u32 i = 0; i < PER_WORD; i++) {
                const u32 search = word * PER_WORD + i;
                if (search >= searches) break;
                const i64 d = integer_at(distance, kind, search * n + v);
                // One that is out of range does not matter: the arcs of such a search are not reported.
                if (d >= 0 && d < i64(LABEL_MASK)) labels |= u32(d + 1) << LABEL_BITS * i;
            }
            table[v * words + first / PER_WORD + word] = labels;
        }
    }
}

// What a lane asks of the neighbours of a row: are their labels within low and low + span, and is one the target?
struct Expected {
    u32 low[PER_WORD], span[PER_WORD], target[PER_WORD];
};

__device__ __forceinline__ Expected expected_of(u32 mine, const u32* parents, bool symmetric) {
    Expected expected;
#pragma unroll
    for (u32 i = 0; i < PER_WORD; i++) {
        const u32 label = label_at(mine, i);
        expected.low[i] = symmetric && label > 1 ? label - 1 : 1;
        expected.span[i] = label + 1 - expected.low[i];
        expected.target[i] = parents ? parents[i] : label > 1 ? label - 1 : ORPHAN;
    }
    return expected;
}

__device__ __forceinline__ u32 seen_at(u32 other, u32 w, const Expected& expected, bool tree) {
    u32 seen = 0;
#pragma unroll
    for (u32 i = 0; i < PER_WORD; i++) {
        const u32 label = label_at(other, i);
        // 0, which is unreached, wraps around.
        if (label - expected.low[i] > expected.span[i]) seen |= (label ? JUMPS : LEAVES) << 8 * i;
        if ((tree ? w : label) == expected.target[i]) seen |= FOUND << 8 * i;
    }
    return seen;
}

// What is seen from a vertex along arcs from begin to end, in every lane of a search's word.
__device__ __forceinline__ u32 see(const VERTEX* columns, u64 begin, u64 end, const u32* table, u32 words, u32 mine,
                                   const Expected& expected, bool tree) {
    const u32 q = lane_id() & (words - 1), groups = WARP / words;
    u32 seen = 0;
    for (u64 arc = begin + lane_id() / words; arc < end; arc += AHEAD * groups) {
        u32 w[AHEAD], other[AHEAD];
#pragma unroll
        for (u32 i = 0; i < AHEAD; i++) w[i] = arc + i * groups < end ? u32(columns[arc + i * groups]) : NO_ARC;
        // Where there is no arc the vertex's own labels stand, with which nothing is wrong.
#pragma unroll
        for (u32 i = 0; i < AHEAD; i++) other[i] = w[i] == NO_ARC ? mine : table[u64(w[i]) * words + q];
#pragma unroll
        for (u32 i = 0; i < AHEAD; i++) seen |= seen_at(other[i], w[i], expected, tree);
    }
    for (u32 step = words; step < WARP; step *= 2) seen |= __shfl_xor_sync(ALL_LANES, seen, step);
    return seen;
}

// Count what a vertex breaks in the searches of a word.
__device__ __forceinline__ void judge(u64 v, u32 q, u32 mine, u32 seen, const Expected& expected, bool symmetric, bool tree,
                                      u64 deepest, u64* counts, u32 wanted, u8* bits) {
    for (u32 i = 0; i < PER_WORD; i++) {
        const u32 label = label_at(mine, i), flags = seen >> 8 * i;
        if (!label) continue;
        u32 broken = 0;
        if (flags & JUMPS) broken |= 1u << EDGE_LEVELS;
        if ((flags & LEAVES) && label - 1 < deepest) broken |= 1u << COMPONENT;
        if (symmetric && label > 1 && !(flags & FOUND)) {
            if (!tree) broken |= 1u << NEARER;
            else if (expected.target[i] != ORPHAN) broken |= 1u << TREE_ARCS;
        }
        if (!broken) continue;
        const u32 search = q * PER_WORD + i;
        for (u32 rule = EDGE_LEVELS; rule < RULES; rule++)
            if (broken >> rule & 1) atomicAdd(&counts[search * RULES + rule], 1ull);
        if (bits && search == wanted) bits[v] = u8(broken);
    }
}

// A warp for each TILE rows. Shared memory: for each warp TILE * (words * PER_WORD + 1) words.
extern "C" __global__ void __launch_bounds__(512, 2) check_rows(const i64* offsets, const VERTEX* columns, u64 first, u64 rows, const u32* table,
                                      u32 words, const void* predecessor, u32 kind, u64 n, u32 searches, u32 symmetric,
                                      u64 deepest, u64* counts, u32 wanted, u8* bits) {
    extern __shared__ u32 arena[];
    const u32 q = lane_id() & (words - 1), several = words * PER_WORD, stride = several + 1;
    const bool tree = kind != 0;
    const i64 base = offsets[0];
    u32* parents = arena + warp_id() * TILE * stride;
    for (u64 tile = global_thread() / WARP; tile * TILE < rows; tile += global_threads() / WARP) {
        const u64 top = tile * TILE;
        if (tree) {
            __syncwarp();
            for (u32 cell = lane_id(); cell < TILE * several; cell += WARP) {
                const u32 search = cell / TILE, row = cell % TILE;
                const bool there = search < searches && top + row < rows;
                const u64 place = search * n + first + top + row;
                parents[row * stride + search] = there ? parent_at(predecessor, kind, place) : ORPHAN;
            }
            __syncwarp();
        }
        for (u32 row = 0; row < TILE && top + row < rows; row++) {
            const u64 begin = offsets[top + row] - base, end = offsets[top + row + 1] - base, v = first + top + row;
            if (end - begin > LONG) continue;
            const u32 mine = table[v * words + q];
            if (!__any_sync(ALL_LANES, mine != 0)) continue;
            const u32* above = tree ? parents + row * stride + q * PER_WORD : nullptr;
            const Expected expected = expected_of(mine, above, symmetric);
            const u32 seen = see(columns, begin, end, table, words, mine, expected, tree);
            if (lane_id() < words)
                judge(v, q, mine, seen, expected, symmetric, tree, deepest, counts, wanted, bits);
        }
    }
}

__device__ __forceinline__ Expected expected_of_long(u32 mine, const void* predecessor, u32 kind, u64 n, u32 searches, u64 v,
                                               u32 q, bool symmetric) {
    u32 parents[PER_WORD];
    for (u32 i = 0; i < PER_WORD; i++) {
        const u32 search = q * PER_WORD + i;
        parents[i] = kind && search < searches ? parent_at(predecessor, kind, search * n + v) : ORPHAN;
    }
    return expected_of(mine, kind ? parents : nullptr, symmetric);
}

// A warp for each piece of a long row; seen[place * words + q] gains what is seen.
extern "C" __global__ void see_long_rows(const i64* offsets, const VERTEX* columns, u64 first, const Piece* pieces,
                                         u64 count, const u32* table, u32 words, const void* predecessor, u32 kind,
                                         u64 n, u32 searches, u32 symmetric, u32* seen) {
    const u32 q = lane_id() & (words - 1);
    for (u64 i = global_thread() / WARP; i < count; i += global_threads() / WARP) {
        const Piece piece = pieces[i];
        const u64 v = first + piece.row, base = offsets[0], last = offsets[piece.row + 1] - base;
        const u64 begin = offsets[piece.row] - base + u64(piece.number) * LONG;
        const u32 mine = table[v * words + q];
        const Expected expected = expected_of_long(mine, predecessor, kind, n, searches, v, q, symmetric);
        const u64 end = begin + LONG < last ? begin + LONG : last;
        const u32 here = see(columns, begin, end, table, words, mine, expected, kind != 0);
        if (lane_id() < words && here) atomicOr(&seen[u64(piece.place) * words + q], here);
    }
}

// A thread for each word of each long row, of which list[place] is one.
extern "C" __global__ void check_long_rows(const u32* list, u64 count, u64 first, const u32* table, u32 words,
                                           const void* predecessor, u32 kind, u64 n, u32 searches, u32 symmetric,
                                           u64 deepest, const u32* seen, u64* counts, u32 wanted, u8* bits) {
    for (u64 i = global_thread(); i < count * words; i += global_threads()) {
        const u64 v = first + list[i / words];
        const u32 q = u32(i % words), mine = table[v * words + q];
        const Expected expected = expected_of_long(mine, predecessor, kind, n, searches, v, q, symmetric);
        judge(v, q, mine, seen[i], expected, symmetric, kind != 0, deepest, counts, wanted, bits);
    }
}

// Directed graphs: look the predecessor's row up for each vertex, where it is one of these rows.
extern "C" __global__ void check_tree_arcs(const i64* offsets, const VERTEX* columns, u64 first, u64 rows,
                                           const u32* table, u32 words, const void* predecessor, u32 kind, u64 n,
                                           u32 searches, u32 sorted, u64* counts, u32 wanted, u8* bits) {
    for (u32 search = 0; search < searches; search++) {
        u32 missing = 0;
        for (u64 v = global_thread(); v < n; v += global_threads()) {
            if (label_of(table, words, v, search) < 2) continue;
            const u64 parent = parent_at(predecessor, kind, search * n + v), row = parent - first;
            if (parent == ORPHAN || parent < first || row >= rows) continue;
            u64 low = offsets[row] - offsets[0], high = offsets[row + 1] - offsets[0];
            const u64 end = high;
            if (sorted) {
                while (low < high) {
                    const u64 middle = (low + high) / 2;
                    if (columns[middle] < v) low = middle + 1;
                    else high = middle;
                }
            } else {
                while (low < end && columns[low] != v) low++;
            }
            if (low < end && columns[low] == v) continue;
            missing++;
            if (bits && search == wanted) bits[v] |= 1u << TREE_ARCS;
        }
        count(counts, search * RULES + TREE_ARCS, missing);
    }
}

// Directed graphs without predecessors: mark the heads of arcs that lead one level on, a byte for each search.
extern "C" __global__ void mark_nearer(const i64* offsets, const VERTEX* columns, u64 first, u64 rows, const u32* table,
                                       u32 words, u8* nearer) {
    const u32 q = lane_id() & (words - 1), groups = WARP / words;
    for (u64 row = global_thread() / WARP; row < rows; row += global_threads() / WARP) {
        const u32 mine = table[(first + row) * words + q];
        const u64 end = offsets[row + 1] - offsets[0];
        for (u64 arc = offsets[row] - offsets[0] + lane_id() / words; arc < end; arc += groups) {
            const u64 w = columns[arc];
            const u32 other = table[w * words + q];
            for (u32 i = 0; i < PER_WORD; i++)
                if (label_at(mine, i) && label_at(other, i) == label_at(mine, i) + 1)
                    nearer[(w * words + q) * PER_WORD + i] = 1;
        }
    }
}

extern "C" __global__ void check_nearer(const u32* table, u32 words, u64 n, u32 searches, const u8* nearer, u64* counts,
                                        u32 wanted, u8* bits) {
    for (u32 search = 0; search < searches; search++) {
        u32 missing = 0;
        for (u64 v = global_thread(); v < n; v += global_threads()) {
            if (label_of(table, words, v, search) < 2 || nearer[v * words * PER_WORD + search]) continue;
            missing++;
            if (bits && search == wanted) bits[v] |= 1u << NEARER;
        }
        count(counts, search * RULES + NEARER, missing);
    }
}
