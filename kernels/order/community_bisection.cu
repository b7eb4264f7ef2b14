// Recursive bisection of a numbering, with the results of kernels/order/community_bisection.py.
//
// Contract: columns VERTEX (arcs) hold numbers as of the level's start. A piece is a list of 2 to PIECE of
// them, columns[starts[p]] and the lengths[p] - 1 after it, grouped by their range, number >> level. A warp takes
// a piece. upper_half is a bitmap: bit v tells whether v is in its range's upper half. place VERTEX (vertices) is
// where v is now. Any block of up to 128 threads that is a multiple of 32.
// Paper: Dhulipala et al., Compressing Graphs and Indexes with Recursive Graph Bisection, KDD 2016, section 4.
//
// variants VERTEX: u32 u64

#include "kernels/cuda/types.cuh"

constexpr u32 PIECE = 1024;
constexpr u32 WARPS = 4;

// Pieces of each row, none of a row or a rest with one neighbour.
extern "C" __global__ void count_pieces(const i64* row_offsets, u64 vertices, i64* counts) {
    for (u64 v = global_thread(); v < vertices; v += global_threads()) {
        i64 length = row_offsets[v + 1] - row_offsets[v];
        counts[v] = length / PIECE + (length % PIECE > 1);
    }
}

extern "C" __global__ void list_pieces(const i64* row_offsets, u64 vertices, const i64* places, i64* starts,
                                       u32* lengths) {
    for (u64 v = global_thread(); v < vertices; v += global_threads()) {
        i64 start = row_offsets[v], end = row_offsets[v + 1];
        for (i64 place = places[v]; place < places[v + 1]; place++, start += PIECE) {
            starts[place] = start;
            lengths[place] = u32(min(i64(PIECE), end - start));
        }
    }
}

// place[v] = v, and the bitmap for a level.
extern "C" __global__ void begin_level(u64 vertices, u32 level, VERTEX* place, u32* upper_half) {
    u64 rounded = (vertices + WARP - 1) / WARP * WARP;
    for (u64 v = global_thread(); v < rounded; v += global_threads()) {
        if (v < vertices) place[v] = VERTEX(v);
        u32 word = __ballot_sync(ALL_LANES, v >> (level - 1) & 1);
        if (lane_id() == 0) upper_half[v / WARP] = word;
    }
}

// What 32 neighbours of a piece look like from one lane. A run is a range's neighbours that lie together.
struct Window {
    u64 vertex;
    bool inside, side;
    u32 heads;  // lanes where a run starts
    u32 upper;  // lanes in upper halves
    u32 lanes;  // lanes with a neighbour
    u32 mine;   // lanes of this lane's run in this window
    bool leads; // the first of them
};

__device__ __forceinline__ Window look(const VERTEX* columns, const u32* upper_half, u32 level, u32 first, u32 length,
                                       u64 before) {
    Window window;
    u32 i = first + lane_id();
    window.inside = i < length;
    window.vertex = window.inside ? columns[i] : 0;
    u64 range = window.vertex >> level;
    u64 left = __shfl_up_sync(ALL_LANES, range, 1);
    if (lane_id() == 0) left = before;
    window.side = window.inside && (upper_half[window.vertex / WARP] >> (window.vertex % WARP) & 1);
    window.lanes = __ballot_sync(ALL_LANES, window.inside);
    window.heads = __ballot_sync(ALL_LANES, window.inside && range != left);
    window.upper = __ballot_sync(ALL_LANES, window.side);
    u32 up_to_me = lanes_below() | 1u << lane_id();
    u32 start = window.heads & up_to_me ? 31 - __clz(window.heads & up_to_me) : 0;
    u32 later = window.heads & ~up_to_me;
    u32 before_end = later ? (1u << (__ffs(later) - 1)) - 1 : ALL_LANES;
    window.mine = window.lanes & before_end & ~((1u << start) - 1);
    window.leads = window.inside && lane_id() == start;
    return window;
}

__device__ __forceinline__ u64 last_range(const Window& window, u32 level) {
    return __shfl_sync(ALL_LANES, window.vertex, WARP - 1) >> level;
}

// counts[run] = neighbours << 16 | those in the upper half, of every run of a piece.
__device__ __forceinline__ void count_runs(const VERTEX* columns, const u32* upper_half, u32 level, u32 length,
                                           u32* counts) {
    u32 runs = 0;
    u64 before = ~0ull;
    for (u32 first = 0; first < length; first += WARP) {
        Window window = look(columns, upper_half, level, first, length, before);
        u32 starts = __popc(window.heads & (lanes_below() | 1u << lane_id()));
        if (window.leads) {
            u32 count = __popc(window.mine) << 16 | __popc(window.mine & window.upper);
            if (starts) counts[runs + starts - 1] = count;
            else counts[runs - 1] += count;
        }
        runs += __popc(window.heads);
        before = last_range(window, level);
        __syncwarp();
    }
}

__device__ __forceinline__ void add_gain(const Window& window, u32 count, const i32* table, u64* gain) {
    i32 total = i32(count >> 16), right = i32(count & 0xffff), left = total - right;
    if (!window.inside || total < 2) return;
    i32 saved = window.side ? table[left] - table[max(right - 1, 0)] : table[right] - table[max(left - 1, 0)];
    if (saved) atomicAdd(&gain[window.vertex], u64(i64(saved)));
}

