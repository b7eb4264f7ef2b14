// Shortest paths between pairs of vertices, from both ends: a block for each pair, until all are done.
//
// Each side is delta-stepping of its own: a near frontier, and one pile. The side with the smaller pile works next, on
// one bucket. A round reads the words that its frontier had at the barrier before (held), so that words, and the round
// in which a vertex got its last (when), do not depend on how threads run. A walk back goes to a vertex that is nearer, or
// as near and of an earlier round, which leads to the root whatever the lengths of arcs. A vertex that came nearer after it
// was searched from may be too near for those that it led to, where the difference was lost in rounding.
//
// Contract: rows forwards and backwards, i64 (n + 1), VERTEX and WEIGHT (arcs); weights of One may be null. For each
// block words WORD (3 * n) all `unreached`, when u32 and piled u8 (2 * n) all 0, queues VERTEX (7 * n), and hubs VERTEX
// (hub_room). sources and targets u64 (count), state u64 (STATE) all 0. Arrays of blocks are left as they came.
// Writes lengths u64 (count), ~0 for no path, sizes and places u64 (count): path i has so many vertices, from there on
// in path VERTEX (room). state[TOTAL] is what paths take; what is beyond `room` is not written. path may be null.
// Block: a multiple of 32, at most 1024. Grid: no more blocks than run at the same time.
//
// variants VERTEX: u32 u64
// variants WORD: u32 u64
// variants WEIGHT: u32 float One

struct One {};  // every arc is 1 long

#include "kernels/sssp/cuda/arcs.cuh"

enum { NEXT, TOTAL, STATE };

__device__ __forceinline__ float length_of(const float* weights, i64 arc) { return weights[arc]; }
__device__ __forceinline__ u32 length_of(const u32* weights, i64 arc) { return weights[arc]; }
__device__ __forceinline__ u32 length_of(const One*, i64) { return 1; }

// The length of two words together; those of doubles compare as their bits do.
__device__ __forceinline__ u64 joined(u64 a, u64 b, const float*) {
    return u64(__double_as_longlong(__longlong_as_double(i64(a)) + __longlong_as_double(i64(b))));
}
template <class T>
__device__ __forceinline__ u64 joined(u64 a, u64 b, const T*) {
    return a + b;
}

struct Rows {
    const i64* offsets;
    const VERTEX* columns;
    const WEIGHT* weights;
};

struct Side {
    WORD* words;
    u32* when;
    u8* piled;
    VERTEX* touched;
    VERTEX* far;
};

struct Counts {
    u64 touched[2], far[2], bound[2], hubs[2], near, fresh, kept, best, nearest, chosen, pair;
    WORD limit;
    u32 stamp, side;
};

// One pair's search and its walk, by the whole block.
struct Search {
    Rows rows[2];  // [0] forwards
    Side sides[2];
    VERTEX *near, *fresh, *spare, *hubs;
    WORD* held;
    WORD unreached;
    u64 hub_room;
    Counts* c;
    Group block;

    __device__ void begin(u64 source, u64 target) {
        if (threadIdx.x == 0) {
            for (u32 side = 0; side < 2; side++) {
                const VERTEX root = VERTEX(side ? target : source);
                const Side& s = sides[side];
                s.words[root] = 0, s.when[root] = 1, s.piled[root] = 1;
                s.touched[0] = s.far[0] = root;
                c->touched[side] = c->far[side] = 1;
                c->bound[side] = 0;
            }
            c->best = source == target ? 0 : ~0ull;
            c->stamp = 1, c->hubs[0] = c->hubs[1] = 0;
        }
        __syncthreads();
    }

    // The next bucket begins at the nearest vertex of the pile; vertices that are done leave it.
    __device__ void split(u32 side, WEIGHT width) {
        const Side& s = sides[side];
        const u64 size = c->far[side];
        const WORD bound = WORD(c->bound[side]);
        for (u64 i = threadIdx.x; i < size; i += blockDim.x) {
            const WORD word = s.words[s.far[i]];
            if (word >= bound && u64(word) < now(&c->nearest)) atomicMin(&c->nearest, u64(word));
        }
        __syncthreads();
        if (threadIdx.x == 0) {
            const WORD nearest = WORD(c->nearest);
            // A width may be lost in a float's rounding.
            WORD limit = lengthened(nearest, length_of(&width, 0));
            c->limit = c->nearest == ~0ull ? bound : limit > nearest ? limit : nearest + 1;
        }
        __syncthreads();
        const WORD limit = c->limit;
        for (u64 i = threadIdx.x; i < size; i += blockDim.x) {
            const VERTEX v = s.far[i];
            const WORD word = s.words[v];
            if (word >= limit) {
                spare[atomicAdd(&c->kept, 1ull)] = v;
                continue;
            }
            s.piled[v] = 0;
            if (word >= bound) near[atomicAdd(&c->near, 1ull)] = v;
        }
        __syncthreads();
        if (threadIdx.x == 0) c->far[side] = c->kept;
    }

