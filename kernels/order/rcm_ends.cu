// What surrounds the levels of Cuthill-McKee's order: ranks by degree, components, the starts of searches (George,
// Liu, ACM TOMS 1979, for every component at once) and the places in the end.
//
// Contract. row_offsets i64 (vertices + 1). rank VERTEX (vertices), ascending by degree and then vertex, and its
// inverse by_rank. component VERTEX (vertices) counts components by their smallest vertices; first, start VERTEX
// (components): the smallest vertex, and how many vertices earlier components have. Labels of the search under way are
// base, base + 1, ...; level l of component c has the slot start[c] + l in counts. listed i64 has the components with
// arcs. Any block that is a multiple of 32.
//
// variants VERTEX: u32 u64

#include "kernels/order/rcm_arcs.cuh"

extern "C" __global__ void rank_keys(const i64* row_offsets, u64 vertices, u32 bits, u64* keys) {
    for (u64 v = global_thread(); v < vertices; v += global_threads())
        keys[v] = u64(row_offsets[v + 1] - row_offsets[v]) << bits | v;
}

extern "C" __global__ void ranks(const u64* keys, u64 vertices, u32 bits, VERTEX* rank, VERTEX* by_rank) {
    u64 mask = (1ull << bits) - 1;
    for (u64 i = global_thread(); i < vertices; i += global_threads()) {
        u64 v = keys[i] & mask;
        by_rank[i] = VERTEX(v);
        rank[v] = VERTEX(i);
    }
}

extern "C" __global__ void mark_smallest(const VERTEX* component, u64 vertices, VERTEX* counted) {
    for (u64 v = global_thread(); v < vertices; v += global_threads()) counted[v] = component[v] == v;
}

__device__ __forceinline__ void add_one(bool live, u64 slot, VERTEX* counts) {
    u32 same = __match_any_sync(ALL_LANES, live ? slot : ~0ull);
    if (live && !(same & lanes_below())) atomicAdd(&counts[slot], VERTEX(__popc(same)));
}

// `counted` sums up marks; components get their numbers in the place of their labels, and their sizes, which start
// at 0, are counted.
extern "C" __global__ void count_components(const i64* row_offsets, const VERTEX* counted, u64 vertices,
                                            VERTEX* component, VERTEX* first, VERTEX* sizes, u8* with_arcs) {
    for (u64 v0 = global_thread() - lane_id(); v0 < vertices; v0 += global_threads()) {
        u64 v = v0 + lane_id();
        u64 number = 0;
        if (v < vertices) {
            u64 smallest = component[v];
            number = counted[smallest] - 1;
            component[v] = VERTEX(number);
            if (smallest == v) {
                first[number] = VERTEX(v);
                with_arcs[number] = row_offsets[v + 1] > row_offsets[v];
            }
        }
        add_one(v < vertices, number, sizes);
    }
}

// The state of each component's search for its start, in one array: STATES arrays (components).
struct Starts {
    VERTEX* root;
    VERTEX* candidate;  // start of the last search
    VERTEX* depth;      // levels of the last but one, 0 before there is one
    VERTEX* largest;
    VERTEX* deepest;
    VERTEX* width;
    VERTEX* far;
    __device__ __forceinline__ Starts(VERTEX* at, u64 components)
        : root(at), candidate(at + components), depth(at + 2 * components), largest(at + 3 * components),
          deepest(at + 4 * components), width(at + 5 * components), far(at + 6 * components) {}
};

// How many vertices each level has, and the deepest level of each component.
extern "C" __global__ void count_levels(const VERTEX* label, u64 base, const VERTEX* component, const VERTEX* start,
                                        u64 vertices, VERTEX* counts, VERTEX* starts, u64 components) {
    VERTEX* deepest = Starts(starts, components).deepest;
    for (u64 v0 = global_thread() - lane_id(); v0 < vertices; v0 += global_threads()) {
        u64 v = v0 + lane_id();
        bool live = v < vertices && label[v] >= base;
        u64 number = live ? component[v] : 0;
        VERTEX level = live ? VERTEX(label[v] - base) : 0;
        add_one(live, start[number] + level, counts);
        if (live && deepest[number] < level) atomicMax(&deepest[number], level);
    }
}

// The first by rank of each component's last level, and its largest level.
extern "C" __global__ void find_far(const VERTEX* label, u64 base, const VERTEX* component, const VERTEX* start,
                                    const VERTEX* rank, const VERTEX* counts, u64 vertices, VERTEX* starts,
                                    u64 components) {
    Starts s(starts, components);
    for (u64 v = global_thread(); v < vertices; v += global_threads()) {
        if (label[v] < base) continue;
        u64 number = component[v];
        VERTEX level = VERTEX(label[v] - base), among = counts[start[number] + level];
        if (s.width[number] < among) atomicMax(&s.width[number], among);
        if (level == s.deepest[number] && s.far[number] > rank[v]) atomicMin(&s.far[number], rank[v]);
    }
}

