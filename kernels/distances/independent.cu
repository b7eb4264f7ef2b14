// Breadth-first searches side by side, each by one block with a queue and a bit per vertex of its own: on deep graphs,
// whose frontiers are small and share little, the machine is filled by searches and not by levels. The CPU twin is
// kernels/distances/independent.py.
//
// Contract. Fewer than 2^32 vertices. row_offsets i64 (vertices + 1), columns VERTEX sorted by row. `visited` u32
// (blocks, (vertices + 31) / 32), `queues` VERTEX (blocks, vertices). reached, total, eccentricity i64 and
// reciprocal f64 (sources); by_level i64 (sources, levels), zero before. The three vertex arrays i64 (vertices), or
// null. Block: whole warps.
//
// variants VERTEX: u32 u64

#include "kernels/cuda/lanes.cuh"

constexpr i64 ALONE = 64;  // arcs of a row that a lane reads alone; a warp reads longer ones

struct Block {
    u32* visited;
    VERTEX* queue;
    u32* tail;
    u64 *vertex_reached, *vertex_total;
    i64* vertex_largest;
    u64 level;

    __device__ __forceinline__ void visit(VERTEX v) const {
        u32 bit = 1u << (v & 31);
        // A stale word only lacks bits.
        if (visited[v >> 5] & bit || atomicOr(&visited[v >> 5], bit) & bit) return;
        queue[atomicAdd(tail, 1u)] = v;
        if (!vertex_reached) return;
        atomicAdd(&vertex_reached[v], 1ull);
        if (!level) {
            atomicMax(&vertex_largest[v], i64(0));
            return;
        }
        atomicAdd(&vertex_total[v], level);
        atomicMax(&vertex_largest[v], i64(level));
    }
};

extern "C" __global__ void search(const i64* row_offsets, const VERTEX* columns, u64 vertices, u64 max_depth,
                                  const i64* sources, u64 count, u32* visited, VERTEX* queues, i64* reached, i64* total,
                                  double* reciprocal, i64* eccentricity, i64* by_level, u64 levels, u64* vertex_reached,
                                  u64* vertex_total, i64* vertex_largest) {
    __shared__ u32 tail;
    u64 words = (vertices + 31) / 32;
    Block block{visited + blockIdx.x * words, queues + blockIdx.x * vertices, &tail, vertex_reached, vertex_total,
                vertex_largest, 0};
    for (u64 s = blockIdx.x; s < count; s += gridDim.x) {
        for (u64 i = threadIdx.x; i < words; i += blockDim.x) block.visited[i] = 0;
        if (threadIdx.x == 0) tail = 0;
        __syncthreads();
        block.level = 0;
        if (threadIdx.x == 0) block.visit(VERTEX(sources[s]));
        __syncthreads();
        u32 head = 0, end = tail;
        u64 sum = 0;
        double reciprocals = 0;
        while (true) {
            // All have read `tail` before anybody adds to it.
            __syncthreads();
            u64 found = end - head;
            sum += found * block.level;
            if (block.level) reciprocals += double(found) / double(block.level);
            if (threadIdx.x == 0 && block.level < levels) by_level[s * levels + block.level] = i64(found);
            if (block.level >= max_depth) break;
            ++block.level;
            u32 whole = head + (end - head + WARP - 1) / WARP * WARP;
            for (u32 i = head + threadIdx.x; i < whole; i += blockDim.x) {
                u64 u = i < end ? u64(block.queue[i]) : 0;
                i64 begin = i < end ? row_offsets[u] : 0, stop = i < end ? row_offsets[u + 1] : 0;
                u32 left = __ballot_sync(ALL_LANES, stop - begin > ALONE);
                if (stop - begin <= ALONE)
                    for (i64 k = begin; k < stop; ++k) block.visit(columns[k]);
                while (left) {
                    u32 from = take_lowest(left);
                    i64 first = __shfl_sync(ALL_LANES, begin, from), last = __shfl_sync(ALL_LANES, stop, from);
                    for (i64 k = first + lane_id(); k < last; k += WARP) block.visit(columns[k]);
                }
            }
            __syncthreads();
            head = end;
            end = tail;
            if (head == end) {
                --block.level;
                break;
            }
        }
        if (threadIdx.x == 0) {
            reached[s] = end;
            total[s] = i64(sum);
            reciprocal[s] = reciprocals;
            eccentricity[s] = i64(block.level);
        }
        __syncthreads();
    }
}
