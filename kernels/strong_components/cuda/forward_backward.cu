// Strongly connected components in one cooperative launch: trimming, one forward-backward search for the largest
// component (Fleischer, Hendrickson, Pinar, IPDPS Workshops 2000), and colouring for all others (Orzan 2004;
// together: Slota, Rajamanickam, Madduri, IPDPS 2014).
//
// A vertex without a predecessor or without a successor among those that are left is a component. Colouring sends the
// smallest vertex along the arcs until nothing changes: a vertex that keeps its own colour is the smallest of its
// component, which is what reaches it within its colour. So labels are smallest vertices without further work.
//
// Contract: both rows as i64 (vertices + 1) and VERTEX (arcs), `back` those of predecessors. component VERTEX
// (vertices). Working memory, not initialised: colour, inward, outward, members VERTEX (vertices), queue VERTEX
// (2 * vertices), hubs VERTEX (arcs / HUB + 1), stamp u32 (vertices). state u64 (STATES) and arrivals u64 are zero.
// Block: a multiple of 32. Grid: no more blocks than run at the same time.
//
// variants VERTEX: u32 u64

#include "kernels/cuda/grid_barrier.cuh"

constexpr i64 HUB = 4096;  // arcs from which a row is split over the grid
constexpr VERTEX NONE = ~VERTEX(0);

// Places in `state`. Three counters take turns: while one is read and one grows, the third is zeroed.
constexpr u32 SIZES = 0, HUBS = 3, FOUND = 6, BEST = 7, PIVOT = 8, SMALLEST = 9;

struct Graph {
    const i64* offsets;
    const VERTEX* columns;
};

// Everything that all threads share; `round` and `turn` are the same in every thread.
struct Work {
    u64 vertices;
    VERTEX* component;
    VERTEX* colour;
    VERTEX* inward;   // predecessors that are left
    VERTEX* outward;  // successors that are left
    VERTEX* members;
    VERTEX* queue;
    VERTEX* hubs;
    u32* stamp;
    u64* state;
    u64* arrivals;
    u64 round, turn;

    __device__ __forceinline__ void barrier() { grid_barrier(arrivals); }
    __device__ __forceinline__ bool left(u64 v) const { return component[v] == NONE; }
    __device__ __forceinline__ VERTEX* frontier() const { return queue + (round & 1) * vertices; }
    __device__ __forceinline__ u64 size() const { return load_relaxed(&state[SIZES + round % 3]); }

    // Adds to the frontier of this round, or with `ahead` of the next.
    __device__ __forceinline__ void push(VERTEX v, u64 ahead) {
        u64 at = atomicAdd(&state[SIZES + (round + ahead) % 3], 1ull);
        queue[((round + ahead) & 1) * vertices + at] = v;
    }

    // Adds a vertex with a label to the frontier and to the members.
    __device__ __forceinline__ void add_member(VERTEX v, u64 ahead) {
        push(v, ahead);
        members[atomicAdd(&state[FOUND], 1ull)] = v;
    }

    __device__ __forceinline__ bool claim(VERTEX v, VERTEX label) {
        return component[v] == NONE && atomicCAS(&component[v], NONE, label) == NONE;
    }

    // After a barrier: the next frontier becomes this one.
    __device__ __forceinline__ void advance() {
        barrier();
        ++round;
        if (global_thread() == 0) state[SIZES + (round + 1) % 3] = 0;
        barrier();
    }

    // Runs `level` and advances until the frontier is empty in the eyes of every thread.
    template <class Level>
    __device__ __forceinline__ void until_empty(Level level) {
        while (size()) {
            level();
            advance();
        }
        barrier();  // the frontier may be filled only when no thread looks at its size any more
    }
};

// Calls visit(v, w) for every arc of the frontier's rows; ends with a barrier.
template <class Visit>
__device__ __forceinline__ void each_arc(Work& work, Graph graph, Visit visit) {
    const VERTEX* frontier = work.frontier();
    u64 size = work.size();
    u64* hub_count = &work.state[HUBS + work.turn % 3];
    for (u64 i = global_thread() / WARP; i < size; i += global_threads() / WARP) {
        VERTEX v = frontier[i];
        i64 begin = graph.offsets[v], end = graph.offsets[u64(v) + 1];
        if (end - begin >= HUB) {
            if (lane_id() == 0) work.hubs[atomicAdd(hub_count, 1ull)] = v;
            continue;
        }
        for (i64 arc = begin + lane_id(); arc < end; arc += WARP) visit(v, graph.columns[arc]);
    }
    work.barrier();
    if (global_thread() == 0) work.state[HUBS + (work.turn + 1) % 3] = 0;
    u64 count = load_relaxed(hub_count);
    for (u64 i = 0; i < count; ++i) {
        VERTEX v = work.hubs[i];
        i64 end = graph.offsets[u64(v) + 1];
        for (i64 arc = graph.offsets[v] + i64(global_thread()); arc < end; arc += i64(global_threads()))
            visit(v, graph.columns[arc]);
    }
    ++work.turn;
    work.barrier();
}

// Takes the frontier, which has its labels, out of the graph, and all that has no predecessor or successor then.
__device__ void retire(Work& work, Graph forward, Graph back) {
    auto without = [&](VERTEX* count, VERTEX w) {
        if (work.left(w) && atomicAdd(&count[w], VERTEX(0) - 1) == 1 && work.claim(w, w)) work.push(w, 1);
    };
    work.until_empty([&] {
        each_arc(work, forward, [&](VERTEX, VERTEX w) { without(work.inward, w); });
        each_arc(work, back, [&](VERTEX, VERTEX w) { without(work.outward, w); });
    });
}

