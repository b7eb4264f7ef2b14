// Delta-stepping with a near frontier and one far pile (Davidson, Baxter, Garland, Owens, IPDPS 2014), in one
// cooperative launch, and the tree of predecessors from the distances that it found.
//
// Distances are words that atomics compare: integers, or the bits of a float64 that is not negative. A vertex
// is in a frontier once a round (marks) and in the pile once (piled), so queues hold `vertices` entries.
// While the frontier is small, the first block works alone and the grid waits. Its frontier is then in shared memory,
// as vertices with their words: of a vertex that comes twice in a round, the entry whose word is no longer its own is
// passed over. Rounds end at a barrier of the block. What is too much for it, and rows of hubs, go back to the grid.
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

constexpr u32 ROOM = 23552 / (sizeof(VERTEX) + sizeof(WORD));  // entries of a frontier in shared memory
constexpr u64 FEW_FAR = 8192;  // vertices of the pile that one block splits alone

// Places in `state`. FRONT is 0 or 1: which half of the queues is the frontier; PILE the same of the pile.
enum { NEAR, OTHER, FAR, KEPT, HUBS, HUGES, ROUND, FRONT, PILE, END, NEAREST, MODE, ARRIVALS, LACKING, WIDE, STATE = 16 };

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
    u64 hub_room;
    u32 few;  // vertices of a frontier that one block relaxes alone, ROOM at most

    __device__ __forceinline__ VERTEX* front(u64 side) const { return queues + side * vertices; }
    __device__ __forceinline__ VERTEX* pile(u64 side) const { return queues + (2 + side) * vertices; }
};

__device__ __forceinline__ void decide(u64* state, u32 few) {
    const u64 near = now(&state[NEAR]), far = now(&state[FAR]);
    state[MODE] = near ? (near <= few ? SMALL : LARGE) : !far ? DONE : far <= FEW_FAR ? SMALL : LARGE;
}

// Put a vertex into a queue of the grid's next frontier, in which it is once.
__device__ __forceinline__ void enqueue(const Search& s, VERTEX* next, VERTEX v, u32 stamp) {
    if (now(&s.marks[v]) != stamp && atomicExch(&s.marks[v], stamp) != stamp) next[place_behind(&s.state[OTHER])] = v;
}

// One round: relaxes all arcs of the frontier.
__device__ __forceinline__ void relax(const Search& s, const Group& group) {
    u64 side = now(&s.state[FRONT]), size = now(&s.state[NEAR]);
    u32 stamp = u32(now(&s.state[ROUND])) + 1;
    WORD limit = WORD(now(&s.state[END]));
    const VERTEX* frontier = s.front(side);
    VERTEX *next = s.front(side ^ 1), *far = s.pile(now(&s.state[PILE]));
    each_four(
        group, s.row_offsets, size, s.hubs, s.hub_room, &s.state[HUBS],
        [&](u64 i, VERTEX& u) {
            u = now(&frontier[i]);
            return true;
        },
        [&](VERTEX u, i64 first, i64 stride, i64 last) {
            const WORD word = now(&s.words[u]);
            relax_four(s.columns, s.weights, s.words, word, first, stride, last, [&](VERTEX v, WORD longer) {
                if (longer < limit) enqueue(s, next, v, stamp);
                else if (!now(&s.piled[v]) && !atomicExch(&s.piled[v], 1u)) far[place_behind(&s.state[FAR])] = v;
            });
        });
    if (group.leads()) {
        s.state[FRONT] = side ^ 1;
        s.state[NEAR] = now(&s.state[OTHER]);
        s.state[OTHER] = 0;
        s.state[ROUND] = stamp;
        decide(s.state, s.few);
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
            kept[place_behind(&s.state[KEPT])] = v;
            continue;
        }
        s.piled[v] = 0;
        if (word >= begin) near[place_behind(&s.state[NEAR])] = v;
    }
    group.meet();
    if (group.leads()) {
        s.state[PILE] = side ^ 1;
        s.state[FAR] = now(&s.state[KEPT]);
        s.state[KEPT] = 0;
        s.state[END] = limit;
        s.state[NEAREST] = ~0ull;
        decide(s.state, s.few);
    }
    group.meet();
}

// The frontiers of a block that works alone, and where it adds to the pile.
struct Alone {
    VERTEX vertex[2][ROOM];
    WORD word[2][ROOM];
    u64 far;
    u32 size[2], waits;
};