// gain[v] += what every list that holds v would save if v changed halves.
extern "C" __global__ void add_gains(const i64* starts, const u32* lengths, u64 pieces, const VERTEX* columns,
                                     const u32* upper_half, u32 level, const i32* table, u64* gain) {
    __shared__ u32 of_warps[WARPS][PIECE];
    u32* counts = of_warps[warp_id()];
    for (u64 piece = global_thread() / WARP; piece < pieces; piece += global_threads() / WARP) {
        const VERTEX* list = columns + starts[piece];
        u32 length = lengths[piece];
        if (length <= WARP) {
            Window window = look(list, upper_half, level, 0, length, ~0ull);
            add_gain(window, __popc(window.mine) << 16 | __popc(window.mine & window.upper), table, gain);
            continue;
        }
        count_runs(list, upper_half, level, length, counts);
        u32 runs = 0;
        u64 before = ~0ull;
        for (u32 first = 0; first < length; first += WARP) {
            Window window = look(list, upper_half, level, first, length, before);
            u32 run = runs + __popc(window.heads & (lanes_below() | 1u << lane_id())) - 1;
            add_gain(window, window.inside ? counts[run] : 0, table, gain);
            runs += __popc(window.heads);
            before = last_range(window, level);
        }
        __syncwarp();
    }
}

// Ascending keys are ascending ranges and halves, falling gains, ascending vertices. Gains become zero.
extern "C" __global__ void exchange_keys(u64 vertices, u32 level, u32 width, const u32* upper_half, i64* gain, u64* keys) {
    i64 most = (1ll << (width - 1)) - 1;
    for (u64 v = global_thread(); v < vertices; v += global_threads()) {
        u64 half = v >> level << 1 | (upper_half[v / WARP] >> (v % WARP) & 1);
        u64 fallen = u64(most - min(max(gain[v], -most), most));
        keys[v] = half << (width + level) | fallen << level | (v & ((1ull << level) - 1));
        gain[v] = 0;
    }
}

// Exchange the vertex of the i-th gain in each lower half with that of its upper half, while both save.
extern "C" __global__ void exchange(const u64* keys, u64 vertices, u32 level, u32 width, VERTEX* place, u32* upper_half) {
    u64 half = 1ull << (level - 1), most = (1ull << (width - 1)) - 1;
    u64 low_bits = (1ull << level) - 1, gain_bits = (1ull << width) - 1;
    for (u64 i = global_thread(); i < vertices; i += global_threads()) {
        if (i & half || i + half >= vertices) continue;
        u64 left = keys[i], right = keys[i + half];
        if ((left >> level & gain_bits) + (right >> level & gain_bits) >= 2 * most) continue;
        u64 part = i & ~low_bits, one = part + (left & low_bits), other = part + (right & low_bits);
        VERTEX moved = place[one];
        place[one] = place[other];
        place[other] = moved;
        atomicXor(&upper_half[one / WARP], 1u << (one % WARP));
        atomicXor(&upper_half[other / WARP], 1u << (other % WARP));
    }
}

// Renumber the pieces by `place`, and group each range's neighbours by half.
extern "C" __global__ void split(const i64* starts, const u32* lengths, u64 pieces, VERTEX* columns, const u32* upper_half,
                                 u32 level, const VERTEX* place) {
    __shared__ u32 counts_of_warps[WARPS][PIECE];
    __shared__ VERTEX of_warps[WARPS][PIECE];
    u32* counts = counts_of_warps[warp_id()];
    VERTEX* moved = of_warps[warp_id()];
    for (u64 piece = global_thread() / WARP; piece < pieces; piece += global_threads() / WARP) {
        VERTEX* list = columns + starts[piece];
        u32 length = lengths[piece];
        count_runs(list, upper_half, level, length, counts);
        // The run that goes on from the window before: where it starts, and what of it was seen in each half.
        u32 runs = 0, start = 0, lower_seen = 0, upper_seen = 0;
        u64 before = ~0ull;
        for (u32 first = 0; first < length; first += WARP) {
            Window window = look(list, upper_half, level, first, length, before);
            u32 starting = __popc(window.heads & (lanes_below() | 1u << lane_id()));
            u32 leader = __ffs(window.mine) - 1;
            if (window.inside) {
                u32 count = counts[runs + starting - 1];
                u32 base = starting ? first + leader : start;
                u32 below = window.mine & lanes_below();
                u32 to = base;
                if (window.side)
                    to += (count >> 16) - (count & 0xffff) + __popc(below & window.upper) + (starting ? 0 : upper_seen);
                else
                    to += __popc(below & ~window.upper) + (starting ? 0 : lower_seen);
                moved[to] = place[window.vertex];
            }
            u32 last = window.heads ? 31 - __clz(window.heads) : 0;
            u32 tail = window.lanes & ~((1u << last) - 1);
            if (window.heads) start = first + last, lower_seen = upper_seen = 0;
            lower_seen += __popc(tail & ~window.upper);
            upper_seen += __popc(tail & window.upper);
            runs += __popc(window.heads);
            before = last_range(window, level);
        }
        __syncwarp();
        for (u32 i = lane_id(); i < length; i += WARP) list[i] = moved[i];
        __syncwarp();
    }
}
