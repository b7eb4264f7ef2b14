// BFS on rows in any layout of kernels/layouts, decoded where they are read, in one cooperative launch. The
// level loop and the choice of direction are on the device, as in kernels/bfs/direction_optimizing.cu.
//
// Contract. Rows ascend and hold what their layout says; bottom-up levels (`may_pull`) need a symmetric graph
// and heads. distance i32 (vertices), or keys u64 (vertices), hold -1 or all ones outside `words * 32` before
// the first launch; each launch undoes what the last one left there (`previous`). queue u64 (units of all rows),
// hubs (rows of more than one unit). Block: a multiple of 32. Grid: no more blocks than run at the same time.
// See state.cuh for the encodings. Limits in arcs are brought to the layout's weights by `weight_of_arc`.
//
// variants LAYOUT: csr varint blocks elias_fano
// variants VERTEX: u32 u64
// variants TREE: 0 32 33
// variants ONE_LANE: 0 1

#include "kernels/bfs/rows/pull.cuh"
#include "kernels/bfs/rows/team.cuh"

extern __shared__ u64 arena[];

struct Tuning {
    u64 candidates, weight;
    bool may_pull;
    u32 max_depth, patience;
    double alpha, beta, floor, flood, weight_of_arc;
    u64 team_limit, team_room;
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
    if (done == PUSH || done == FLOOD || done == PULL) ++p.level;
    if (done == PULL) p.exact_side ^= 1;
    p.visited += found_prior + found;
    u64 unvisited = t.candidates > p.visited ? t.candidates - p.visited : 0;
    if (done == DEAL) {
        p.hub_begin = p.hub_end;
    } else {
        if (done != ENQUEUE) p.frontier = found;
        p.begin = p.end;
        p.hub_begin = p.hub_end;
        p.frontier_weight = weight;
        // A flood samples; if it met no sample, its vertices weigh as much as the rest on average.
        if (done == FLOOD && !weight)
            p.frontier_weight =
                u64(double(t.weight - p.visited_weight) * double(found) / double(found + unvisited + 1));
        if (done != FLOOD) p.visited_weight += weight_prior + weight;
    }
    p.end += entries;
    p.hub_end += hubs;

    u64 left = t.weight > p.visited_weight ? t.weight - p.visited_weight : 0;
    double frontier = double(p.frontier_weight), word = double(s.words) * t.weight_of_arc;
    bool small_enough = p.frontier_weight <= t.team_limit && p.end - p.begin <= t.team_room;
    bool many = frontier > t.flood * word && !small_enough;
    if (!p.frontier || p.level >= t.max_depth) {
        p.step = DONE;
    } else if (done == PULL) {
        // A bottom-up level over few unvisited vertices costs little more than leaving it would.
        bool small = double(p.frontier) * t.beta < double(t.candidates);
        p.small_pulls = small ? p.small_pulls + 1 : 0;
        p.step = small && (p.small_pulls >= t.patience || unvisited > 4 * s.words) ? ENQUEUE : PULL;
    } else if (done != DEAL && t.may_pull && p.changes < MOST_CHANGES && frontier * t.alpha > double(left) &&
               frontier > t.floor * word) {
        p.step = PULL;
        p.small_pulls = 0;
    } else if (done == FLOOD) {
        p.step = ENQUEUE;
    } else if (done != DEAL && (many || p.hub_begin < p.hub_end)) {
        p.step = DEAL;
    } else {
        p.step = many ? FLOOD : small_enough ? TEAM : PUSH;
    }