// Rounds of one block, until its frontier is empty or something is left to the grid.
__device__ __forceinline__ void rounds_alone(const Search& s, Alone& a) {
    const u64 from = now(&s.state[FRONT]);
    const WORD limit = WORD(now(&s.state[END]));
    const VERTEX* frontier = s.front(from);
    VERTEX *next = s.front(from ^ 1), *far = s.pile(now(&s.state[PILE]));
    u64 round = now(&s.state[ROUND]);
    u32 size = u32(now(&s.state[NEAR])), side = 0;
    for (u32 i = threadIdx.x; i < size; i += blockDim.x) {
        const VERTEX v = now(&frontier[i]);
        a.vertex[0][i] = v;
        a.word[0][i] = now(&s.words[v]);
    }
    if (threadIdx.x == 0) a.far = now(&s.state[FAR]), a.waits = 0;
    while (size) {
        const u32 stamp = u32(++round);
        if (threadIdx.x == 0) a.size[side ^ 1] = 0;
        __syncthreads();
        for (u32 base = 0; base < size; base += blockDim.x) {
            const u32 i = size - base < blockDim.x ? base + lane_id() * (blockDim.x / WARP) + warp_id() : base + threadIdx.x;
            const bool there = i < size;
            const VERTEX u = there ? a.vertex[side][i] : 0;
            const WORD word = there ? a.word[side][i] : 0;
            i64 at = there ? s.row_offsets[u] : 0, end = there ? s.row_offsets[u64(u) + 1] : 0;
            // A word may have been read before it was made smaller: then its arcs are relaxed in vain.
            if (there && s.words[u] < word) at = end;
            if (end - at >= HUB) {
                enqueue(s, next, u, stamp);
                a.waits = 1;
                at = end;
            }
            arcs_of_warp(u, at, end, [&](VERTEX row, i64 first, i64 stride, i64 last) {
                const WORD mine = now(&s.words[row]);
                relax_four(s.columns, s.weights, s.words, mine, first, stride, last, [&](VERTEX v, WORD longer) {
                    if (longer < limit) {
                        const u32 place = place_behind(&a.size[side ^ 1]);
                        if (place < ROOM) a.vertex[side ^ 1][place] = v, a.word[side ^ 1][place] = longer;
                        else enqueue(s, next, v, stamp);
                    } else if (!now(&s.piled[v]) && !atomicExch(&s.piled[v], 1u)) {
                        far[place_behind(&a.far)] = v;
                    }
                });
            });
        }
        __syncthreads();
        side ^= 1;
        size = a.size[side];
        if (size > s.few || a.waits) {
            for (u32 i = threadIdx.x; i < size && i < ROOM; i += blockDim.x) enqueue(s, next, a.vertex[side][i], stamp);
            size = 0;
            __syncthreads();
            if (threadIdx.x == 0) a.waits = 1;
        }
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        s.state[ROUND] = round;
        s.state[FAR] = a.far;
        s.state[NEAR] = now(&s.state[OTHER]);
        s.state[OTHER] = 0;
        s.state[FRONT] = from ^ 1;
        decide(s.state, s.few);
        if (a.waits) s.state[MODE] = LARGE;
    }
    __syncthreads();
}

extern "C" __global__ void __launch_bounds__(1024, 1)
    delta_stepping(const i64* row_offsets, const VERTEX* columns, const WEIGHT* weights, u64 vertices, u64 source,
                   WEIGHT width, u32 few, WORD* words, u32* marks, u32* piled, VERTEX* queues, VERTEX* hubs,
                   u64* state) {
    __shared__ Alone alone;
    const u64 hub_room = row_offsets[vertices] / HUB + 1;
    Search s{row_offsets, columns, weights, vertices, words, marks, piled, queues, hubs, state, hub_room, few};
    Group grid{global_thread(), global_threads(), &state[ARRIVALS]};
    Group block{threadIdx.x, blockDim.x, nullptr};
    if (grid.leads()) {
        words[source] = 0;
        queues[0] = VERTEX(source);
        state[NEAR] = 1;
        state[NEAREST] = ~0ull;
        state[END] = lengthened(WORD(0), width);
        decide(state, few);
    }
    grid.meet();
    while (u64 mode = now(&state[MODE])) {
        const bool large = mode == LARGE;
        // Nobody may decide anew while another has not read what was decided.
        if (!large) grid.meet();
        else if (grid.leads()) ++state[WIDE];
        if (large || blockIdx.x == 0) {
            do {
                if (!now(&state[NEAR])) split(s, large ? grid : block, width);
                else if (large) relax(s, grid);
                else rounds_alone(s, alone);
            } while (!large && now(&state[MODE]) == SMALL);
        }
        if (!large) grid.meet();
    }
}

// Predecessors that are strictly nearer, the smallest of each; then those along arcs of length zero, round by
// round from the vertices that have theirs. `step` is the round in which a vertex got its own.
extern "C" __global__ void __launch_bounds__(1024, 1)
    predecessors(const i64* row_offsets, const VERTEX* columns, const WEIGHT* weights, u64 vertices, u64 source,
                 WORD unreached, const WORD* words, TREE* tree, u32* step, VERTEX* queues, VERTEX* hubs, u64* state) {
    Group grid{global_thread(), global_threads(), &state[ARRIVALS]};
    constexpr TREE NONE = ~TREE(0);
    const u64 hub_room = row_offsets[vertices] / HUB + 1;
    each_four(
        grid, row_offsets, vertices, hubs, hub_room, &state[HUBS],
        [&](u64 i, VERTEX& u) {
            u = VERTEX(i);
            return words[i] != unreached;
        },
        [&](VERTEX u, i64 first, i64 stride, i64 last) {
            const WORD word = words[u];
            VERTEX v[FOUR];
            WORD longer[FOUR];
            bool tight[FOUR];
            load_four(columns, weights, word, first, stride, last, v, longer, tight);
#pragma unroll
            for (i64 k = 0; k < FOUR; ++k) tight[k] = tight[k] && words[v[k]] == longer[k] && word < longer[k];
#pragma unroll
            for (i64 k = 0; k < FOUR; ++k)
                if (tight[k] && now(&tree[v[k]]) > u) atomicMin(&tree[v[k]], TREE(u));
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
            grid, row_offsets, size, hubs, hub_room, &state[HUBS],
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
