// Delta-stepping with a near frontier and one far pile (Davidson, Baxter, Garland, Owens, IPDPS 2014), in one
// cooperative launch, and the tree of predecessors from the distances that it found.
//
// Distances are words that atomics compare: integers, or the bits of a float64 that is not negative. A vertex is in a
// frontier of the grid once a round (marks) and gets into the pile once in a search (piled): words only fall, and what is
// nearer than a bucket's end never comes back. So queues hold `vertices` entries.
//
// While frontiers are small, each block takes a share and goes on alone, round after round, until nothing of the bucket
// is left to it: a bucket costs two barriers of the grid, however many rounds it has. Its frontier is in shared memory,
// as vertices with their words. Whoever makes a word smaller has the vertex in its frontier, so that an entry whose word
// is no longer the vertex's own is passed over. What is too much for a block, and rows of hubs, go back to the grid.
//
// Contract: row_offsets i64 (vertices + 1), columns VERTEX and weights WEIGHT (arcs), words WORD (vertices) all
// `unreached`, marks and piled u32 (vertices) all 0, queues VERTEX (4 * vertices), hubs VERTEX (arcs / HUB + 1),
// state u64 (STATE) all 0. Tree: TREE all ones, step u32 all 0, queues as above. Block: a multiple of 32, at most
// 1024. Grid: no more blocks than run at the same time.
//
// variants VERTEX: u32 u64
// variants WORD: u32 u64
// variants WEIGHT: u32 float

#include "kernels/sssp/cuda/arcs.cuh"

using TREE = VERTEX;  // predecessors are below 2^31 where columns are u32

// Entries of a frontier in shared memory, two of which a block has, and those that wait for the pile.
constexpr u32 ROOM = 21504 / (sizeof(VERTEX) + sizeof(WORD) + 12), PUT_OFF = 4096 / sizeof(VERTEX);
constexpr u64 PILE_FACTOR = 4;  // times as many vertices of a pile as of a frontier that blocks take shares of

// Places in `state`. FRONT is 0 or 1: which half of the queues is the frontier; PILE the same of the pile. Each half has
// its size, and that of the pile a bound on its nearest vertex, which may have come nearer since.
enum { NEAR, FAR = 2, NEAREST = 4, ROUND = 6, HUBS, HUGES, FRONT, PILE, END, MODE, ARRIVALS, WIDE, LACKING, DEEPEST, WAITS };
constexpr u64 STATE = 24;

// What is left, as whoever leads the grid saw it: all others may read counts while they still grow.
enum { DONE, SMALL, RELAX, SPLIT };

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
    u64 few;  // vertices of a frontier that one block relaxes alone, ROOM at most

    __device__ __forceinline__ VERTEX* front(u64 side) const { return queues + side * vertices; }
    __device__ __forceinline__ VERTEX* pile(u64 side) const { return queues + (2 + side) * vertices; }
};

// The smallest of what the threads of a block have seen goes to the pile that they added to.
__device__ __forceinline__ void lower_nearest(u64* nearest, WORD seen) {
    for (u32 apart = WARP / 2; apart; apart /= 2) {
        const WORD other = __shfl_xor_sync(ALL_LANES, seen, apart);
        if (other < seen) seen = other;
    }
    if (lane_id() == 0 && u64(seen) < now(nearest)) atomicMin(nearest, u64(seen));
}

// Put a vertex into a queue of the grid's next frontier, in which it is once.
__device__ __forceinline__ void enqueue(const Search& s, VERTEX* next, u64* size, VERTEX v, u32 stamp) {
    if (now(&s.marks[v]) != stamp && atomicExch(&s.marks[v], stamp) != stamp) next[place_behind(size)] = v;
}

// Put a vertex into the pile, in which it is once.
__device__ __forceinline__ void put_off(const Search& s, u64 side, VERTEX v, WORD word, WORD& nearest) {
    if (word < nearest) nearest = word;
    if (!now(&s.piled[v]) && !atomicExch(&s.piled[v], 1u)) s.pile(side)[place_behind(&s.state[FAR + side])] = v;
}

