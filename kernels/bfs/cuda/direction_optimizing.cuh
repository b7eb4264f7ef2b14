// The level loop of a direction-optimizing search, on the device (Beamer, Asanovic, Patterson, SC 2012, for the two
// directions; the rest is gravel's). Include a source's pull first, then its expansion; see search.cuh.

#include "kernels/bfs/cuda/pull.cuh"
#include "kernels/bfs/cuda/team.cuh"

extern __shared__ u64 arena[];

struct Tuning {
    u64 candidates, weight;  // vertices that have arcs; of all rows
    bool may_pull;
    u32 max_depth, patience;
    double alpha, beta, floor, unqueued;
    double weight_of_arc;  // brings limits that count arcs to the source's weights
    u64 team_blocks, team_capacity;
    u64 team_limit, team_uneven;
    u64 room;
    double words_per_unvisited;
    u64 team_room = ~0ull;  // entries that the team has room for, where weight does not bound them
};

// What lies in device memory beside the search's own arrays.
struct Buffers {
    u32* bitmaps;  // two of `words`
    u64 *control, *counts, *log, *arrivals;
};

__device__ __forceinline__ void trace(const Progress& p, u64* log, u32 at) {
    u64* words = log + TRACE + TRACED_WORDS * at;
    words[0] = u64(p.level) << 8 | p.step;
    words[1] = p.frontier;
    words[2] = p.frontier_weight;
    words[3] = u64(clock64());
}

// Read what the last step did and choose the next; every block comes to the same choice.
__device__ __forceinline__ void advance(const Search& s, Progress& p, const Tuning& t, u64* control, u64* log) {
    const u64* counted = control + p.steps % SIDES * CONTROL_WORDS;
    u64 entries = load_relaxed(&counted[TAIL]), hubs = load_relaxed(&counted[HUB_TAIL]);
    u64 team_level = load_relaxed(&counted[LEVEL]);
    u64 found_prior = load_relaxed(&counted[FOUND_PRIOR]), weight_prior = load_relaxed(&counted[WEIGHT_PRIOR]);
    u64 found = load_relaxed(&counted[FOUND_LAST]), weight = load_relaxed(&counted[WEIGHT_LAST]);
    u32 done = p.step;
    if (done == TEAM) p.level = u32(team_level);
    if (done == PUSH || done == PUSH_UNQUEUED || done == PULL) ++p.level;
    if (done == PULL) p.exact_side ^= 1;
    p.visited += found_prior + found;
    u64 unvisited = t.candidates > p.visited ? t.candidates - p.visited : 0;
    if (done == REDISTRIBUTE) {
        p.hub_begin = p.hub_end;
    } else {
        if (done != ENQUEUE) p.frontier = found;
        p.begin = p.end;
        p.hub_begin = p.hub_end;
        p.frontier_weight = weight;
        // A push without a queue samples; if it met no sample, its vertices weigh as much as the rest on average.
        if (done == PUSH_UNQUEUED && !weight)
            p.frontier_weight =
                u64(double(t.weight - p.visited_weight) * double(found) / double(found + unvisited + 1));
        if (done != PUSH_UNQUEUED) p.visited_weight += weight_prior + weight;
    }
    p.end += entries;
    p.hub_end += hubs;

    u64 left = t.weight > p.visited_weight ? t.weight - p.visited_weight : 0;
    double frontier = double(p.frontier_weight), word = double(s.words) * t.weight_of_arc;
    bool small_enough = p.frontier_weight <= t.team_limit && p.end - p.begin <= t.team_room;
    bool many = frontier > t.unqueued * word && !small_enough;
    if (!p.frontier || p.level >= t.max_depth) {
        p.step = DONE;
    } else if (done == PULL) {
        // A bottom-up level over few unvisited vertices costs little more than leaving it would.
        bool small = double(p.frontier) * t.beta < double(t.candidates);
        p.small_pulls = small ? p.small_pulls + 1 : 0;
        p.step = small && (p.small_pulls >= t.patience || unvisited > 4 * s.words) ? ENQUEUE : PULL;
    } else if (done != REDISTRIBUTE && t.may_pull && p.changes < MAX_CHANGES && frontier * t.alpha > double(left) &&
               frontier > t.floor * word) {
        p.step = PULL;
        p.small_pulls = 0;
    } else if (done == PUSH_UNQUEUED) {
        p.step = ENQUEUE;
    } else if (done != REDISTRIBUTE && (many || p.hub_begin < p.hub_end)) {
        p.step = REDISTRIBUTE;
    } else {
        p.step = many ? PUSH_UNQUEUED : small_enough ? TEAM : PUSH;
    }

    u32 pulling = p.step == PULL;
    bool known = p.step == DONE || p.step == ENQUEUE || p.step == REDISTRIBUTE;
    if (!known && (pulling != p.pulling || !p.changes)) {
        if (blockIdx.x == 0) log[LOG_FIRST + p.changes] = u64(p.level) << 1 | pulling;
        ++p.changes;
        p.pulling = pulling;
    }
    ++p.steps;
    if (blockIdx.x == 0 && p.steps < MAX_TRACED) trace(p, log, p.steps);
    if (blockIdx.x == 0) {
        u64* next = control + (p.steps + 1) % SIDES * CONTROL_WORDS;
        for (u32 i : {TAIL, HUB_TAIL, FOUND_PRIOR, WEIGHT_PRIOR, FOUND_LAST, WEIGHT_LAST}) next[i] = 0;
        if (p.step == DONE) {
            log[LOG_LEVELS] = p.level;
            log[LOG_CHANGES] = p.changes;
        }
    }
}

