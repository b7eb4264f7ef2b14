// Delta-stepping over symmetric rows that ascend by classes of weights: light arcs in buckets, then pulls to the end.
// The CPU twins are kernels/sssp/cpu/by_weight.py, light_heavy.py and pull.py, which give the sources.
//
// A bucket relaxes the arcs that lead to it or nearer, which begin each row; where it ends is found by bisection. What
// leads farther is not relaxed: the next bucket goes through all expanded vertices again, up to its own end. Once expanded
// vertices have `pull_from` arcs, each vertex that is left reads its row up to the first arc that is too long, in passes
// until no word changes.
//
// Contract: row_offsets i64 (vertices + 1); columns VERTEX, keys u32 and weights WEIGHT (arcs), of which `mask` leaves the
// bits of the class. words WORD (vertices) all `unreached`, marks and is_expanded u32 (vertices) all 0, queues VERTEX
// (3 * vertices), state u64 (STATE) all 0. Block: a multiple of 32, at most 1024; of `order_rows` ORDERING threads, of
// `nearer` NEARER. Grid of light_and_pull: no more blocks than run at the same time.
//
// variants VERTEX: u32 u64
// variants WORD: u32 u64
// variants WEIGHT: u32 float

#include "kernels/sssp/cuda/arcs.cuh"

using TREE = VERTEX;

constexpr u32 CLASSES = 256, ORDERING = 256, NEARER = 256;

// Places in `state`. FRONT is 0 or 1: which half of the queues is the frontier; of a RESCAN all expanded ones are.
enum { NEAR, FRONT = 2, EXPANDED, ARCS, NEXT, ROUND, END, MODE, ARRIVALS, CHANGED };
constexpr u64 STATE = 24;

enum { DONE, ROUNDS, RESCAN, PULL };

__device__ __forceinline__ u32 least_of_class(u32 weight, u32 mask) { return weight & mask; }
__device__ __forceinline__ float least_of_class(float weight, u32 mask) {
    return __uint_as_float(__float_as_uint(weight) & mask);
}

__device__ __forceinline__ u32 class_of(u32 key, u32 base, u32 shift) {
    const u32 leading = key >> shift;
    return leading < base ? 0 : leading - base + 1;
}

// The least key above 0 and the largest of all, into found[0], all ones before, and found[1], 0.
extern "C" __global__ void least_and_most(const u32* keys, u64 arcs, u32* found) {
    u32 least = ~0u, most = 0;
    for (u64 k = global_thread(); k < arcs; k += global_threads()) {
        const u32 key = keys[k];
        if (key && key < least) least = key;
        if (key > most) most = key;
    }
    if (least < now(&found[0])) atomicMin(&found[0], least);
    if (most > now(&found[1])) atomicMax(&found[1], most);
}

// A warp orders a row after the other by counting classes.
extern "C" __global__ void order_rows(const i64* row_offsets, const VERTEX* columns, const u32* keys, u64 vertices,
                                      u32 base, u32 shift, VERTEX* ordered_columns, u32* ordered) {
    __shared__ u32 counters[ORDERING / WARP][CLASSES];
    u32* counts = counters[warp_id()];
    const u64 warps = global_threads() / WARP;
    for (u64 u = global_thread() / WARP; u < vertices; u += warps) {
        const i64 begin = row_offsets[u], end = row_offsets[u + 1];
        if (begin == end) continue;
        for (u32 each = lane_id(); each < CLASSES; each += WARP) counts[each] = 0;
        __syncwarp();
        for (i64 k = begin + lane_id(); k < end; k += WARP) atomicAdd(&counts[class_of(keys[k], base, shift)], 1u);
        __syncwarp();
        u32 before = 0;
        for (u32 first = 0; first < CLASSES; first += WARP) {
            const u32 count = counts[first + lane_id()];
            u32 upto = count;
            for (u32 step = 1; step < WARP; step *= 2) {
                const u32 lower = __shfl_up_sync(ALL_LANES, upto, step);
                if (lane_id() >= step) upto += lower;
            }
            counts[first + lane_id()] = before + upto - count;
            before += __shfl_sync(ALL_LANES, upto, WARP - 1);
        }
        __syncwarp();
        for (i64 k = begin + lane_id(); k < end; k += WARP) {
            const i64 at = begin + atomicAdd(&counts[class_of(keys[k], base, shift)], 1u);
            ordered_columns[at] = columns[k];
            ordered[at] = keys[k];
        }
        __syncwarp();
    }
}