// After a step of all blocks: `rounds` of a frontier that was expanded, and whether a pile was split, up to `limit`.
__device__ __forceinline__ void go_on(const Search& s, u64 rounds, bool expanded, bool split, WORD limit) {
    u64* state = s.state;
    u64 front = now(&state[FRONT]), pile = now(&state[PILE]);
    if (expanded) {
        state[NEAR + front] = 0;
        state[FRONT] = front ^= 1;
        state[ROUND] = now(&state[ROUND]) + rounds;
    }
    if (split) {
        state[FAR + pile] = 0;
        state[NEAREST + pile] = ~0ull;
        state[PILE] = pile ^= 1;
        state[END] = limit;
    }
    const u64 near = now(&state[NEAR + front]), far = now(&state[FAR + pile]);
    const u64 few = s.few * gridDim.x;
    const bool small = !now(&state[WAITS]) && (near ? near <= few : far <= PILE_FACTOR * few);
    state[MODE] = !near && !far ? DONE : small ? SMALL : near ? RELAX : SPLIT;
    state[WAITS] = state[DEEPEST] = 0;
}

// One round of the grid: relaxes all arcs of the frontier.
__device__ __forceinline__ void relax(const Search& s, const Group& grid) {
    const u64 side = now(&s.state[FRONT]), size = now(&s.state[NEAR + side]), pile = now(&s.state[PILE]);
    const u32 stamp = u32(now(&s.state[ROUND])) + 1;
    const WORD limit = WORD(now(&s.state[END]));
    const VERTEX* frontier = s.front(side);
    VERTEX* next = s.front(side ^ 1);
    WORD nearest = ~WORD(0);
    each_four(
        grid, s.row_offsets, size, s.hubs, s.hub_room, &s.state[HUBS],
        [&](u64 i, VERTEX& u) {
            u = now(&frontier[i]);
            return true;
        },
        [&](VERTEX u, i64 first, i64 stride, i64 last) {
            const WORD word = now(&s.words[u]);
            relax_four(s.columns, s.weights, s.words, word, first, stride, last, [&](VERTEX v, WORD longer) {
                if (longer < limit) enqueue(s, next, &s.state[NEAR + (side ^ 1)], v, stamp);
                else put_off(s, pile, v, longer, nearest);
            });
        });
    lower_nearest(&s.state[NEAREST + pile], nearest);
    grid.meet();
    if (grid.leads()) go_on(s, 1, true, false, limit);
    grid.meet();
}

// Where the next bucket ends: it begins at the nearest vertex of the pile, so that few are empty.
__device__ __forceinline__ WORD next_limit(const Search& s, u64 pile, WEIGHT width) {
    const WORD nearest = WORD(now(&s.state[NEAREST + pile]));
    const WORD limit = lengthened(nearest, width);
    // A width may be lost in a float's rounding.
    return limit > nearest ? limit : nearest + 1;
}

// Of a share of the pile, calls near(v, word) for what is in the next bucket, and keeps what is farther.
template <class Near>
__device__ __forceinline__ void split_share(const Search& s, WORD limit, u64 first, u64 stride, WORD& nearest,
                                            Near near) {
    const u64 pile = now(&s.state[PILE]), size = now(&s.state[FAR + pile]);
    const WORD begin = WORD(now(&s.state[END]));
    const VERTEX* far = s.pile(pile);
    VERTEX* kept = s.pile(pile ^ 1);
    for (u64 i = first; i < size; i += stride) {
        const VERTEX v = now(&far[i]);
        const WORD word = now(&s.words[v]);
        if (word >= limit) {
            if (word < nearest) nearest = word;
            kept[place_behind(&s.state[FAR + (pile ^ 1)])] = v;
        } else if (word >= begin) {
            near(v, word);
        }
    }
}

__device__ __forceinline__ void split(const Search& s, const Group& grid, WEIGHT width) {
    const u64 pile = now(&s.state[PILE]), front = now(&s.state[FRONT]);
    const WORD limit = next_limit(s, pile, width);
    VERTEX* next = s.front(front);
    WORD nearest = ~WORD(0);
    split_share(s, limit, grid.first, grid.count, nearest,
                [&](VERTEX v, WORD) { next[place_behind(&s.state[NEAR + front])] = v; });
    __syncwarp();
    lower_nearest(&s.state[NEAREST + (pile ^ 1)], nearest);
    grid.meet();
    if (grid.leads()) go_on(s, 0, false, true, limit);
    grid.meet();
}

// The frontiers of a block that works alone, with where the rows begin and how long they are, and what waits for the pile.
struct Alone {
    i64 at[2][ROOM];
    VERTEX vertex[2][ROOM];
    WORD word[2][ROOM];
    u32 length[2][ROOM];
    VERTEX far[PUT_OFF];
    u32 size[2], far_size, waits;
};

