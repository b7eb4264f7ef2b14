// Breadth-first searches side by side, each by one block with a queue and a bit per vertex of its own: on deep graphs,
// whose frontiers are small and share little, the machine is filled by searches and not by levels. The CPU twin is
// kernels/distances/independent.py.
//
// A level takes as long as its loads and atomics wait for one another. So the bits lie in shared memory where they fit
// (SHARED 1), as do the frontier and the next one as far as there is room; what is more goes to `queues`, to the two ends
// of a block's part in turn. A record has the neighbours of a short row, for which one load is enough.
//
// Contract. Fewer than 2^32 vertices. Rows: SOURCE_PARAMETERS of kernels/distances/sources; records VERTEX (RECORD *
// vertices) as `make_records` leaves them. `visited` u32 (blocks, (vertices + 31) / 32) unless SHARED, `queues` VERTEX
// (blocks, capacity). reached, total, eccentricity i64 and reciprocal f64 (sources); by_level i64 (sources, levels), zero
// before. The three vertex arrays i64 (vertices), or null. Block: whole warps. Dynamic shared memory: the bits, if SHARED,
// and 2 * room vertices.
//
// A search whose frontiers need more than `capacity` is given up: its `reached` is -1, its other results mean nothing, and
// vertices count what it found. None is where `capacity` is `vertices`, since no vertex is in two frontiers.
//
// variants LAYOUT: kernels/layouts/*/rows.cuh
// variants VERTEX: u32 u64
// variants SHARED: 0 1

#include "kernels/cuda/lanes.cuh"
#include "kernels/layouts/is_columns.cuh"

#define WORDS 0  // no rows of bits
#if IS_COLUMNS(LAYOUT)
#include "kernels/distances/sources/columns.cuh"
#else
#include "kernels/distances/sources/encoded.cuh"
#endif

constexpr u32 RECORD = 4;             // neighbours of a record: a load of 16 bytes where vertices are u32
constexpr VERTEX NOBODY = ~VERTEX(0);  // behind the last neighbour
constexpr VERTEX LONG = NOBODY - 1;    // first of a record whose row is longer

struct alignas(sizeof(VERTEX) == 4 ? 16 : 8) Record {
    VERTEX neighbour[RECORD];
};

// Once per graph: a record for each vertex, by a warp each.
extern "C" __global__ void make_records(SOURCE_PARAMETERS, u64 vertices, VERTEX* records) {
    Rows source = SOURCE;
    for (u64 v = global_thread() / WARP; v < vertices; v += global_threads() / WARP) {
        i64 begin = offsets_of(source)[v], end = offsets_of(source)[v + 1];
        VERTEX* record = records + RECORD * v;
        u32 degree = 0;
        if (begin < end)
            visit_together(source, whole_row(v, begin, end), [&](VERTEX neighbour, bool there) {
                u32 lanes = __ballot_sync(ALL_LANES, there), place = degree + __popc(lanes & lanes_below());
                if (there && place < RECORD) record[place] = neighbour;
                degree += __popc(lanes);
                return degree <= RECORD;
            });
        __syncwarp();
        if (lane_id() >= degree && lane_id() < RECORD) record[lane_id()] = NOBODY;
        if (degree > RECORD && lane_id() == 0) record[0] = LONG;
        __syncwarp();
    }
}

struct Block {
    u32* visited;
    VERTEX *next, *more;  // `more` has the entries beyond `room` of the next frontier, from one end or the other
    i64 flip;             // 0 or -1: entry k is at more[k ^ flip]
    u64 left;             // entries for which `more` has place
    u32 room;
    u32* size;
    u64 *vertex_reached, *vertex_total;
    i64* vertex_largest;
    u64 level;

    __device__ __forceinline__ bool is_new(VERTEX v) const { return mark(v, visited[v >> 5]); }

    // Sets the bit of a vertex; `word` was read before, and may only lack bits.
    __device__ __forceinline__ bool mark(VERTEX v, u32 word) const {
        u32 bit = 1u << (v & 31);
        return !(word & bit) && !(atomicOr(&visited[v >> 5], bit) & bit);
    }

    __device__ __forceinline__ void put(VERTEX v, u32 place, bool fits) const {
        if (fits || place < room) next[place] = v;
        else if (place - room < left) more[i64(place - room) ^ flip] = v;
        if (!vertex_reached) return;
        atomicAdd(&vertex_reached[v], 1ull);
        if (level) atomicAdd(&vertex_total[v], level);
        atomicMax(&vertex_largest[v], i64(level));
    }

    // Puts what the lanes of a warp found, up to COUNT vertices each, into the next frontier.
    template <u32 COUNT>
    __device__ __forceinline__ void put_all(const VERTEX (&found)[COUNT], const bool (&newly_visited)[COUNT]) const {
        u32 lanes[COUNT], total = 0;
#pragma unroll
        for (u32 k = 0; k < COUNT; ++k) {
            lanes[k] = __ballot_sync(ALL_LANES, newly_visited[k]);
            total += __popc(lanes[k]);
        }
        if (!total) return;
        u32 base = 0;
        if (lane_id() == 0) base = atomicAdd(size, total);
        base = __shfl_sync(ALL_LANES, base, 0);
        bool fits = base + total <= room;
#pragma unroll
        for (u32 k = 0; k < COUNT; ++k) {
            if (newly_visited[k]) put(found[k], base + __popc(lanes[k] & lanes_below()), fits);
            base += __popc(lanes[k]);
        }
    }
};