struct Search {
    const i64* row_offsets;
    const VERTEX* columns;
    const WEIGHT* weights;
    u32 mask;
    u64 vertices;
    WORD unreached;
    WORD* words;
    u32* marks;
    u32* is_expanded;
    VERTEX* queues;
    u64* state;

    __device__ __forceinline__ VERTEX* front(u64 side) const { return queues + side * vertices; }
    __device__ __forceinline__ VERTEX* expanded() const { return queues + 2 * vertices; }
    __device__ __forceinline__ WORD least(WORD word, i64 arc) const {
        return lengthened(word, least_of_class(weights[arc], mask));
    }
};

__device__ __forceinline__ void lower(u64* smallest, WORD seen) {
    for (u32 apart = WARP / 2; apart; apart /= 2) {
        const WORD other = __shfl_xor_sync(ALL_LANES, seen, apart);
        if (other < seen) seen = other;
    }
    if (lane_id() == 0 && u64(seen) < now(smallest)) atomicMin(smallest, u64(seen));
}

// One round of the grid: relaxes the arcs of the frontier that lead to the bucket or nearer, and notes how far the nearest
// of the others leads at least.
__device__ __forceinline__ void light_round(const Search& s, const Group& grid, WEIGHT width, u64 pull_from) {
    u64* state = s.state;
    const bool again = now(&state[MODE]) == RESCAN;
    const u64 side = now(&state[FRONT]), size = now(&state[again ? EXPANDED : NEAR + side]);
    const VERTEX* frontier = again ? s.expanded() : s.front(side);
    VERTEX* next = s.front(side ^ 1);
    const WORD limit = WORD(now(&state[END]));
    const u32 stamp = u32(now(&state[ROUND])) + 1;
    WORD nearest = ~WORD(0);
    const u64 warps = grid.count / WARP;
    for (u64 base = 0; base < size; base += grid.count) {
        const u64 i = size - base < grid.count ? base + lane_id() * warps + grid.first / WARP : base + grid.first;
        const bool live = i < size;
        const VERTEX u = live ? now(&frontier[i]) : 0;
        const WORD word = live ? now(&s.words[u]) : 0;
        i64 at = live ? s.row_offsets[u] : 0, end = live ? s.row_offsets[u64(u) + 1] : 0, low = at, high = end;
        if (live && !s.is_expanded[u] && !atomicExch(&s.is_expanded[u], 1u)) {
            s.expanded()[place_behind(&state[EXPANDED])] = u;
            atomicAdd(&state[ARCS], u64(end - at));
        }
        while (low < high) {
            const i64 middle = low + (high - low) / 2;
            if (s.least(word, middle) < limit) low = middle + 1;
            else high = middle;
        }
        if (low < end) {
            const WORD beyond = s.least(word, low);
            if (beyond < nearest) nearest = beyond;
        }
        __syncwarp();
        arcs_of_warp(u, at, low, [&](VERTEX row, i64 first, i64 stride, i64 last) {
            VERTEX v[FOUR];
            WORD longer[FOUR];
            bool open[FOUR];
            load_four(s.columns, s.weights, now(&s.words[row]), first, stride, last, v, longer, open);
#pragma unroll
            for (i64 k = 0; k < FOUR; ++k) {
                if (open[k] && longer[k] >= limit) {
                    if (longer[k] < nearest) nearest = longer[k];
                    open[k] = false;
                }
                open[k] = open[k] && longer[k] < now(&s.words[v[k]]);
            }
#pragma unroll
            for (i64 k = 0; k < FOUR; ++k)
                if (open[k] && longer[k] < atomicMin(&s.words[v[k]], longer[k]) && now(&s.marks[v[k]]) != stamp &&
                    atomicExch(&s.marks[v[k]], stamp) != stamp)
                    next[place_behind(&state[NEAR + (side ^ 1)])] = v[k];
        });
    }
    __syncwarp();
    lower(&state[NEXT], nearest);
    grid.meet();
    if (grid.leads()) {
        state[NEAR + side] = 0;
        state[FRONT] = side ^ 1;
        state[ROUND] = stamp;
        const u64 beyond = now(&state[NEXT]);
        if (now(&state[NEAR + (side ^ 1)])) {
            state[MODE] = ROUNDS;
        } else if (now(&state[ARCS]) >= pull_from) {
            state[MODE] = PULL;
        } else if (beyond == ~0ull || WORD(beyond) == ~WORD(0)) {
            state[MODE] = DONE;
        } else {
            const WORD begin = WORD(beyond) > limit ? WORD(beyond) : limit, farther = lengthened(begin, width);
            state[END] = farther > begin ? farther : begin + 1;
            state[NEXT] = ~0ull;
            state[MODE] = RESCAN;
        }
    }
    grid.meet();
}