// Gives its colour as label to what reaches the frontier within its colour; all of it is listed as members.
__device__ void gather(Work& work, Graph back) {
    work.until_empty([&] {
        each_arc(work, back, [&](VERTEX v, VERTEX w) {
            VERTEX colour = work.colour[v];
            if (work.colour[w] == colour && work.claim(w, colour)) work.add_member(w, 1);
        });
    });
}

// Makes the members the frontier, and forgets them.
__device__ void take_members(Work& work) {
    u64 count = load_relaxed(&work.state[FOUND]);
    for (u64 i = global_thread(); i < count; i += global_threads()) work.push(work.members[i], 0);
    work.barrier();
    if (global_thread() == 0) work.state[FOUND] = 0;
    work.barrier();
}

// Trims what has no predecessor or no successor from the start.
__device__ void trim(Work& work, Graph forward, Graph back) {
    for (u64 v = global_thread(); v < work.vertices; v += global_threads()) {
        work.outward[v] = VERTEX(forward.offsets[v + 1] - forward.offsets[v]);
        work.inward[v] = VERTEX(back.offsets[v + 1] - back.offsets[v]);
        bool alone = work.outward[v] == 0 || work.inward[v] == 0;
        work.component[v] = alone ? VERTEX(v) : NONE;
        work.colour[v] = NONE;
        work.stamp[v] = 0;
        if (alone) work.push(VERTEX(v), 0);
    }
    work.barrier();
    retire(work, forward, back);
}

// Finds the component of the vertex with most predecessors times successors, which is in the largest one mostly.
__device__ void largest(Work& work, Graph forward, Graph back) {
    u64 best = 0;
    auto score = [&](u64 v) { return work.left(v) ? u64(work.inward[v]) * u64(work.outward[v]) : 0ull; };
    for (u64 v = global_thread(); v < work.vertices; v += global_threads()) best = best < score(v) ? score(v) : best;
    atomicMax(&work.state[BEST], best);
    if (global_thread() == 0) work.state[PIVOT] = work.state[SMALLEST] = ~0ull;
    work.barrier();
    best = load_relaxed(&work.state[BEST]);
    if (best == 0) return;
    for (u64 v = global_thread(); v < work.vertices; v += global_threads())
        if (score(v) == best) atomicMin(&work.state[PIVOT], v);
    work.barrier();
    VERTEX pivot = VERTEX(load_relaxed(&work.state[PIVOT]));
    if (global_thread() == 0) {
        work.colour[pivot] = pivot;
        work.push(pivot, 0);
    }
    work.barrier();
    work.until_empty([&] {
        each_arc(work, forward, [&](VERTEX, VERTEX w) {
            if (work.left(w) && work.colour[w] == NONE && atomicCAS(&work.colour[w], NONE, pivot) == NONE)
                work.push(w, 1);
        });
    });
    if (global_thread() == 0) {
        work.component[pivot] = pivot;
        work.add_member(pivot, 0);
    }
    work.barrier();
    gather(work, back);
    u64 count = load_relaxed(&work.state[FOUND]);
    for (u64 i = global_thread(); i < count; i += global_threads())
        atomicMin(&work.state[SMALLEST], u64(work.members[i]));
    work.barrier();
    VERTEX smallest = VERTEX(load_relaxed(&work.state[SMALLEST]));
    for (u64 i = global_thread(); i < count; i += global_threads()) work.component[work.members[i]] = smallest;
    take_members(work);
    retire(work, forward, back);
}

// Finds every component whose smallest vertex no smaller one that is left reaches; says whether any was left.
__device__ bool colour(Work& work, Graph forward, Graph back) {
    for (u64 v = global_thread(); v < work.vertices; v += global_threads())
        if (work.left(v)) {
            work.colour[v] = VERTEX(v);
            work.push(VERTEX(v), 0);
        }
    work.barrier();
    if (work.size() == 0) return false;
    work.until_empty([&] {
        u32 next = u32(work.round) + 1;
        each_arc(work, forward, [&](VERTEX v, VERTEX w) {
            VERTEX given = work.colour[v];
            if (work.left(w) && work.colour[w] > given && atomicMin(&work.colour[w], given) > given &&
                atomicExch(&work.stamp[w], next) != next)
                work.push(w, 1);
        });
    });
    for (u64 v = global_thread(); v < work.vertices; v += global_threads())
        if (work.left(v) && work.colour[v] == VERTEX(v)) {
            work.component[v] = VERTEX(v);
            work.add_member(VERTEX(v), 0);
        }
    work.barrier();
    gather(work, back);
    take_members(work);
    retire(work, forward, back);
    return true;
}

extern "C" __global__ void __launch_bounds__(1024)
    forward_backward(const i64* offsets, const VERTEX* columns, const i64* back_offsets, const VERTEX* back_columns,
                     u64 vertices, VERTEX* component, VERTEX* colours, VERTEX* inward, VERTEX* outward,
                     VERTEX* members, VERTEX* queue, VERTEX* hubs, u32* stamp, u64* state, u64* arrivals) {
    Work work{vertices, component, colours, inward, outward, members, queue, hubs, stamp, state, arrivals, 0, 0};
    Graph forward{offsets, columns}, back{back_offsets, back_columns};
    trim(work, forward, back);
    largest(work, forward, back);
    while (colour(work, forward, back)) {
    }
}