// Set every vertex unvisited but the source, and undo the last search where no pass goes.
__device__ __forceinline__ void begin(const Search& s, Progress& p, u64* counts, u64* log, u64 source, u64 previous) {
    u64 inside = s.words * 32;
    for (u64 word = global_thread(); word < s.words; word += global_threads()) {
        u32 bits = s.closed[word];
        if (word == source >> 5) bits |= 1u << (source & 31);
        s.exact[word] = bits;
        if (TREE) s.other[word] = bits;
    }
    if (TREE) {
        u64 source_key = make_key(0, NO_PREDECESSOR);
        u64 last = inside < s.vertices ? inside : s.vertices;
        for (u64 v = global_thread(); v < last; v += global_threads()) s.keys[v] = v == source ? source_key : UNREACHED;
        if (global_thread() == 0) {
            if (previous >= inside) s.keys[previous] = UNREACHED;
            if (source >= inside) s.keys[source] = source_key;
        }
    } else if (global_thread() == 0) {
        s.distance[previous] = -1;
        s.distance[source] = 0;
    }

    if (threadIdx.x == 0) {
        p = Progress{};
        p.step = START;
        if (blockIdx.x == 0) trace(p, log, 0);
    }
    if (blockIdx.x == 0 && warp_id() == 0) {
        for (u32 i = lane_id(); i < 2 * MAX_IN_TEAM; i += WARP) counts[i] = 0;
        for (u32 i = lane_id(); i < SIDES * CONTROL_WORDS; i += WARP) s.control[i] = 0;
        __syncwarp();
        u64 weight, entries = queue_source(s, source, weight);
        if (lane_id() == 0) {
            s.control[TAIL] = entries;
            s.control[FOUND_LAST] = 1;
            s.control[WEIGHT_LAST] = weight;
        }
    }
}

// Write what is left: -1 for the unreached, or both arrays from keys too wide to be read as they are.
__device__ __forceinline__ void finish(const Search& s, i64* predecessor) {
    write_wide(s.keys, s.distance, predecessor, s.vertices);
    if (TREE == 0) {
        for (u64 base = global_thread() - lane_id(); base < s.words; base += global_threads()) {
            u32 bits = base + lane_id() < s.words ? s.exact[base + lane_id()] : ~0u;
            u32 some = __ballot_sync(ALL_LANES, bits != ~0u);
            while (some) {
                u32 from = __ffs(some) - 1;
                some &= some - 1;
                if (!(__shfl_sync(ALL_LANES, bits, from) >> lane_id() & 1))
                    s.distance[(base + from) * 32 + lane_id()] = -1;
            }
        }
    }
}

// The search; all blocks of the grid call it.
__device__ __forceinline__ void run(Search& s, Progress& p, const Tuning& t, const Buffers& b, i64* predecessor,
                                    u64 source, u64 previous) {
    begin(s, p, b.counts, b.log, source, previous);
    while (true) {
        grid_barrier(b.arrivals);
        if (threadIdx.x == 0) advance(s, p, t, b.control, b.log);
        __syncthreads();
        u32 step = p.step;
        s.control = b.control + p.steps % SIDES * CONTROL_WORDS;
        s.end = p.end;
        s.hub_end = p.hub_end;
        s.exact = b.bitmaps + (p.exact_side ? s.words : 0);
        s.other = b.bitmaps + (p.exact_side ? 0 : s.words);
        if (step == DONE) break;
        if (ONE_PUSH) {
            if (step == PUSH || step == PUSH_UNQUEUED) push(s, p, arena, step == PUSH);
        } else if (step == PUSH) {
            push(s, p, arena, true);
        }
        if (step == TEAM)
            team(s, p, arena, b.counts, u32(t.team_blocks), u32(t.team_capacity), t.team_limit, t.team_uneven, t.max_depth);
        if (step == REDISTRIBUTE) redistribute(s, p);
        if (!ONE_PUSH && step == PUSH_UNQUEUED) count_pushed(s, p, arena);
        if (step == PULL) pull(s, p, arena, t.room, t.words_per_unvisited, t.candidates);
        if (step == ENQUEUE) enqueue(s, p, arena);
    }
    finish(s, predecessor);
    __syncthreads();
    if (global_thread() == 0) {
        u32 last = p.steps + 1 < MAX_TRACED ? p.steps + 1 : MAX_TRACED - 1;
        trace(p, b.log, last);
        b.log[LOG_STEPS] = last + 1;
    }
}
