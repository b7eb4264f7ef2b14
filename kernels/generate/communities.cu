// Edges of a graph with nested communities, one thread each, bit for bit those of kernels/generate/communities.py.
//
// Contract: source[i], target[i] for i < count get edge first + i. `numbers`, `thresholds` and `starts` are what
// gravel.kernels.generate.communities.tables returns, `labels` what edge_constants returns for `bits`, the logarithm of
// the smallest power of two that holds all vertices. Integer operations only. Any block.
//
// variants VERTEX: u32 u64
#include "kernels/generate/label.cuh"

constexpr u32 BUNDLE = 8, HEADER = 8, PER_LEVEL = 5, DRAWS = 4;

struct Tables {
    const u64* __restrict__ numbers;
    const u64* __restrict__ thresholds;
    const u64* __restrict__ starts;

    __device__ __forceinline__ u64 share(u32 level) const { return numbers[HEADER + PER_LEVEL * level]; }
    __device__ __forceinline__ u64 shift(u32 level) const { return numbers[HEADER + PER_LEVEL * level + 1]; }
    __device__ __forceinline__ u64 hubs(u32 level) const { return numbers[HEADER + PER_LEVEL * level + 4]; }

    // A number with the chances of a level's bins.
    __device__ __forceinline__ u64 ranked(u64 counter, u32 level) const {
        u64 rest = mix(counter + 2 * STEP);
        u32 low = u32(numbers[HEADER + PER_LEVEL * level + 2]);
        u32 high = low + u32(numbers[HEADER + PER_LEVEL * level + 3]) - 1;
        while (low < high) {
            u32 middle = (low + high) / 2;
            if (rest < thresholds[middle]) high = middle;
            else low = middle + 1;
        }
        return starts[low] + __umul64hi(mix(counter + 3 * STEP), starts[low + 1] - starts[low]);
    }
};

// Mostly no division: few numbers exceed their bound.
__device__ __forceinline__ u64 wrapped(u64 value, u64 bound) { return value < bound ? value : value % bound; }

// The target of the edge `steps` after the one numbered `drawn_at`, which starts a run.
__device__ __forceinline__ u64 target_of(u64 vertex, u64 drawn_at, u64 steps, const Tables& tables) {
    const u64 vertices = tables.numbers[0];
    const u32 levels = u32(tables.numbers[6]);
    const u64 inner = tables.shift(0);
    const u64 counter = tables.numbers[4] + drawn_at * DRAWS * STEP;
    const u64 chance = mix(counter);
    u32 level = 0;
    while (level < levels - 1 && (chance & 0xffffffffull) >= tables.share(level)) level++;
    u64 begin = 0, own = 0, own_room = 0, room = 0;
    // A community that the end of the graph cuts may hold nothing else; then the next level is taken.
    for (u32 tried = 0; tried < levels; tried++) {
        const u64 shift = tables.shift(level);
        begin = vertex >> shift << shift;
        own = vertex;
        own_room = 1;
        if (level > 0) {
            const u64 below = tables.shift(level - 1);
            own = vertex >> below << below;
            own_room = min(vertices - own, 1ull << below);
        }
        room = min(vertices - begin, 1ull << shift) - own_room;
        if (room) break;
        level = level + 1 == levels ? 0 : level + 1;
    }
    if (level == 0) {
        const u64 found = wrapped(tables.ranked(counter, 0) + steps, room);
        return begin + found + (found >= own - begin);
    }
    const u64 below = tables.shift(level - 1);
    if (chance >> 32 < tables.hubs(level)) {
        // A run to hubs draws each of them: the pages after a hub are none.
        const u64 others = (room + (1ull << below) - 1) >> below;
        u64 found = wrapped(tables.ranked(counter + steps * DRAWS * STEP, level), others);
        found += found >= (own - begin) >> below;
        return begin + (found << below);
    }
    u64 found = __umul64hi(mix(counter + STEP), room);
    if (found >= own - begin) found += own_room;
    const u64 community = (begin + found) >> inner << inner;
    return community + wrapped(tables.ranked(counter, 0) + steps, min(vertices - community, 1ull << inner));
}

__device__ __forceinline__ u64 shuffled(u64 vertex, u64 vertices, i32 bits, const u64* __restrict__ labels) {
    if (labels[4] == 0) return vertex;
    do vertex = label(vertex, bits, labels);
    while (vertex >= vertices);
    return vertex;
}

extern "C" __global__ void community_edges(VERTEX* __restrict__ source, VERTEX* __restrict__ target, u64 first,
                                           u64 count, i32 bits, const u64* __restrict__ numbers,
                                           const u64* __restrict__ thresholds, const u64* __restrict__ starts,
                                           const u64* __restrict__ labels) {
    const Tables tables = {numbers, thresholds, starts};
    const u64 vertices = numbers[0], goes_on = numbers[5], inner = tables.shift(0);
    for (u64 i = global_thread(); i < count; i += global_threads()) {
        const u64 edge = first + i, bundle = edge / BUNDLE;
        u32 place = u32(edge % BUNDLE), steps = 0;
        // The source: the bundle's share of all numbers gives its innermost community, a draw the rest.
        const u64 begin = __umul64hi(bundle * numbers[1], vertices) >> inner << inner;
        const u64 vertex = begin + __umul64hi(mix(numbers[3] + bundle * STEP), min(vertices - begin, 1ull << inner));
        // The run: its first edge, at which its targets were drawn.
        const u64 runs = mix(numbers[2] + bundle * STEP);
        while (place > 0 && (runs >> (8 * place) & 0xff) < goes_on) place--, steps++;
        const u64 other = target_of(vertex, edge - steps, steps, tables);
        source[i] = VERTEX(shuffled(vertex, vertices, bits, labels));
        target[i] = VERTEX(shuffled(other, vertices, bits, labels));
    }
}