    u32 pulling = p.step == PULL;
    bool known = p.step == DONE || p.step == ENQUEUE || p.step == DEAL;
    if (!known && (pulling != p.pulling || !p.changes)) {
        if (blockIdx.x == 0) log[LOG_FIRST + p.changes] = u64(p.level) << 1 | pulling;
        ++p.changes;
        p.pulling = pulling;
    }
    ++p.steps;
    if (blockIdx.x == 0 && p.steps < MOST_TRACED) trace(p, log, p.steps);
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
__device__ __forceinline__ void begin(const Search& s, Progress& p, u64* slots, u64* log, u64 source, u64 previous) {
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
        for (u32 i = lane_id(); i < 2 * MOST_IN_TEAM; i += WARP) slots[i] = 0;
        for (u32 i = lane_id(); i < SIDES * CONTROL_WORDS; i += WARP) s.control[i] = 0;
        __syncwarp();
        u64 weight = row_weight(s.rows, source), units = entries_of(s, VERTEX(source), weight);
        if (units == 1 && lane_id() == 0) s.queue[0] = row_entry(VERTEX(source), weight);
        for (u64 unit = lane_id(); units > 1 && unit < units; unit += WARP)
            s.queue[unit] = make_entry(VERTEX(source), unit);
        if (lane_id() == 0) {
            s.control[TAIL] = units;
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

extern "C" __global__ void __launch_bounds__(MOST_THREADS, 1)
    search(ROWS_PARAMETERS, const VERTEX* heads, const VERTEX* planes, const u32* closed, u32* bitmaps, i32* distance, u64* keys,
           i64* predecessor, u64* queue, VERTEX* hubs, u64* control, u64* slots, u64* log, u64* arrivals, u64 vertices,
           u64 words, u64 candidates, u64 weight, u64 may_pull, u64 max_depth, double alpha, double beta, double floor,
           double flood_from, double weight_of_arc, u64 patience, u64 team_blocks, u64 team_capacity, u64 team_limit,
           u64 team_uneven, u64 room, double words_per_open, u64 plane_count, u64 source, u64 previous) {
    __shared__ Progress p;
    Search s{make_rows(ROWS_ARGUMENTS), heads, planes, u32(plane_count), closed, bitmaps, bitmaps + words, distance,
             keys, queue, hubs, control, 0, 0, vertices, words};
    Tuning tuning{candidates, weight, may_pull != 0, u32(max_depth), u32(patience), alpha, beta, floor, flood_from,
                  weight_of_arc, team_limit, team_blocks * team_capacity};
    begin(s, p, slots, log, source, previous);
    while (true) {
        grid_barrier(arrivals);
        if (threadIdx.x == 0) advance(s, p, tuning, control, log);
        __syncthreads();
        u32 step = p.step;
        s.control = control + p.steps % SIDES * CONTROL_WORDS;
        s.end = p.end;
        s.hub_end = p.hub_end;
        s.exact = bitmaps + (p.exact_side ? words : 0);
        s.other = bitmaps + (p.exact_side ? 0 : words);
        if (step == DONE) break;
        if (step == PUSH) push(s, p, arena);
        if (step == TEAM)
            team(s, p, arena, slots, u32(team_blocks), u32(team_capacity), team_limit, team_uneven, u32(max_depth));
        if (step == DEAL) deal(s, p);
        if (step == FLOOD) flood(s, p, arena);
        if (step == PULL) pull(s, p, arena, room, words_per_open, candidates);
        if (step == ENQUEUE) enqueue(s, p, arena);
    }
    finish(s, predecessor);
    __syncthreads();
    if (global_thread() == 0) {
        u32 last = p.steps + 1 < MOST_TRACED ? p.steps + 1 : MOST_TRACED - 1;
        trace(p, log, last);
        log[LOG_STEPS] = last + 1;
    }
}

// Before any search: the first two neighbours of every vertex below `last` and the next ones in planes (if `heads`
// is not null), the vertices without any, and sums over all rows. totals: units, weight, rows of more than one unit, the last vertex that
// has arcs + 1, rows that have arcs.
extern "C" __global__ void measure_rows(ROWS_PARAMETERS, u64 vertices, u64 last, u64 plane_count, VERTEX* heads,
                                        VERTEX* planes, u32* closed, u64* totals) {
    Rows rows = make_rows(ROWS_ARGUMENTS);
    u64 units = 0, weight = 0, hubs = 0, upto = 0, linked = 0;
    for (u64 v = global_thread(); v < last; v += global_threads()) {
        u64 own = v < vertices ? row_units(rows, v) : 0;
        if (own) {
            units += own;
            weight += row_weight(rows, v);
            hubs += own > 1;
            upto = v + 1;
            ++linked;
        }
        if (heads) {
            Cursor cursor{};
            bool more = own != 0;
            if (more) cursor = open_row(rows, VERTEX(v));
            for (u64 k = 0; k < 2 + plane_count * IN_PLANE; ++k) {
                VERTEX read = NO_VERTEX;
                more = more && next_neighbour(rows, cursor, read);
                if (!more) read = NO_VERTEX;
                u64 place = k - 2;
                VERTEX* to = k < 2 ? &heads[2 * v + k] : &planes[(place / IN_PLANE * last + v) * IN_PLANE + place % IN_PLANE];
                *to = read;
            }
        }
        u32 none = __ballot_sync(ALL_LANES, own == 0);
        if (lane_id() == 0) closed[v / 32] = none;
    }
    units = warp_sum(units);
    weight = warp_sum(weight);
    hubs = warp_sum(hubs);
    linked = warp_sum(linked);
    for (u32 step = WARP / 2; step; step /= 2) {
        u64 theirs = __shfl_xor_sync(ALL_LANES, upto, step);
        upto = theirs > upto ? theirs : upto;
    }
    if (lane_id() == 0 && units) {
        atomicAdd(&totals[0], units);
        atomicAdd(&totals[1], weight);
        atomicAdd(&totals[2], hubs);
        atomicMax(&totals[3], upto);
        atomicAdd(&totals[4], linked);
    }
}
