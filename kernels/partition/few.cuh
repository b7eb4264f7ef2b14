// Levels of few arcs, one after the other, by one block of each device: what such a level takes is not its arcs but the
// meetings of all blocks and passing over bitmaps. A row is found by its first arc, so that lanes have an arc each;
// what is found is listed, and nothing else is looked at. The bitmaps, labels, counts and queues are those of other
// levels, as other blocks find them when they go on.

#include "kernels/partition/backward.cuh"
#include "kernels/partition/forward.cuh"
#include "kernels/partition/meeting.cuh"
#include "kernels/partition/queues.cuh"

constexpr u32 FEW = 1024;  // arcs of all ranks at most, and so what is found; in kernels/partition/options.py too

// What the block works with, where the rows of backward visits wait otherwise.
struct Few {
    u32 starts[FEW];  // of the rows, counted over all of them
    u32 rows[FEW];    // in the order of nn, nd, dn, dd
    u32 spare[FEW];
};

__device__ __forceinline__ Few& few() {
    static_assert(sizeof(Few) == sizeof(u32) * MOST_WARPS * (WAITING + QUAD * WARP), "rows that wait take as much");
    return *reinterpret_cast<Few*>(waiting_rows(0));
}

// What a rank finds in a level; its lists are in global memory, where others read those of delegates.
struct Finds {
    u32 normals, delegates, others;  // others: delegates that other ranks found
};

__device__ __forceinline__ bool take_bit(u32* bitmap, u32 place) {
    u32 bit = 1u << (place & 31);
    return !(atomicOr(&bitmap[place >> 5], bit) & bit);
}

__device__ __forceinline__ void find_normal(const Rank& r, Finds& finds, u32 local, u64 key) {
    if (!take_bit(r.reached, local)) return;
    r.few_normals[atomicAdd(&finds.normals, 1u)] = local;
    if (TREE) r.keys[local] = Key(key);
}

__device__ __forceinline__ void find_delegate(const Rank& r, Finds& finds, u32 d, u64 key) {
    if (!take_bit(r.delegates_seen, d)) return;
    r.few_delegates[1 + atomicAdd(&finds.delegates, 1u)] = d;
    if (TREE) r.delegate_keys[d] = Key(key);
}

#if ENCODED  // arcs of such rows have no places

__device__ __forceinline__ void visit_few(const World&, const Rank&, const u64*, Finds&, u64*) {}

#else

// Places of the rows of each subgraph among all, and of the end.
struct FewRows {
    u32 first[5];

    __device__ __forceinline__ explicit FewRows(const u64* counts) {
        const u64 rows[4] = {counts[NN_TAIL], counts[ND_TAIL], counts[DN_TAIL] >> MERGE_BITS, counts[DD_TAIL] >> MERGE_BITS};
        first[0] = 0;
#pragma unroll
        for (u32 k = 0; k < 4; ++k) first[k + 1] = first[k] + u32(rows[k]);
    }

    __device__ __forceinline__ Reading of(u32 place) const {
        return place < first[1] ? READ_NN : place < first[2] ? READ_ND : place < first[3] ? READ_DN : READ_DD;
    }
};

// List the rows with their first arcs, and clear their bits in the frontier; gives the arcs.
__device__ __forceinline__ u32 list_few(const Rank& r, const FewRows& rows, u64* scratch) {
    u64 arcs = 0, all;
    for (u32 base = 0; base < rows.first[4]; base += blockDim.x) {
        u32 place = base + threadIdx.x, row = 0;
        u64 length = 0;
        if (place < rows.first[4]) {
            Reading reading = rows.of(place);
            const u32* queue = reading == READ_NN ? r.nn_queue : reading == READ_ND ? r.nd_queue : reading == READ_DN ? r.dn_queue : r.dd_queue;
            const OFFSET* offsets = reading == READ_NN ? r.nn_offsets : reading == READ_ND ? r.nd_offsets : reading == READ_DN ? r.dn_offsets : r.dd_offsets;
            row = queue[place - rows.first[reading]];
            length = u64(offsets[row + 1] - offsets[row]);
            (reading == READ_NN || reading == READ_ND ? r.front : r.delegates_front)[row / 32] = 0;
        }
        u64 begin = arcs + block_exclusive_sum(length, scratch, all);
        if (place < rows.first[4]) {
            few().starts[place] = u32(begin);
            few().rows[place] = row;
        }
        arcs += all;
    }
    __syncthreads();
    return u32(arcs);
}

