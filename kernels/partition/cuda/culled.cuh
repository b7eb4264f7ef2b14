// nn visited as by Merrill, Garland and Grimshaw (PPoPP 2012, sections 4.1, 4.2 and 6.1): a block gathers a tile of rows,
// drops local duplicates and what its bitmask has, and sorts the rest by owner into bins, whose places it finds by a
// prefix sum over counts by owner and warp.
//
// In the paper one kernel writes an edge queue and another filters and sorts it. Here this is one pass: a block asks for its
// places in each bin once for each BATCH * blockDim.x arcs, by an atomic whose result is where its own begin, and ends that
// this rank owns are claimed at once, so that they are in no bin.

#include "kernels/bfs/cuda/culling.cuh"
#include "kernels/partition/cuda/by_length.cuh"
#include "kernels/partition/cuda/reach.cuh"

// Of Stages::parts, as in kernels/partition/cuda/launch.py.
enum Part : u32 { PREFIX_SUM = 1, UNIQUIFY = 2, BEST_EFFORT = 4, LOCAL_DUPLICATES = 8 };

// What became of the arcs of a level: of all that were gathered, those dropped as local duplicates, those dropped because the
// bitmask had their ends, and those sent. The rest are ends that this rank owns.
enum Gathered : u32 { ARCS, DUPLICATES, MASKED, SENT, GATHERED_COUNTS };

struct Culled {
    u64 parts;
    u64 sums[GATHERED_COUNTS];  // of this block's level
};

__device__ __forceinline__ Culled& culled() {
    __shared__ Culled of_block;
    return of_block;
}

// Add a block's sums to those of its device's record, if there is one; they are zero again afterwards.
__device__ __forceinline__ void flush_culled(u64* record) {
    __syncthreads();
    if (threadIdx.x >= GATHERED_COUNTS) return;
    u64& sum = culled().sums[threadIdx.x];
    if (record && sum) atomicAdd(&record[threadIdx.x], sum);
    sum = 0;
}

// What a block has in the words of its warps while it visits nn.
constexpr u32 TILE_ROWS = MAX_WARPS * WARP;
struct Workspace {
    u64 history[HISTORY];
    OFFSET base[TILE_ROWS];  // first arc of a row less the arcs of the rows before it
    u32 owner[TILE_ROWS];
    u32 before[TILE_ROWS];  // arcs of the rows before it
    u8 winners[MAX_WARPS * WARP_HASH];
};
static_assert(sizeof(Workspace) <= MAX_WARPS * WORDS_OF_WARP * sizeof(u32), "a block's tile lies in the words of its warps");

__device__ __forceinline__ Workspace& workspace() {
    return *reinterpret_cast<Workspace*>(words_of_warp() - warp_id() * WORDS_OF_WARP);
}

// Whether a vertex of another rank was not sent there yet, as far as a byte tells that is read and written: others may
// overwrite a bit, and the vertex is sent again.
__device__ __forceinline__ bool unsent_at_best(const Rank& r, u32 to, u32 id) {
    volatile u8* byte = reinterpret_cast<u8*>(r.sent + to * r.sent_words) + (id >> 3);
    u32 known = *byte, bit = 1u << (id & 7);
    if (known & bit) return false;
    *byte = u8(known | bit);
    return true;
}

constexpr u32 BINS_AT_ONCE = 64;

// Put what whole blocks send into the bins, in the order of warps.
template <u32 N>
__device__ __forceinline__ void send_in_order(u32 ranks, const Rank& r, const bool (&live)[N], const u32 (&to)[N],
                                              const u32 (&id)[N], const u32 (&owner)[N]) {
    // Counts of each warp, of at most N * WARP, and then of the warps before it.
    __shared__ unsigned short before[BINS_AT_ONCE][MAX_WARPS];
    __shared__ u64 begins[BINS_AT_ONCE];
    for (u32 first = 0; first < ranks; first += BINS_AT_ONCE) {
        // Other lanes may still read what the last call left.
        __syncwarp();
        for (u32 bin = lane_id(); bin < BINS_AT_ONCE; bin += WARP) before[bin][warp_id()] = 0;
        __syncwarp();
        bool mine[N];
        u32 place[N];
#pragma unroll
        for (u32 k = 0; k < N; ++k) {
            u32 bin = to[k] - first;
            mine[k] = live[k] && bin < BINS_AT_ONCE;
            u32 senders = __ballot_sync(ALL_LANES, mine[k]), counted = mine[k] ? before[bin][warp_id()] : 0, same = 0;
            __syncwarp();
            if (mine[k]) {
                same = __match_any_sync(senders, bin);
                if (lane_id() == u32(__ffs(same) - 1)) before[bin][warp_id()] = (unsigned short)(counted + __popc(same));
            }
            place[k] = counted + __popc(same & lanes_below());
            __syncwarp();
        }
        __syncthreads();
        for (u32 bin = threadIdx.x; bin < BINS_AT_ONCE && first + bin < ranks; bin += blockDim.x) {
            u32 sum = 0;
            for (u32 warp = 0; warp < blockDim.x / WARP; ++warp) {
                u32 own = before[bin][warp];
                before[bin][warp] = (unsigned short)(sum);
                sum += own;
            }
            if (sum) begins[bin] = atomicAdd(&r.bin_tail[first + bin], u64(sum));
        }
        __syncthreads();
#pragma unroll
        for (u32 k = 0; k < N; ++k)
            if (mine[k]) put(r, begins[to[k] - first] + before[to[k] - first][warp_id()] + place[k], id[k], owner[k]);
    }
}