// Each block takes a share of the frontier, or of the pile where there is none, and works on until that part of the
// bucket is empty or something is left to the grid. A round is as long as what its loads and atomics wait for one another:
// rows are looked up while words are lowered, and what goes to the pile waits for the end.
__device__ __forceinline__ void rounds_alone(const Search& s, const Group& grid, Alone& a, WEIGHT width) {
    const u64 from = now(&s.state[FRONT]), near = now(&s.state[NEAR + from]), old = now(&s.state[PILE]);
    const u64 pile = near ? old : old ^ 1;
    const WORD limit = near ? WORD(now(&s.state[END])) : next_limit(s, old, width);
    const u32 stamp = u32(now(&s.state[ROUND])) + 1;
    VERTEX* next = s.front(from ^ 1);
    u64* next_size = &s.state[NEAR + (from ^ 1)];
    WORD nearest = ~WORD(0);
    if (threadIdx.x == 0) a.size[0] = a.far_size = a.waits = 0;
    __syncthreads();
    const auto push = [&](u32 side, VERTEX v, WORD word, i64 at, i64 end) {
        const u32 place = end - at < HUB ? place_behind(&a.size[side]) : ROOM;
        if (place < ROOM) {
            a.at[side][place] = at;
            a.vertex[side][place] = v;
            a.word[side][place] = word;
            a.length[side][place] = u32(end - at);
        } else {
            enqueue(s, next, next_size, v, stamp);
            if (end - at >= HUB) a.waits = 1;
        }
    };
    const auto push_row = [&](VERTEX v, WORD word) { push(0, v, word, s.row_offsets[v], s.row_offsets[u64(v) + 1]); };
    // Neighbours lie side by side in queues: they are dealt out to blocks one by one.
    const u64 first = u64(threadIdx.x) * gridDim.x + blockIdx.x;
    if (near) {
        const VERTEX* frontier = s.front(from);
        for (u64 i = first; i < near; i += grid.count) {
            const VERTEX v = now(&frontier[i]);
            push_row(v, now(&s.words[v]));
        }
    } else {
        split_share(s, limit, first, grid.count, nearest, push_row);
    }
    __syncthreads();
    u32 size = a.size[0] < ROOM ? a.size[0] : ROOM, side = 0, rounds = size || a.waits;
    __syncthreads();
    while (size) {
        if (threadIdx.x == 0) a.size[side ^ 1] = 0;
        __syncthreads();
        for (u32 base = 0; base < size; base += blockDim.x) {
            const u32 i = size - base < blockDim.x ? base + lane_id() * (blockDim.x / WARP) + warp_id() : base + threadIdx.x;
            const bool there = i < size;
            const VERTEX u = there ? a.vertex[side][i] : 0;
            const WORD word = there ? a.word[side][i] : 0;
            const i64 at = there ? a.at[side][i] : 0, end = there ? at + a.length[side][i] : 0;
            arcs_of_warp(u, at, end, [&](VERTEX row, i64 first_arc, i64 stride, i64 last) {
                const WORD mine = now(&s.words[row]);
                VERTEX v[FOUR];
                WORD longer[FOUR];
                bool shorter[FOUR];
                i64 begin[FOUR], behind[FOUR];
                load_four(s.columns, s.weights, mine, first_arc, stride, last, v, longer, shorter);
                // A lane passes over its vertex where that has come nearer since: its arcs are relaxed from there. A row
                // that a warp shares is of another lane, whose word this is not.
                const bool stale = stride == 1 && mine < word;
#pragma unroll
                for (i64 k = 0; k < FOUR; ++k) {
                    if (!shorter[k] || stale) {
                        shorter[k] = false;
                        continue;
                    }
                    begin[k] = s.row_offsets[v[k]];
                    behind[k] = s.row_offsets[u64(v[k]) + 1];
                    shorter[k] = longer[k] < atomicMin(&s.words[v[k]], longer[k]);
                }
#pragma unroll
                for (i64 k = 0; k < FOUR; ++k) {
                    if (!shorter[k]) continue;
                    if (longer[k] < limit) {
                        push(side ^ 1, v[k], longer[k], begin[k], behind[k]);
                        continue;
                    }
                    if (longer[k] < nearest) nearest = longer[k];
                    const u32 place = place_behind(&a.far_size);
                    if (place < PUT_OFF) a.far[place] = v[k];
                    else put_off(s, pile, v[k], longer[k], nearest);
                }
            });
        }
        __syncthreads();
        side ^= 1;
        const u32 found = a.size[side];
        size = found < ROOM ? found : ROOM;
        if (found > s.few || a.waits) {
            for (u32 i = threadIdx.x; i < size; i += blockDim.x) enqueue(s, next, next_size, a.vertex[side][i], stamp);
            size = 0;
        }
        rounds += size != 0;
        __syncthreads();
    }
    const u32 far_size = a.far_size < PUT_OFF ? a.far_size : PUT_OFF;
    for (u32 i = threadIdx.x; i < far_size; i += blockDim.x) put_off(s, pile, a.far[i], ~WORD(0), nearest);
    __syncwarp();
    lower_nearest(&s.state[NEAREST + pile], nearest);
    if (threadIdx.x == 0) {
        if (a.waits) s.state[WAITS] = 1;
        if (rounds > now(&s.state[DEEPEST])) atomicMax(&s.state[DEEPEST], u64(rounds));
    }
    grid.meet();
    if (grid.leads()) {
        const u64 deepest = now(&s.state[DEEPEST]);
        // A stamp serves one step.
        go_on(s, deepest ? deepest : 1, true, !near, limit);
    }
    grid.meet();
}