// Visit all four subgraphs forward. Whole blocks call it.
__device__ __forceinline__ void visit_few(const World& w, const Rank& r, const u64* counts, Finds& finds, u64* scratch) {
    FewRows rows(counts);
    u32 arcs = list_few(r, rows, scratch), ranks = u32(w.rank_count), own = u32(r.rank);
    for (u32 base = 0; base < arcs; base += blockDim.x) {
        u32 arc = base + threadIdx.x, low = 0, high = rows.first[4];
        bool live = arc < arcs;
        while (high - low > 1) {
            u32 middle = (low + high) / 2;
            if (few().starts[middle] <= arc)
                low = middle;
            else
                high = middle;
        }
        Reading reading = rows.of(low);
        u32 row = few().rows[low], past = arc - few().starts[low];
        bool goes[1] = {false};
        u32 to[1] = {0}, id[1] = {0}, owner[1] = {row};
        if (live && reading == READ_NN) {
            VERTEX vertex = r.nn_columns[r.nn_offsets[row] + past];
            to[0] = u32(vertex % ranks), id[0] = u32(vertex / ranks);
            if (to[0] == own)
                find_normal(r, finds, id[0], u64(row) * ranks + own);
            else
                goes[0] = unsent(r, to[0], id[0]);
        } else if (live && reading == READ_ND)
            find_delegate(r, finds, r.nd_columns[r.nd_offsets[row] + past], u64(row) * ranks + own);
        else if (live && reading == READ_DN)
            find_normal(r, finds, r.dn_columns[r.dn_offsets[row] + past], u64(w.delegates[row]));
        else if (live)
            find_delegate(r, finds, r.dd_columns[r.dd_offsets[row] + past], u64(w.delegates[row]));
        if (ranks > 1) send(r, goes, to, id, owner);
    }
    __syncthreads();
    if (threadIdx.x == 0) r.few_delegates[0] = finds.delegates;
}

#endif

// Take in what other ranks found and sent, of `side` as in `receive`.
__device__ __forceinline__ void take_few(const World& w, const Rank& r, Finds& finds, u64* sums, u64 side) {
    u64* came = r.came + side * w.rank_count;
    u64* next = r.came + (side ^ 1) * w.rank_count;
    for (u32 from = 0; from < w.rank_count; ++from) {
        if (from == r.rank) continue;
        const Rank& sender = w.ranks[from];
        u32 found = __ldcv(&sender.few_delegates[0]);
        u64 begin = came[from], last = __ldcv(&sender.bin_tail[r.rank]);
        for (u32 i = threadIdx.x; i < found; i += blockDim.x) {
            u32 d = __ldcv(&sender.few_delegates[1 + i]);
            if (take_bit(r.delegates_seen, d)) r.few_normals[FEW - 1 - atomicAdd(&finds.others, 1u)] = d;
        }
        for (u64 i = begin + threadIdx.x; i < last; i += blockDim.x)
            find_normal(r, finds, __ldcv(&sender.bin_ids[i]), TREE ? u64(__ldcv(&sender.bin_tails[i])) * w.rank_count + from : 0);
        if (threadIdx.x != 0) continue;
        next[from] = last;
        sums[ARRIVED] += last - begin;
    }
    __syncthreads();
}

// Label what was found, make it the frontier and list it; `sums` are this level's counts.
template <class LabelNormal, class LabelDelegate>
__device__ __forceinline__ void settle_few(const World& w, const Rank& r, const Finds& finds, u64* sums,
                                           const LabelNormal& label_normal, const LabelDelegate& label_delegate) {
    for (u32 i = threadIdx.x; i < finds.normals; i += blockDim.x) {
        u32 local = r.few_normals[i], bit = 1u << (local & 31);
        atomicOr(&r.seen[local >> 5], bit);
        atomicOr(&r.front[local >> 5], bit);
        label_normal(local);
        u64 nn = u64(r.nn_offsets[local + 1] - r.nn_offsets[local]), nd = u64(r.nd_offsets[local + 1] - r.nd_offsets[local]);
        if (nn) r.nn_queue[atomicAdd(&sums[NN_TAIL], 1ull)] = local;
        if (nd) r.nd_queue[atomicAdd(&sums[ND_TAIL], 1ull)] = local;
        atomicAdd(&sums[NN_ARCS], nn);
        atomicAdd(&sums[ND_ARCS], nd);
    }
    u32 delegates = finds.delegates + finds.others;
    for (u32 i = threadIdx.x; i < delegates; i += blockDim.x) {
        u32 d = i < finds.delegates ? r.few_delegates[1 + i] : r.few_normals[FEW - 1 - (i - finds.delegates)];
        atomicOr(&r.delegates_front[d >> 5], 1u << (d & 31));
        label_delegate(d);
        uint2 lengths = lengths_of(r, d);
        u64 dn = atomicAdd(&sums[DN_TAIL], u64(lengths.x != 0) << MERGE_BITS | lengths.x);
        u64 dd = atomicAdd(&sums[DD_TAIL], u64(lengths.y != 0) << MERGE_BITS | lengths.y);
        if (lengths.x) r.dn_queue[dn >> MERGE_BITS] = d, r.dn_starts[dn >> MERGE_BITS] = dn & MERGE_ARCS;
        if (lengths.y) r.dd_queue[dd >> MERGE_BITS] = d, r.dd_starts[dd >> MERGE_BITS] = dd & MERGE_ARCS;
    }
    __syncthreads();
    if (threadIdx.x != 0) return;
    sums[N_FRESH] = finds.normals;
    sums[D_FRESH] = delegates;
    sums[ND_ROWS] = sums[ND_TAIL];
    sums[DN_ROWS] = sums[DN_TAIL] >> MERGE_BITS, sums[DN_ARCS] = sums[DN_TAIL] & MERGE_ARCS;
    sums[DD_ROWS] = sums[DD_TAIL] >> MERGE_BITS, sums[DD_ARCS] = sums[DD_TAIL] & MERGE_ARCS;
}
