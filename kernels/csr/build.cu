// Edges into sorted rows: arcs packed as 64-bit keys, sorted (by CuPy's radix sort), compacted.
//
// A key is (row - first) << bits | column, so that ascending keys are ascending rows with ascending columns.
// Kernels: count_arcs and pack_arcs take edges and the same choice of arcs; unpack_arcs takes sorted keys.
// Contract: source, target VERTEX (edges); choice bit 0 = source -> target, bit 1 = target -> source, bit 2 =
// keep loops (a loop makes one arc). Sums in i64. Any block that is a multiple of 32 up to 1024.
//
// variants VERTEX: u32 u64

#include "kernels/cuda/types.cuh"

struct Arcs {
    bool forward, backward;
};

__device__ __forceinline__ Arcs choose(u64 source, u64 target, u64 first, u64 last, u32 choice) {
    bool loop = source == target, kept = !loop || (choice & 4);
    bool forward = (choice & 1) || (loop && (choice & 2));
    return {kept && forward && source >= first && source < last,
            kept && !loop && (choice & 2) && target >= first && target < last};
}

// total[0] += arcs; total[1] = the least edge with an end that is no vertex (start at all ones).
extern "C" __global__ void count_arcs(const VERTEX* source, const VERTEX* target, u64 edges, u64 vertices, u64 first,
                                      u64 last, u32 choice, u64* total) {
    u64 arcs = 0;
    for (u64 i = global_thread(); i < edges; i += global_threads()) {
        u64 from = source[i], to = target[i];
        if (from >= vertices || to >= vertices) atomicMin(&total[1], i);
        Arcs made = choose(from, to, first, last, choice);
        arcs += made.forward + made.backward;
    }
    arcs = warp_sum(arcs);
    if (lane_id() == 0 && arcs) atomicAdd(&total[0], arcs);
}

// The keys of all arcs, in any order; `tail` starts at 0.
extern "C" __global__ void pack_arcs(const VERTEX* source, const VERTEX* target, u64 edges, u64 first, u64 last,
                                     u32 choice, u32 bits, u64* tail, u64* keys) {
    __shared__ u64 scratch[WARP + 1];
    __shared__ u64 base;
    for (u64 tile = u64(blockIdx.x) * blockDim.x; tile < edges; tile += global_threads()) {
        u64 i = tile + threadIdx.x;
        u64 from = i < edges ? source[i] : 0, to = i < edges ? target[i] : 0;
        Arcs made = choose(from, to, first, last, i < edges ? choice : 0);
        u64 total;
        u64 place = block_exclusive_sum<u64>(made.forward + made.backward, scratch, total);
        if (threadIdx.x == 0) base = atomicAdd(tail, total);
        __syncthreads();
        place += base;
        if (made.forward) keys[place++] = (from - first) << bits | to;
        if (made.backward) keys[place] = (to - first) << bits | from;
        __syncthreads();
    }
}

// Arcs per row, added to `degrees` (vertices).
extern "C" __global__ void count_degrees(const VERTEX* source, const VERTEX* target, u64 edges, u64 vertices,
                                         u32 choice, u64* total, u64* degrees) {
    for (u64 i = global_thread(); i < edges; i += global_threads()) {
        u64 from = source[i], to = target[i];
        if (from >= vertices || to >= vertices) {
            atomicMin(&total[1], i);
            continue;
        }
        Arcs made = choose(from, to, 0, vertices, choice);
        if (made.forward) atomicAdd(&degrees[from], 1ull);
        if (made.backward) atomicAdd(&degrees[to], 1ull);
    }
}

__device__ __forceinline__ bool keeps(const u64* keys, u64 i, u64 count, bool duplicates) {
    return i < count && (duplicates || i == 0 || keys[i] != keys[i - 1]);
}

// How many keys each tile of blockDim.x * 16 keeps.
constexpr u32 ROUNDS = 16;

extern "C" __global__ void count_kept(const u64* keys, u64 count, u32 duplicates, i64* of_tile) {
    __shared__ u32 sum;
    if (threadIdx.x == 0) sum = 0;
    __syncthreads();
    u32 kept = 0;
    for (u32 round = 0; round < ROUNDS; ++round)
        kept += keeps(keys, (u64(blockIdx.x) * ROUNDS + round) * blockDim.x + threadIdx.x, count, duplicates);
    kept = warp_sum(kept);
    if (lane_id() == 0) atomicAdd(&sum, kept);
    __syncthreads();
    if (threadIdx.x == 0) of_tile[blockIdx.x] = sum;
}

// Write the kept columns; degrees[row] becomes the row's length (it starts at 0), loops[0] += kept loops.
// `before` holds the kept keys before each tile.
extern "C" __global__ void unpack_arcs(const u64* keys, u64 count, u32 duplicates, u32 bits, u64 first,
                                       const i64* before, VERTEX* columns, u64* degrees, u64* loops) {
    __shared__ u32 scratch[WARP + 1];
    u64 place = u64(before[blockIdx.x]);
    u64 mask = (1ull << bits) - 1;
    u64 looped = 0;
    for (u32 round = 0; round < ROUNDS; ++round) {
        u64 i = (u64(blockIdx.x) * ROUNDS + round) * blockDim.x + threadIdx.x;
        u32 total;
        bool kept = keeps(keys, i, count, duplicates);
        u64 mine = place + block_exclusive_sum<u32>(kept, scratch, total);
        place += total;
        if (i < count) {
            u64 key = keys[i], row = key >> bits;
            if (kept) {
                columns[mine] = VERTEX(key & mask);
                looped += row + first == (key & mask);
            }
            // A row's length is where its last arc ends less where its first begins.
            if (i == 0 || keys[i - 1] >> bits != row) atomicAdd(&degrees[row], 0ull - mine);
            if (i + 1 == count || keys[i + 1] >> bits != row) atomicAdd(&degrees[row], mine + kept);
        }
    }
    looped = warp_sum(looped);
    if (lane_id() == 0 && looped) atomicAdd(loops, looped);
}
