// Bounds of eccentricities after a search, and the vertex to search next; the CPU twin is kernels/distances/bounds.py,
// which says what bounds do and gives the sources.
//
// Contract: row_offsets i64 (vertices + 1); distance i32 (vertices), -1 for unreached, or null; lower, upper and
// from_centre i64 (vertices), the last null for goals without a centre; flags u8 (vertices), BOUNDED and OPEN. state
// u64 (PLACES): FARTHEST to UNDECIDED start at 0 before `farthest`, but SHORTEST, which starts at all ones; BEST at 0 and
// CHOSEN at all ones before `most_arcs` or `best`. `begin` comes first. Each kernel needs what the one before it has
// written. Any block of whole warps.

#include "kernels/cuda/types.cuh"

// Places in `state`.
enum { FARTHEST, LONGEST, SHORTEST, BEFORE, NOW, BOUNDED_COUNT, UNDECIDED, BEST, CHOSEN };

enum { ALL, DIAMETER, PERIPHERY, RADIUS, CENTER };

constexpr u8 BOUNDED = 1, OPEN = 2;
constexpr i64 NEVER = 0x3FFFFFFFFFFFFFFF;  // gravel.kernels.distances.bounds.NEVER

__device__ __forceinline__ void raise(u64* place, u64 mine) {
    for (u32 apart = WARP / 2; apart; apart /= 2) {
        const u64 other = __shfl_xor_sync(ALL_LANES, mine, apart);
        if (other > mine) mine = other;
    }
    if (lane_id() == 0 && mine) atomicMax(place, mine);
}

__device__ __forceinline__ void lower_to(u64* place, u64 mine) {
    for (u32 apart = WARP / 2; apart; apart /= 2) {
        const u64 other = __shfl_xor_sync(ALL_LANES, mine, apart);
        if (other < mine) mine = other;
    }
    if (lane_id() == 0) atomicMin(place, mine);
}

__device__ __forceinline__ void add_to(u64* place, u64 mine) {
    mine = warp_sum(mine);
    if (lane_id() == 0 && mine) atomicAdd(place, mine);
}

// Before any search: nothing is known but of vertices without arcs. With `known` the bounds are there.
extern "C" __global__ void begin(const i64* row_offsets, u64 vertices, u8 known, i64* lower, i64* upper, i64* from_centre,
                                 u8* flags) {
    for (u64 v = global_thread(); v < vertices; v += global_threads()) {
        if (!known) {
            lower[v] = 0;
            upper[v] = row_offsets[v] < row_offsets[v + 1] ? NEVER : 0;
        }
        if (from_centre) from_centre[v] = NEVER;
        flags[v] = BOUNDED;
    }
}

extern "C" __global__ void farthest(const i32* distance, u64 vertices, u64* state) {
    u64 most = 0;
    for (u64 v = global_thread(); v < vertices; v += global_threads())
        if (distance[v] > 0 && u64(distance[v]) > most) most = u64(distance[v]);
    __syncwarp();
    raise(&state[FARTHEST], most);
}

// Takes in a search; without a distance only the extremes of all bounds are found.
extern "C" __global__ void tighten(const i32* distance, u64 vertices, i64* lower, i64* upper, u64* state) {
    const i64 found = i64(state[FARTHEST]);
    u64 longest = 0, shortest = ~0ull;
    for (u64 v = global_thread(); v < vertices; v += global_threads()) {
        i64 low = lower[v], high = upper[v];
        const i64 d = distance ? i64(distance[v]) : -1;
        if (d >= 0) {
            const i64 least = d > found - d ? d : found - d;
            if (least > low) lower[v] = low = least;
            if (d + found < high) upper[v] = high = d + found;
        }
        if (u64(low) > longest) longest = u64(low);
        if (u64(high) < shortest) shortest = u64(high);
    }
    __syncwarp();
    raise(&state[LONGEST], longest);
    lower_to(&state[SHORTEST], shortest);
}