// What a lane reads of arcs first, first + stride and so on below end, FOUR at most: the least of `value` and of what
// look(own, value, word, v, weight) makes of them. `ended` says that an arc was too long, as all behind it are.
template <class Value, class TooLong, class Look>
__device__ __forceinline__ Value least_of_four(const Search& s, i64 first, i64 stride, i64 end, WORD own, Value value,
                                               bool& ended, TooLong too_long, Look look) {
    VERTEX v[FOUR];
    WEIGHT weight[FOUR];
    WORD word[FOUR];
    bool open[FOUR];
#pragma unroll
    for (i64 k = 0; k < FOUR; ++k) {
        open[k] = first + k * stride < end;
        if (!open[k]) continue;
        v[k] = s.columns[first + k * stride];
        weight[k] = s.weights[first + k * stride];
    }
#pragma unroll
    for (i64 k = 0; k < FOUR; ++k) {
        if (!open[k]) continue;
        if (too_long(own, value, least_of_class(weight[k], s.mask))) {
            open[k] = false;
            ended = true;
        } else {
            word[k] = now(&s.words[v[k]]);
        }
    }
#pragma unroll
    for (i64 k = 0; k < FOUR; ++k) {
        if (!open[k]) continue;
        const Value found = look(own, value, word[k], v[k], weight[k]);
        if (found < value) value = found;
    }
    return value;
}

// The same of each lane's row from `at` on, up to the first arc that is too long: up to ALONE arcs by the lane, the rest
// by its warp.
template <class Value, class TooLong, class Look>
__device__ __forceinline__ Value least_of_row(const Search& s, i64 at, i64 end, WORD own, Value value, TooLong too_long,
                                              Look look) {
    const i64 stop = end - at < ALONE ? end : at + ALONE;
    bool ended = false;
    for (; at < stop && !ended; at += FOUR) value = least_of_four(s, at, i64(1), stop, own, value, ended, too_long, look);
    __syncwarp();
    u32 left = __ballot_sync(ALL_LANES, !ended && stop < end);
    while (left) {
        const u32 from = take_lowest(left);
        const i64 last = __shfl_sync(ALL_LANES, end, from);
        const WORD whose = __shfl_sync(ALL_LANES, own, from);
        Value least = __shfl_sync(ALL_LANES, value, from);
        bool over = false;
        for (i64 first = __shfl_sync(ALL_LANES, stop, from); first < last && !over; first += FOUR * WARP) {
            bool mine = false;
            least = least_of_four(s, first + lane_id(), i64(WARP), last, whose, least, mine, too_long, look);
            over = __any_sync(ALL_LANES, mine);
            for (u32 apart = WARP / 2; apart; apart /= 2) {
                const Value other = __shfl_xor_sync(ALL_LANES, least, apart);
                if (other < least) least = other;
            }
        }
        if (lane_id() == from) value = least;
    }
    return value;
}

