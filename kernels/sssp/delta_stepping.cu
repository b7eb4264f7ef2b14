// Delta-stepping with a near frontier and one far pile (Davidson, Baxter, Garland, Owens, IPDPS 2014), in one
// cooperative launch, and the tree of predecessors from the distances that it found.
//
// Distances are words that atomics compare: integers, or the bits of a float64 that is not negative. A vertex
// is in a frontier once a round (marks) and in the pile once (piled), so queues hold `vertices` entries.
// While frontier and pile are small, the first block works alone and the grid waits: rounds then end at a
// barrier of the block.
//
// Contract: row_offsets i64 (vertices + 1), columns VERTEX and weights WEIGHT (arcs), words WORD (vertices) all
// `unreached`, marks and piled u32 (vertices) all 0, queues VERTEX (4 * vertices), hubs VERTEX (arcs / HUB + 1),
// state u64 (STATE) all 0. Tree: TREE all ones, step u32 all 0, queues as above. Block: a multiple of 32, at most
// 1024. Grid: no more blocks than run at the same time.
//
// variants VERTEX: u32 u64
// variants WORD: u32 u64
// variants WEIGHT: u32 float

#include "kernels/sssp/arcs.cuh"

using TREE = VERTEX;  // predecessors are below 2^31 where columns are u32

constexpr u64 FEW = 2048;  // vertices of frontier and pile up to which one block works alone

// Places in `state`. FRONT is 0 or 1: which half of the queues is the frontier; PILE the same of the pile.
enum { NEAR, OTHER, FAR, KEPT, HUBS, ROUND, FRONT, PILE, END, NEAREST, MODE, ARRIVALS, LACKING, STATE = 16 };

// What is left, as whoever leads the group saw it: all others may read counts while they still grow.
enum { DONE, SMALL, LARGE };

struct Search {
    const i64* row_offsets;
    const VERTEX* columns;
    const WEIGHT* weights;
    u64 vertices;
    WORD* words;
    u32* marks;
    u32* piled;
    VERTEX* queues;
    VERTEX* hubs;
    u64* state;

    __device__ __forceinline__ VERTEX* front(u64 side) const { return queues + side * vertices; }
    __device__ __forceinline__ VERTEX* pile(u64 side) const { return queues + (2 + side) * vertices; }
};

__device__ __forceinline__ void decide(u64* state) {
    u64 left = now(&state[NEAR]) + now(&state[FAR]);
    state[MODE] = !left ? DONE : left <= FEW ? SMALL : LARGE;
}

// One round: relaxes all arcs of the frontier.
__device__ __forceinline__ void relax(const Search& s, const Group& group) {
    u64 side = now(&s.state[FRONT]), size = now(&s.state[NEAR]);
    u32 stamp = u32(now(&s.state[ROUND])) + 1;
    WORD limit = WORD(now(&s.state[END]));
    const VERTEX* frontier = s.front(side);
    VERTEX *next = s.front(side ^ 1), *far = s.pile(now(&s.state[PILE]));
    each_arc(
        group, s.row_offsets, size, s.hubs, &s.state[HUBS],
        [&](u64 i, VERTEX& u) {
            u = now(&frontier[i]);
            return true;
        },
        [&](VERTEX u, i64 arc) {
            VERTEX v = s.columns[arc];
            WORD longer = lengthened(now(&s.words[u]), s.weights[arc]);
            if (longer >= now(&s.words[v]) || longer >= atomicMin(&s.words[v], longer)) return;
            if (longer < limit) {
                if (now(&s.marks[v]) != stamp && atomicExch(&s.marks[v], stamp) != stamp)
                    next[atomicAdd(&s.state[OTHER], 1ull)] = v;
            } else if (!now(&s.piled[v]) && !atomicExch(&s.piled[v], 1u)) {
                far[atomicAdd(&s.state[FAR], 1ull)] = v;
            }
        });
    if (group.leads()) {
        s.state[FRONT] = side ^ 1;
        s.state[NEAR] = now(&s.state[OTHER]);
        s.state[OTHER] = 0;
        s.state[ROUND] = stamp;
        decide(s.state);
    }
    group.meet();
}

