// Local duplicates (Merrill, Garland, Grimshaw, PPoPP 2012, section 4.2): arcs that another arc of the same warp, or
// one that this block gathered before, stands for.
//
// With TREE an arc is culled only for one with a predecessor that is not larger.

#include "kernels/cuda/types.cuh"

constexpr u32 HISTORY = 1024;   // vertices that a block remembers
constexpr u32 WARP_HASH = 128;  // cells of a warp's table, as in the paper's implementation
constexpr u32 SPREAD = 0x9e3779b1u;  // 2^32 over the golden ratio (Knuth, volume 3, section 6.4)
constexpr bool REMEMBERS = !TREE || sizeof(VERTEX) == 4;  // a remembered pair must be one 64-bit word

// Shared by the block: `history` HISTORY words, `winners` WARP_HASH bytes for each warp.
struct Culling {
    u64* history;
    u8* winners;

    __device__ __forceinline__ void clear() const {
        for (u32 i = threadIdx.x; i < HISTORY; i += blockDim.x) history[i] = ~0ull;
    }
};

// A cell of a table. Ids of neighbours in a lattice differ by powers of two, which a remainder would put together.
__device__ __forceinline__ u32 hashed(VERTEX vertex) {
    return u32(vertex) * SPREAD >> 16;
}

// Whether another lane's arc stands for this one; all lanes call it.
__device__ __forceinline__ bool culled_by_warp(const Culling& c, bool live, VERTEX vertex, VERTEX parent) {
    volatile u8* winners = c.winners + warp_id() * WARP_HASH;
    __syncwarp();
    u32 cell = hashed(vertex) % WARP_HASH;
    if (live) winners[cell] = u8(lane_id());
    __syncwarp();
    u32 winner = live ? winners[cell] : lane_id();
    VERTEX its = __shfl_sync(ALL_LANES, vertex, winner);
    VERTEX its_parent = TREE ? __shfl_sync(ALL_LANES, parent, winner) : VERTEX(0);
    return winner != lane_id() && its == vertex && (!TREE || its_parent <= parent);
}

// Whether an arc that this block looked up before stands for this one; if not, it is remembered. What another
// warp looks up at the same moment is not seen.
__device__ __forceinline__ bool culled_by_history(const Culling& c, VERTEX vertex, VERTEX parent) {
    if (!REMEMBERS) return false;
    volatile u64* cell = &c.history[hashed(vertex) % HISTORY];
    u64 mine = TREE ? u64(vertex) << 32 | u64(parent) : u64(vertex), known = *cell;
    if (TREE ? known >> 32 == vertex && known <= mine : known == mine) return true;
    *cell = mine;
    return false;
}