    __device__ void round(u32 side) {
        const Side& s = sides[side];
        const Side& other = sides[side ^ 1];
        const u64 size = c->near, best = c->best;
        const u32 stamp = c->stamp + 1;
        const WORD limit = c->limit;
        for (u64 i = threadIdx.x; i < size; i += blockDim.x) held[near[i]] = s.words[near[i]];
        __syncthreads();
        if (threadIdx.x == 0) c->near = 0, c->fresh = 0, c->stamp = stamp;
        __syncthreads();
        const Rows& graph = rows[side];
        each_arc(
            block, graph.offsets, size, hubs, hub_room, c->hubs,
            [&](u64 i, VERTEX& u) {
                u = near[i];
                return true;
            },
            [&](VERTEX u, i64 arc) {
                const VERTEX v = graph.columns[arc];
                const WORD longer = lengthened(held[u], length_of(graph.weights, arc));
                // What is no shorter than a path that is known leads to no shorter one.
                if (longer >= now(&s.words[v]) || u64(longer) >= best) return;
                const WORD before = atomicMin(&s.words[v], longer);
                if (longer >= before) return;
                if (before == unreached) s.touched[atomicAdd(&c->touched[side], 1ull)] = v;
                if (now(&s.when[v]) != stamp && atomicExch(&s.when[v], stamp) != stamp)
                    fresh[atomicAdd(&c->fresh, 1ull)] = v;
            });
        const u64 found = now(&c->fresh);
        for (u64 i = threadIdx.x; i < found; i += blockDim.x) {
            const VERTEX v = fresh[i];
            const WORD word = now(&s.words[v]), there = other.words[v];
            if (there != unreached) {
                const u64 length = joined(word, there, graph.weights);
                if (length < now(&c->best)) atomicMin(&c->best, length);
            }
            if (word < limit) {
                near[atomicAdd(&c->near, 1ull)] = v;
            } else if (!s.piled[v]) {
                s.piled[v] = 1;
                s.far[atomicAdd(&c->far[side], 1ull)] = v;
            }
        }
        __syncthreads();
    }

    // Ends with the length in c->best, ~0 for none.
    __device__ void run(WEIGHT width) {
        while (true) {
            __syncthreads();
            if (threadIdx.x == 0) {
                const bool over = !c->far[0] || !c->far[1] ||
                                  joined(c->bound[0], c->bound[1], rows[0].weights) >= c->best;
                c->side = over ? 2 : c->far[0] <= c->far[1] ? 0 : 1;
                c->near = c->kept = 0;
                c->nearest = ~0ull;
            }
            __syncthreads();
            const u32 side = c->side;
            if (side == 2) return;
            split(side, width);
            VERTEX* const given = sides[side].far;
            sides[side].far = spare;
            spare = given;
            __syncthreads();
            while (c->near) {
                round(side);
                __syncthreads();
            }
            if (threadIdx.x == 0) c->bound[side] = u64(c->limit);
        }
    }

    __device__ void choose(u64 value) {
        if (value < now(&c->chosen)) atomicMin(&c->chosen, value);
    }

    __device__ void clear_choice() {
        __syncthreads();
        if (threadIdx.x == 0) c->chosen = ~0ull;
        __syncthreads();
    }

    // The nearest of the vertices in the middle, of those the first to be found, and the smallest: both ways have no other
    // vertex in common.
    __device__ u64 meeting() {
        u64 chosen[3] = {};  // word, round and vertex
        for (u32 pass = 0; pass < 3; pass++) {
            clear_choice();
            for (u64 i = threadIdx.x; i < c->touched[0]; i += blockDim.x) {
                const VERTEX v = sides[0].touched[i];
                const WORD word = sides[0].words[v], there = sides[1].words[v];
                if (there == unreached || joined(word, there, rows[0].weights) != c->best) continue;
                const u64 found = sides[0].when[v];
                if (pass && u64(word) != chosen[0]) continue;
                if (pass == 2 && found != chosen[1]) continue;
                choose(pass == 0 ? u64(word) : pass == 1 ? found : u64(v));
            }
            __syncthreads();
            chosen[pass] = c->chosen;
        }
        return chosen[2];
    }