// Counts the vertices that may end a longer path and are far from their centre, and those far from the searched vertex.
extern "C" __global__ void compare_centres(const i32* distance, u64 vertices, const i64* upper, const i64* from_centre,
                                           u64* state) {
    const i64 longest = i64(state[LONGEST]);
    u64 before = 0, now = 0;
    for (u64 v = global_thread(); v < vertices; v += global_threads()) {
        if (distance[v] < 0 || upper[v] <= longest) continue;
        before += from_centre[v] > longest / 2;
        now += distance[v] > longest / 2;
    }
    __syncwarp();
    add_to(&state[BEFORE], before);
    add_to(&state[NOW], now);
}

extern "C" __global__ void sieve(const i32* distance, u64 vertices, const i64* lower, const i64* upper, i64* from_centre,
                                 u8* flags, u32 goal, u64* state) {
    const i64 longest = i64(state[LONGEST]), shortest = i64(state[SHORTEST]);
    const bool is_centre = distance && from_centre && state[NOW] < state[BEFORE];
    u64 bounded = 0, undecided = 0;
    for (u64 v = global_thread(); v < vertices; v += global_threads()) {
        if (is_centre && distance[v] >= 0) from_centre[v] = distance[v];
        if (!(flags[v] & BOUNDED)) continue;
        const i64 low = lower[v], high = upper[v];
        bool open = low < high, kept = open;
        if (goal == DIAMETER) open = open && high > longest;
        if (goal == PERIPHERY) open = open && high >= longest;
        if (goal == RADIUS) open = open && low < shortest;
        if (goal == CENTER) open = open && low <= shortest;
        if (goal < RADIUS) kept = open;
        if (goal == DIAMETER) open = open && from_centre[v] > longest / 2;
        flags[v] = (kept ? BOUNDED : 0) | (open ? OPEN : 0);
        bounded += kept;
        undecided += open;
    }
    __syncwarp();
    add_to(&state[BOUNDED_COUNT], bounded);
    add_to(&state[UNDECIDED], undecided);
}

__device__ __forceinline__ u64 arcs_of(const i64* row_offsets, u64 v) {
    const u64 arcs = u64(row_offsets[v + 1] - row_offsets[v]);
    return arcs < 0xFFFFFFFE ? arcs : 0xFFFFFFFE;
}

// Above 0: a vertex of a component that was searched comes first, then one of the largest bound, or of the smallest,
// then one of most arcs.
__device__ __forceinline__ u64 worth(const i64* row_offsets, u64 v, i64 lower, i64 upper, bool largest) {
    const bool searched = upper < NEVER;
    const i64 bound = largest ? (searched ? upper : 0) : 0x7FFFFFFF - lower;
    return (u64(searched) << 63) | (u64(bound) << 32) | arcs_of(row_offsets, v);
}

// Two passes: with `best` null the largest worth of what has `flag` is found, else the first vertex of that worth.
extern "C" __global__ void best(const i64* row_offsets, u64 vertices, const i64* lower, const i64* upper, const u8* flags,
                                u8 flag, u8 largest, u8 pass, u64* state) {
    u64 most = 0, first = ~0ull;
    for (u64 v = global_thread(); v < vertices; v += global_threads()) {
        if (!(flags[v] & flag)) continue;
        const u64 mine = worth(row_offsets, v, lower[v], upper[v], largest) + 1;
        if (pass ? mine == state[BEST] && v < first : mine > most) (pass ? first : most) = pass ? v : mine;
    }
    __syncwarp();
    if (pass) lower_to(&state[CHOSEN], first);
    else raise(&state[BEST], most);
}

// The same of the vertices at a distance, and at another one of another search unless that is null: those of most arcs.
extern "C" __global__ void most_arcs(const i64* row_offsets, u64 vertices, const i32* distance, i32 at, const i32* other,
                                     i32 other_at, u8 pass, u64* state) {
    u64 most = 0, first = ~0ull;
    for (u64 v = global_thread(); v < vertices; v += global_threads()) {
        if (distance && distance[v] != at) continue;
        if (other && other[v] != other_at) continue;
        const u64 mine = arcs_of(row_offsets, v) + 1;
        if (pass ? mine == state[BEST] && v < first : mine > most) (pass ? first : most) = pass ? v : mine;
    }
    __syncwarp();
    if (pass) lower_to(&state[CHOSEN], first);
    else raise(&state[BEST], most);
}