__device__ __forceinline__ void begin_at(const i64* row_offsets, u64 vertex, VERTEX* label, VERTEX base, VERTEX* queue,
                                         Tally* tally) {
    u64 degree = u64(row_offsets[vertex + 1] - row_offsets[vertex]);
    label[vertex] = base;
    queue[atomicAdd(&tally->found, 1ull)] = VERTEX(vertex);
    atomicAdd(&tally->arcs, degree);
    atomicMax(&tally->longest, degree);
}

// Start the first searches from the smallest vertices.
extern "C" __global__ void begin_searches(const i64* row_offsets, const i64* listed, u64 count, const VERTEX* first,
                                          VERTEX* starts, u64 components, VERTEX* label, u64 base, VERTEX* queue,
                                          Tally* tally) {
    Starts s(starts, components);
    for (u64 i = global_thread(); i < count; i += global_threads()) {
        u64 c = u64(listed[i]);
        s.root[c] = s.candidate[c] = first[c];
        s.depth[c] = s.deepest[c] = s.width[c] = 0;
        s.far[c] = NONE;
        begin_at(row_offsets, first[c], label, VERTEX(base), queue, tally);
    }
}

// Judge each search that was made, and start the next from its far end unless it went no deeper than the one before.
extern "C" __global__ void judge_searches(const i64* row_offsets, const i64* listed, u64 count, VERTEX* starts,
                                          u64 components, const VERTEX* by_rank, VERTEX* label, u64 base,
                                          VERTEX* queue, Tally* tally) {
    Starts s(starts, components);
    for (u64 i = global_thread(); i < count; i += global_threads()) {
        u64 c = u64(listed[i]);
        if (s.far[c] == NONE) continue;
        VERTEX levels = s.deepest[c] + 1, width = s.width[c], far = by_rank[s.far[c]];
        bool deeper = levels > s.depth[c];
        if (deeper || (levels == s.depth[c] && width < s.largest[c])) s.root[c] = s.candidate[c];
        s.depth[c] = levels;
        s.largest[c] = width;
        s.deepest[c] = s.width[c] = 0;
        s.far[c] = NONE;
        if (!deeper || levels == 1) continue;
        s.candidate[c] = far;
        begin_at(row_offsets, far, label, VERTEX(base), queue, tally);
    }
}

// Start from the roots, components in their order; given a label, in `label`, else with claims.
extern "C" __global__ void begin_at_roots(const i64* row_offsets, const i64* listed, u64 count, const VERTEX* root,
                                          VERTEX* marks, u64 mark, VERTEX* queue, Tally* tally) {
    Rows rows;
    for (u64 i = global_thread(); i < count; i += global_threads()) {
        u64 vertex = root[listed[i]];
        rows.add(row_offsets, vertex);
        queue[i] = VERTEX(vertex);
        marks[vertex] = VERTEX(mark);
    }
    __syncwarp();
    add_rows(tally, rows);
}

// Vertices without arcs, numbered from the last.
extern "C" __global__ void number_lone(const i64* row_offsets, u64 vertices, const VERTEX* component,
                                       const VERTEX* start, VERTEX* order) {
    for (u64 v = global_thread(); v < vertices; v += global_threads())
        if (row_offsets[v] == row_offsets[v + 1]) order[v] = VERTEX(vertices - 1 - start[component[v]]);
}

// The queue of one component.
extern "C" __global__ void number_one(const VERTEX* queue, u64 count, u64 before, u64 vertices, VERTEX* order) {
    for (u64 i = global_thread(); i < count; i += global_threads())
        order[queue[i]] = VERTEX(vertices - 1 - before - i);
}

// The queue of several, whose levels alternate: sorted by these keys it has one component after the other.
extern "C" __global__ void component_keys(const VERTEX* queue, u64 count, const VERTEX* component, u32 bits, u64* keys) {
    for (u64 i = global_thread(); i < count; i += global_threads())
        keys[i] = u64(component[queue[i]]) << bits | i;
}

// lone_before: components without arcs before each.
extern "C" __global__ void number_many(const u64* keys, u64 count, u32 bits, const VERTEX* queue,
                                       const VERTEX* lone_before, u64 vertices, VERTEX* order) {
    u64 mask = (1ull << bits) - 1;
    for (u64 i = global_thread(); i < count; i += global_threads())
        order[queue[keys[i] & mask]] = VERTEX(vertices - 1 - i - lone_before[keys[i] >> bits]);
}

// Levels, each by rank.
extern "C" __global__ void level_keys(const i64* row_offsets, u64 vertices, const VERTEX* component,
                                      const VERTEX* start, const VERTEX* label, u64 base, const VERTEX* rank, u32 bits,
                                      u64* keys) {
    for (u64 v = global_thread(); v < vertices; v += global_threads()) {
        u64 level = row_offsets[v + 1] > row_offsets[v] ? label[v] - base : 0;
        keys[v] = (start[component[v]] + level) << bits | rank[v];
    }
}

extern "C" __global__ void number_levels(const u64* keys, u64 vertices, u32 bits, const VERTEX* by_rank,
                                         VERTEX* order) {
    u64 mask = (1ull << bits) - 1;
    for (u64 i = global_thread(); i < vertices; i += global_threads())
        order[by_rank[keys[i] & mask]] = VERTEX(vertices - 1 - i);
}