extern "C" __global__ void __launch_bounds__(1024, 1)
    delta_stepping(const i64* row_offsets, const VERTEX* columns, const WEIGHT* weights, u64 vertices, u64 source,
                   WEIGHT width, u64 few, WORD* words, u32* marks, u32* piled, VERTEX* queues, VERTEX* hubs,
                   u64* state) {
    __shared__ Alone alone;
    const u64 hub_room = row_offsets[vertices] / HUB + 1;
    Search s{row_offsets, columns, weights, vertices, words, marks, piled, queues, hubs, state, hub_room, few};
    Group grid{global_thread(), global_threads(), &state[ARRIVALS]};
    if (grid.leads()) {
        words[source] = 0;
        queues[0] = VERTEX(source);
        state[NEAR] = 1;
        state[NEAREST] = state[NEAREST + 1] = ~0ull;
        state[END] = lengthened(WORD(0), width);
        state[MODE] = SMALL;
    }
    grid.meet();
    while (const u64 mode = now(&state[MODE])) {
        if (mode == SMALL) {
            rounds_alone(s, grid, alone, width);
            continue;
        }
        if (mode == RELAX) relax(s, grid);
        else split(s, grid, width);
        if (grid.leads()) ++state[WIDE];
    }
}

// Predecessors that are strictly nearer, the smallest of each; then those along arcs of length zero, round by
// round from the vertices that have theirs. `step` is the round in which a vertex got its own. `pulled` says that the tree
// has those that are nearer.
extern "C" __global__ void __launch_bounds__(1024, 1)
    predecessors(const i64* row_offsets, const VERTEX* columns, const WEIGHT* weights, u64 vertices, u64 source,
                 WORD unreached, const WORD* words, TREE* tree, u32* step, VERTEX* queues, VERTEX* hubs, u64* state,
                 u32 pulled) {
    Group grid{global_thread(), global_threads(), &state[ARRIVALS]};
    constexpr TREE NONE = ~TREE(0);
    const u64 hub_room = row_offsets[vertices] / HUB + 1;
    if (!pulled)
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

// The arcs of the vertices that a search reached, by its buckets: counts[bucket % buckets], all 0 before.
extern "C" __global__ void arcs_of_buckets(const i64* row_offsets, const WORD* words, u64 vertices, WORD unreached,
                                           double width, u64 buckets, u64* counts) {
    u64 last = 0, arcs = 0;
    for (u64 v = global_thread(); v < vertices; v += global_threads()) {
        const WORD word = words[v];
        if (word == unreached) continue;
        const u64 bucket = u64(length_of(word, WEIGHT(0)) / width) % buckets;
        if (bucket != last && arcs) {
            atomicAdd(&counts[last], arcs);
            arcs = 0;
        }
        last = bucket;
        arcs += u64(row_offsets[v + 1] - row_offsets[v]);
    }
    if (arcs) atomicAdd(&counts[last], arcs);
}
