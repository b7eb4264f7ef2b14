// One rank of a striped graph in device memory, and what all ranks know of each other.
//
// A rank's bins lie one after another from `bin_start` on, each with room for all that a search can put there, so
// that nothing is ever overwritten: what a level adds to bin b begins at `bin_start[b]` + `sent[b]`, and `counts` says
// how much that is. Counts have SIDES copies, and `sent` and `came` two: those of a level are read in it, by peers
// too, and written again only when no device can still be reading them.

#include "kernels/bfs/gather.cuh"
#include "kernels/bfs/lookup.cuh"
#include "kernels/cuda/lanes.cuh"
#include "kernels/partition/device_barrier.cuh"

constexpr u32 THREADS = 256;           // of a block at most, as kernels/striped/cuda/launch.py says
constexpr u32 SIDES = 3;
enum Count : u32 { FRONTIER, KEPT };   // of a level: vertices, and from KEPT on what is in each rank's bin
enum Tail : u32 { QUEUED, LISTED_HUGE, TAILS };

// The fields, in this order, are in kernels/striped/cuda/memory.py too; each takes 8 bytes. Those above `rank` are
// valid for every rank, as peer pointers; the rest only for ranks of this device.
struct Stripe {
    u64* counts;           // (SIDES, KEPT + ranks)
    const u64* bin_start;  // (ranks + 1)
    u32* bin_ids;
    u32* bin_tails;        // if TREE: local tails of the arcs
    u64 rank;
    const OFFSET* row_offsets;  // (local + 1)
    const VERTEX* columns;
    i32* distance;         // (local), written if TREE is not 32
    u64* keys;             // (local), if TREE
    i64* predecessor;      // (local), if TREE is 33
    u32* bitmask;          // a bit for every vertex of the graph, or null
    u32* queue;            // (local) all vertices found so far, by level
    u32* huge;             // those with huge rows
    u64* tails;            // (TAILS) lengths of the two
    u64* sent;             // (2, ranks) entries of each own bin before this level
    u64* came;             // (2, ranks) how far each rank's bin for this one was read
    u64 local;
};

struct World {
    const Stripe* stripes;
    const u64* here;  // ranks of this device
    u64 here_count, rank_count, vertices;
    u64 longest;  // row that its block reads: the whole grid reads longer ones together, as in kernels/bfs/wide.cuh
    __device__ __forceinline__ u64 side(u64 level) const { return level % SIDES * (KEPT + rank_count); }
};

// The part of a rank's queue that is the frontier, in shared memory.
struct Window {
    u64 first, end, first_huge, end_huge;

    __device__ __forceinline__ void move(const u64* tails) {
        first = end;
        first_huge = end_huge;
        end = load_relaxed(&tails[QUEUED]);
        end_huge = load_relaxed(&tails[LISTED_HUGE]);
    }
};

template <class T>
__device__ __forceinline__ void fill(T* values, u64 count, T value) {
    for (u64 i = global_thread(); i < count; i += global_threads()) values[i] = value;
}