    // Vertices from v to a side's root, the root included; each step takes the smallest that v may have its word from.
    __device__ u64 walk(u32 side, VERTEX v, VERTEX root, VERTEX* out) {
        const Side& s = sides[side];
        const Rows& graph = rows[side ^ 1];
        u64 steps = 0;
        while (true) {
            if (threadIdx.x == 0) out[steps] = v;
            steps++;
            if (v == root) break;
            clear_choice();
            const WORD word = s.words[v];
            const u32 stamp = s.when[v];
            for (i64 arc = graph.offsets[v] + threadIdx.x; arc < graph.offsets[u64(v) + 1]; arc += blockDim.x) {
                const VERTEX u = graph.columns[arc];
                const WORD before = s.words[u];
                if ((before < word || (before == word && s.when[u] < stamp)) &&
                    lengthened(before, length_of(graph.weights, arc)) <= word)
                    choose(u);
            }
            __syncthreads();
            v = VERTEX(c->chosen);
        }
        __syncthreads();
        return steps;
    }

    // The next pair finds everything as the first did.
    __device__ void forget() {
        for (u32 side = 0; side < 2; side++)
            for (u64 i = threadIdx.x; i < c->touched[side]; i += blockDim.x) {
                const VERTEX v = sides[side].touched[i];
                sides[side].words[v] = unreached, sides[side].when[v] = 0, sides[side].piled[v] = 0;
            }
        __syncthreads();
    }
};

extern "C" __global__ void __launch_bounds__(1024, 1)
    point_to_point(const i64* offsets, const VERTEX* columns, const WEIGHT* weights, const i64* back_offsets,
                   const VERTEX* back_columns, const WEIGHT* back_weights, u64 n, u64 hub_room, u64 count,
                   const u64* sources, const u64* targets, u32 width_bits, WORD unreached, WORD* words, u32* when,
                   u8* piled, VERTEX* queues, VERTEX* hubs, u64* lengths, u64* places, u64* sizes, VERTEX* path,
                   u64 room, u64* state) {
    __shared__ Counts counts;
    WEIGHT width;
    if constexpr (sizeof(WEIGHT) == 4) memcpy(&width, &width_bits, 4);
    const u64 b = blockIdx.x;
    Search s;
    s.rows[0] = {offsets, columns, weights};
    s.rows[1] = {back_offsets, back_columns, back_weights};
    VERTEX* queue = queues + b * 7 * n;
    for (u32 side = 0; side < 2; side++)
        s.sides[side] = {words + (3 * b + side) * n, when + (2 * b + side) * n, piled + (2 * b + side) * n,
                         queue + side * n, queue + (2 + side) * n};
    s.held = words + (3 * b + 2) * n;
    s.near = queue + 4 * n, s.fresh = queue + 5 * n, s.spare = queue + 6 * n;
    s.hubs = hubs + b * hub_room;
    s.unreached = unreached;
    s.hub_room = hub_room;
    s.c = &counts;
    s.block = {threadIdx.x, blockDim.x, nullptr};
    while (true) {
        __syncthreads();
        if (threadIdx.x == 0) counts.pair = atomicAdd(&state[NEXT], 1ull);
        __syncthreads();
        const u64 pair = counts.pair;
        if (pair >= count) return;
        const u64 source = sources[pair], target = targets[pair];
        s.begin(source, target);
        s.run(width);
        const u64 length = counts.best;
        if (threadIdx.x == 0) lengths[pair] = length, sizes[pair] = 0;
        if (path && length != ~0ull) {
            const VERTEX middle = VERTEX(s.meeting());
            // Frontiers are empty: their room holds both ways.
            const u64 before = s.walk(0, middle, VERTEX(source), s.near);
            const u64 after = s.walk(1, middle, VERTEX(target), s.fresh);
            if (threadIdx.x == 0) {
                sizes[pair] = before + after - 1;
                places[pair] = counts.chosen = atomicAdd(&state[TOTAL], before + after - 1);
            }
            __syncthreads();
            const u64 place = counts.chosen;
            if (place + before + after - 1 <= room) {
                for (u64 i = threadIdx.x; i < before; i += blockDim.x) path[place + i] = s.near[before - 1 - i];
                for (u64 i = threadIdx.x; i + 1 < after; i += blockDim.x) path[place + before + i] = s.fresh[i + 1];
            }
        }
        __syncthreads();
        s.forget();
    }
}