// A pass of pulls of a vertex in each lane that is live: of arcs of any length where `from_expanded`, else of those along
// which others that are left may be nearer.
__device__ __forceinline__ bool pull(const Search& s, WORD end, u64 v, bool live, bool from_expanded) {
    const i64 first = live ? s.row_offsets[v] : 0, last = live ? s.row_offsets[v + 1] : 0;
    const WORD before = live ? now(&s.words[v]) : 0, begin = from_expanded ? 0 : end;
    const WORD best = least_of_row(
        s, first, last, before, before,
        [&](WORD, WORD nearest, WEIGHT least) { return lengthened(begin, least) >= nearest; },
        [&](WORD, WORD nearest, WORD word, VERTEX, WEIGHT weight) {
            return word == s.unreached ? nearest : lengthened(word, weight);
        });
    if (!live) return false;
    if (best < before) *reinterpret_cast<volatile WORD*>(&s.words[v]) = best;
    s.marks[v] = s.least(end, first) < best;
    return best < before;
}

__device__ __forceinline__ void pulls(const Search& s, const Group& grid) {
    const WORD end = WORD(now(&s.state[END]));
    for (u64 base = 0; base < s.vertices; base += grid.count) {
        const u64 v = base + grid.first;
        if (v < s.vertices) s.marks[v] = 0;
        const bool live = v < s.vertices && now(&s.words[v]) >= end && s.row_offsets[v] < s.row_offsets[v + 1];
        if (__any_sync(ALL_LANES, live)) pull(s, end, v, live, true);
    }
    grid.meet();
    for (u64 passes = 1;; ++passes) {
        bool changed = false;
        for (u64 base = 0; base < s.vertices; base += grid.count) {
            const u64 v = base + grid.first;
            const bool live = v < s.vertices && s.marks[v];
            if (__any_sync(ALL_LANES, live)) changed |= pull(s, end, v, live, false);
        }
        if (changed) s.state[CHANGED + (passes & 1)] = passes;
        grid.meet();
        const bool any = now(&s.state[CHANGED + (passes & 1)]) == passes;
        grid.meet();
        if (any) continue;
        if (grid.leads()) {
            s.state[ROUND] += passes + 1;
            s.state[MODE] = DONE;
        }
        grid.meet();
        return;
    }
}

extern "C" __global__ void __launch_bounds__(1024, 1)
    light_and_pull(const i64* row_offsets, const VERTEX* columns, const WEIGHT* weights, u32 mask, u64 vertices,
                   u64 source, WORD unreached, WEIGHT width, u64 pull_from, WORD* words, u32* marks, u32* is_expanded,
                   VERTEX* queues, u64* state) {
    Search s{row_offsets, columns, weights, mask, vertices, unreached, words, marks, is_expanded, queues, state};
    Group grid{global_thread(), global_threads(), &state[ARRIVALS]};
    if (grid.leads()) {
        words[source] = 0;
        queues[0] = VERTEX(source);
        state[NEAR] = 1;
        state[NEXT] = ~0ull;
        state[END] = lengthened(WORD(0), width);
        state[MODE] = ROUNDS;
    }
    grid.meet();
    while (const u64 mode = now(&state[MODE])) {
        if (mode == PULL) pulls(s, grid);
        else light_round(s, grid, width, pull_from);
    }
}

// Predecessors that are strictly nearer, the smallest of each; all ones for a vertex that has none.
extern "C" __global__ void __launch_bounds__(NEARER)
    nearer(const i64* row_offsets, const VERTEX* columns, const WEIGHT* weights, u32 mask, u64 vertices, u64 source,
           WORD unreached, WORD* words, TREE* tree) {
    const Search s{row_offsets, columns, weights, mask, vertices, unreached, words, nullptr, nullptr, nullptr, nullptr};
    constexpr TREE NONE = ~TREE(0);
    const u64 first = global_thread(), stride = global_threads();
    for (u64 base = 0; base < vertices; base += stride) {
        const u64 v = base + first;
        const WORD here = v < vertices ? words[v] : unreached;
        const bool has = here != unreached && v != source;
        const TREE found = least_of_row(
            s, has ? row_offsets[v] : 0, has ? row_offsets[v + 1] : 0, here, NONE,
            [](WORD own, TREE, WEIGHT least) { return lengthened(WORD(0), least) > own; },
            [](WORD own, TREE, WORD word, VERTEX u, WEIGHT weight) {
                return word < own && lengthened(word, weight) == own ? TREE(u) : NONE;
            });
        if (v < vertices) tree[v] = found;
    }
}