// The next bucket begins at the nearest vertex of the pile, so that none is empty.
__device__ __forceinline__ void split(const Search& s, const Group& group, WEIGHT width) {
    u64 side = now(&s.state[PILE]), size = now(&s.state[FAR]);
    WORD begin = WORD(now(&s.state[END]));
    const VERTEX* far = s.pile(side);
    VERTEX *kept = s.pile(side ^ 1), *near = s.front(now(&s.state[FRONT]));
    u64 nearest = ~0ull;
    for (u64 i = group.first; i < size; i += group.count) {
        u64 word = now(&s.words[now(&far[i])]);
        if (word >= begin && word < nearest) nearest = word;
    }
    if (nearest < now(&s.state[NEAREST])) atomicMin(&s.state[NEAREST], nearest);
    group.meet();
    u64 found = now(&s.state[NEAREST]);
    WORD limit = lengthened(WORD(found), width);
    // A width may be lost in a float's rounding. Of a pile of vertices that are done, nothing is kept.
    if (limit <= WORD(found)) limit = WORD(found) + 1;
    if (found == ~0ull) limit = begin;
    for (u64 i = group.first; i < size; i += group.count) {
        VERTEX v = now(&far[i]);
        WORD word = now(&s.words[v]);
        if (word >= limit) {
            kept[atomicAdd(&s.state[KEPT], 1ull)] = v;
            continue;
        }
        s.piled[v] = 0;
        if (word >= begin) near[atomicAdd(&s.state[NEAR], 1ull)] = v;
    }
    group.meet();
    if (group.leads()) {
        s.state[PILE] = side ^ 1;
        s.state[FAR] = now(&s.state[KEPT]);
        s.state[KEPT] = 0;
        s.state[END] = limit;
        s.state[NEAREST] = ~0ull;
        decide(s.state);
    }
    group.meet();
}

__device__ __forceinline__ void step(const Search& s, const Group& group, WEIGHT width) {
    if (now(&s.state[NEAR]))
        relax(s, group);
    else
        split(s, group, width);
}

extern "C" __global__ void __launch_bounds__(1024, 1)
    delta_stepping(const i64* row_offsets, const VERTEX* columns, const WEIGHT* weights, u64 vertices, u64 source,
                   WEIGHT width, WORD* words, u32* marks, u32* piled, VERTEX* queues, VERTEX* hubs, u64* state) {
    Search s{row_offsets, columns, weights, vertices, words, marks, piled, queues, hubs, state};
    Group grid{global_thread(), global_threads(), &state[ARRIVALS]};
    Group block{threadIdx.x, blockDim.x, nullptr};
    if (grid.leads()) {
        words[source] = 0;
        queues[0] = VERTEX(source);
        state[NEAR] = 1;
        state[NEAREST] = ~0ull;
        state[END] = lengthened(WORD(0), width);
        decide(state);
    }
    grid.meet();
    while (u64 mode = now(&state[MODE])) {
        if (mode == LARGE) {
            step(s, grid, width);
            continue;
        }
        // Nobody may decide anew while another has not read what was decided.
        grid.meet();
        if (blockIdx.x == 0)
            while (now(&state[MODE]) == SMALL) step(s, block, width);
        grid.meet();
    }
}

// Predecessors that are strictly nearer, the smallest of each; then those along arcs of length zero, round by
// round from the vertices that have theirs. `step` is the round in which a vertex got its own.
extern "C" __global__ void __launch_bounds__(1024, 1)
    predecessors(const i64* row_offsets, const VERTEX* columns, const WEIGHT* weights, u64 vertices, u64 source,
                 WORD unreached, const WORD* words, TREE* tree, u32* step, VERTEX* queues, VERTEX* hubs, u64* state) {
    Group grid{global_thread(), global_threads(), &state[ARRIVALS]};
    constexpr TREE NONE = ~TREE(0);
    each_arc(
        grid, row_offsets, vertices, hubs, &state[HUBS],
        [&](u64 i, VERTEX& u) {
            u = VERTEX(i);
            return words[i] != unreached;
        },
        [&](VERTEX u, i64 arc) {
            VERTEX v = columns[arc];
            WORD word = words[u], there = words[v];
            if (word < there && lengthened(word, weights[arc]) == there && now(&tree[v]) > u) atomicMin(&tree[v], TREE(u));
        });
    for (u64 v = grid.first; v < vertices; v += grid.count) {
        bool has = v == source || now(&tree[v]) != NONE;
        if (has)
            step[v] = 1;
        else if (words[v] != unreached)
            state[LACKING] = 1;
    }
    grid.meet();
    if (!now(&state[LACKING])) return;
    u64 size = vertices;
    for (u32 round = 2; size; ++round) {
        const VERTEX* from = queues + (round & 1) * vertices;
        VERTEX* found = queues + (round & 1 ^ 1) * vertices;
        each_arc(
            grid, row_offsets, size, hubs, &state[HUBS],
            [&](u64 i, VERTEX& u) {
                u = round == 2 ? VERTEX(i) : now(&from[i]);
                return now(&step[u]) == round - 1;
            },
            [&](VERTEX u, i64 arc) {
                VERTEX v = columns[arc];
                WORD word = words[u];
                if (words[v] != word || lengthened(word, weights[arc]) != word) return;
                u32 known = now(&step[v]);
                if (!known) {
                    known = atomicCAS(&step[v], 0u, round);
                    if (!known) found[atomicAdd(&state[NEAR], 1ull)] = v;
                }
                if (!known || known == round) atomicMin(&tree[v], TREE(u));
            });
        size = now(&state[NEAR]);
        grid.meet();
        if (grid.leads()) state[NEAR] = 0;
        grid.meet();
    }
}