// The neighbours of a row of more than a record, by a warp.
__device__ __forceinline__ void take_row(const Block& block, const Rows& source, u64 v) {
    visit_together(source, whole_row(v, offsets_of(source)[v], offsets_of(source)[v + 1]), [&](VERTEX neighbour, bool there) {
        VERTEX found[1] = {neighbour};
        bool newly_visited[1] = {there && block.is_new(neighbour)};
        block.put_all(found, newly_visited);
        return true;
    });
}

extern __shared__ uint4 arena[];

extern "C" __global__ void __launch_bounds__(1024, 1)
    search(SOURCE_PARAMETERS, const VERTEX* records, u64 vertices, u64 max_depth, const i64* sources, u64 count,
           u32* visited, VERTEX* queues, u64 capacity, u64 room, i64* reached, i64* total, double* reciprocal,
           i64* eccentricity, i64* by_level, u64 levels, u64* vertex_reached, u64* vertex_total, i64* vertex_largest) {
    __shared__ u32 sizes[3];  // of this level's frontier, the next one, and the one before, which is made zero
    Rows source = SOURCE;
    u64 words = (vertices + 31) / 32;
    u32 space = u32(room);
    VERTEX* ends[2] = {queues + blockIdx.x * capacity, queues + (blockIdx.x + 1) * capacity};
    VERTEX* front = reinterpret_cast<VERTEX*>(arena);
#if SHARED
    u32* bits = reinterpret_cast<u32*>(front + 2 * space);
#else
    u32* bits = visited + blockIdx.x * words;
#endif
    for (u64 s = blockIdx.x; s < count; s += gridDim.x) {
        for (u64 i = threadIdx.x; i < words; i += blockDim.x) bits[i] = 0;
        if (threadIdx.x < 3) sizes[threadIdx.x] = 0;
        __syncthreads();
        Block block{bits, front, ends[0], 0, capacity, space, &sizes[0], vertex_reached, vertex_total, vertex_largest, 0};
        if (threadIdx.x == 0) {
            VERTEX v = VERTEX(sources[s]);
            block.is_new(v);
            block.put(v, 0, false);
            sizes[0] = 1;
        }
        __syncthreads();
        u64 found = 0, sum = 0;
        u32 now_at = 0, next_at = 1, side = 0;
        double reciprocals = 0;
        bool is_given_up = false;
        while (true) {
            u32 size = sizes[now_at];
            found += size;
            sum += size * block.level;
            // By the last warp, which has the fewest vertices.
            if (threadIdx.x == blockDim.x - 1) {
                if (block.level) reciprocals += double(size) / double(block.level);
                if (block.level < levels) by_level[s * levels + block.level] = i64(size);
            }
            if (block.level >= max_depth) break;
            ++block.level;
            const VERTEX* now = front + side * space;
            const VERTEX* further = side ? ends[1] : ends[0];
            const i64 flip = -i64(side);
            side ^= 1;
            block.next = front + side * space;
            block.more = side ? ends[1] : ends[0];
            block.flip = -i64(side);
            block.left = capacity - (size > space ? size - space : 0);
            block.size = &sizes[next_at];
            if (threadIdx.x == 0) sizes[3 - now_at - next_at] = 0;
            u32 whole = (size + WARP - 1) / WARP * WARP;
            for (u32 i = threadIdx.x; i < whole; i += blockDim.x) {
                VERTEX u = i < size ? i < space ? now[i] : further[i64(i - space) ^ flip] : VERTEX(0);
                Record record;
                if (i < size) record = reinterpret_cast<const Record*>(records)[u];
                bool is_long = i < size && record.neighbour[0] == LONG, newly_visited[RECORD];
                u32 word[RECORD];
#pragma unroll
                for (u32 k = 0; k < RECORD; ++k) {
                    newly_visited[k] = i < size && !is_long && record.neighbour[k] != NOBODY;
                    word[k] = newly_visited[k] ? bits[record.neighbour[k] >> 5] : 0;
                }
#pragma unroll
                for (u32 k = 0; k < RECORD; ++k) newly_visited[k] = newly_visited[k] && block.mark(record.neighbour[k], word[k]);
                block.put_all(record.neighbour, newly_visited);
                for (u32 left = __ballot_sync(ALL_LANES, is_long); left;)
                    take_row(block, source, __shfl_sync(ALL_LANES, u, take_lowest(left)));
            }
            __syncthreads();
            u32 before = now_at;
            now_at = next_at;
            next_at = 3 - before - now_at;
            if (!sizes[now_at]) {
                --block.level;
                break;
            }
            is_given_up = sizes[now_at] > space + block.left;
            if (is_given_up) break;
        }
        if (threadIdx.x == blockDim.x - 1) {
            reached[s] = is_given_up ? -1 : i64(found);
            total[s] = i64(sum);
            reciprocal[s] = reciprocals;
            eccentricity[s] = i64(block.level);
        }
        __syncthreads();
    }
}