// Of this thread in a visit.
struct Counts {
    u32 of[GATHERED_COUNTS] = {};
};

// The ends of nn arcs; whole blocks call it. What is no duplicate and not known is claimed or sent.
template <u32 N>
__device__ __forceinline__ void reach_culled(const World& w, const Rank& r, const Arcs<N>& a, Counts& counts) {
    u32 ranks = u32(w.rank_count), parts = u32(culled().parts);
    Culling culling{workspace().history, workspace().winners};
    VERTEX vertex[N];
    bool live[N];
#pragma unroll
    for (u32 k = 0; k < N; ++k) {
        live[k] = a.live[k];
        counts.of[ARCS] += live[k];
        vertex[k] = live[k] ? r.nn_columns[a.arc[k]] : VERTEX(0);
    }
    if (parts & LOCAL_DUPLICATES)
#pragma unroll
        for (u32 k = 0; k < N; ++k) {
            // Any predecessor stands for any other.
            VERTEX tail = TREE == SMALLEST ? VERTEX(a.owner[k]) : VERTEX(0);
            bool twice = culled_by_warp(culling, live[k], vertex[k], tail);
            if (live[k] && !twice) twice = culled_by_history(culling, vertex[k], tail);
            counts.of[DUPLICATES] += live[k] && twice;
            live[k] = live[k] && !twice;
        }
    u32 to[N], id[N];
    bool here[N], goes[N];
#pragma unroll
    for (u32 k = 0; k < N; ++k) {
        to[k] = ranks == 1 ? 0 : u32(vertex[k] % ranks);
        id[k] = ranks == 1 ? u32(vertex[k]) : u32(vertex[k] / ranks);
        here[k] = live[k] && to[k] == u32(r.rank);
        bool away = live[k] && !here[k], known = false;
        // Of its own vertices a rank knows in any case which it reached.
        if (here[k] && parts & UNIQUIFY)
            known = *reinterpret_cast<volatile u32*>(&r.reached[id[k] >> 5]) >> (id[k] & 31) & 1;
        if (away && parts & UNIQUIFY)
            known = !(parts & BEST_EFFORT ? unsent_at_best(r, to[k], id[k]) : unsent(r, to[k], id[k]));
        goes[k] = away && !known;
        counts.of[MASKED] += known;
        counts.of[SENT] += goes[k];
    }
    claim<true>(r.seen, r.reached, r.keys, here, id, [&](u32 k) {
        note_class(r, id[k]);
        return normal_key(vertex_of(r, a.owner[k], ranks));
    });
    if (ranks == 1) return;
    if (parts & PREFIX_SUM)
        send_in_order(ranks, r, goes, to, id, a.owner);
    else
        send(r, goes, to, id, a.owner);
}

// Visit the rows of a tile that no block reads alone: arcs are numbered by a prefix sum, and every thread looks up its own.
template <class Visit>
__device__ __forceinline__ void visit_scanned(const RowOf& row, const Visit& visit) {
    __shared__ u32 sums[WARP + 1];
    Workspace& tile = workspace();
    u32 total, before = block_exclusive_sum<u32>(row.length, sums, total);
    tile.base[threadIdx.x] = row.begin - before;
    tile.owner[threadIdx.x] = row.owner;
    tile.before[threadIdx.x] = before;
    __syncthreads();
    for (u32 at = 0; at < total; at += BATCH * blockDim.x) {
        Arcs<BATCH> arcs;
#pragma unroll
        for (u32 k = 0; k < BATCH; ++k) {
            u32 i = at + k * blockDim.x + threadIdx.x, low = 0;
            for (u32 step = blockDim.x / 2; step; step /= 2)
                if (tile.before[low + step] <= i) low += step;
            arcs.live[k] = i < total;
            arcs.arc[k] = tile.base[low] + i;
            arcs.owner[k] = tile.owner[low];
        }
        visit(arcs);
    }
    __syncthreads();
}

// The history is that of a visit, as the paper's kernels begin with none. Vertices are assigned round-robin, since hubs lie
// together in the queue.
__device__ __forceinline__ void visit_nn(const World& w, const Rank& r, BlockRow& shared, u64 count) {
    __syncthreads();
    if (culled().parts & LOCAL_DUPLICATES) Culling{workspace().history, workspace().winners}.clear();
    __syncthreads();
    Counts counts;
    auto visit = [&](const Arcs<BATCH>& a) { reach_culled(w, r, a, counts); };
    u64 grid = gridDim.x, wide = global_threads(), tiles = (count + wide - 1) / wide * grid;
    if (tiles > count) tiles = count;
    for (u64 tile = blockIdx.x; tile < tiles; tile += grid) {
        u64 i = tile + threadIdx.x * tiles;
        RowOf row = i < count ? queued_row(r.nn_queue, r.nn_offsets, i) : RowOf{0, 0, 0};
        visit_long_rows<BATCH, false>(shared, row, visit);
        if (row.length >= BLOCK_ROW) row.length = 0;
        visit_scanned(row, visit);
    }
#pragma unroll
    for (u32 of = 0; of < GATHERED_COUNTS; ++of) {
        u64 sum = warp_sum(u64(counts.of[of]));
        if (lane_id() == 0 && sum) atomicAdd(&culled().sums[of], sum);
    }
    __syncthreads();
}

// nn is always listed here.
__device__ __forceinline__ void visit_all_nn(const World&, const Rank&) {}
