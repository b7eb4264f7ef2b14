// Rows of a bit for each source, with a group of lanes for a row, and counters of what a level finds.
//
// WORDS words of 32 bits a vertex; bit s % 32 of word s / 32 belongs to source s. A group of LANES lanes works on a vertex,
// lane l on the words l, l + LANES, ... A row of 64 bits is a lane's: with two lanes
// for it, a batch at Kronecker 22 took 8.3 ms and not 3.8 (H100). Rows of 256 bits took 10.2 ms with groups, 15.8 without.
// Encoded rows are decoded by warps, whose lanes beyond the words then have none.

#if IS_COLUMNS(LAYOUT)
constexpr u32 LANES = WORDS == 2 ? 1 : WORDS < WARP ? WORDS : WARP;
#else
constexpr u32 LANES = WORDS == 2 ? 1 : WARP;
#endif
constexpr u32 OWN = LANES > WORDS ? 1 : WORDS / LANES;  // words of a lane
constexpr u32 GROUPS = WARP / LANES;
constexpr u32 SOURCES = 32 * WORDS;
constexpr u32 DIGITS = 5;
constexpr u32 AHEAD = OWN > 2 ? 2 : 4;  // neighbours whose rows are read together

struct alignas(LANES == 1 ? 8 : 4) Row {
    u32 word[OWN];
};

struct Group {
    u32 lane, first, lanes;

    __device__ __forceinline__ Group()
        : lane(lane_id() % LANES),
          first(lane_id() / LANES * LANES),
          lanes((LANES == WARP ? ALL_LANES : (1u << LANES % WARP) - 1) << first) {}
    __device__ __forceinline__ bool any(const Row& row) const {
        u32 bits = 0;
#pragma unroll
        for (u32 j = 0; j < OWN; ++j) bits |= row.word[j];
        return LANES == 1 ? bits != 0 : __any_sync(lanes, bits != 0);
    }
    __device__ __forceinline__ bool idle() const { return LANES > WORDS && lane >= WORDS; }
    __device__ __forceinline__ u64 at(u64 vertex, u32 j) const { return vertex * WORDS + lane + j * LANES; }
    __device__ __forceinline__ Row load(const u32* rows, u64 vertex) const {
        if constexpr (LANES == 1) return reinterpret_cast<const Row*>(rows)[vertex];
        Row row;
#pragma unroll
        for (u32 j = 0; j < OWN; ++j) row.word[j] = idle() ? 0 : rows[at(vertex, j)];
        return row;
    }
    // A word that others write meanwhile.
    __device__ __forceinline__ u32 load_now(const u32* rows, u64 vertex, u32 j) const {
        return idle() ? 0 : __ldcv(&rows[at(vertex, j)]);
    }
    // Words of no use are not read: a sector of 32 bytes where nobody wants a bit costs nothing.
    __device__ __forceinline__ Row load_wanted(const u32* rows, u64 vertex, const Row& wanted) const {
        Row row;
#pragma unroll
        for (u32 j = 0; j < OWN; ++j) row.word[j] = wanted.word[j] ? rows[at(vertex, j)] : 0;
        return row;
    }
    __device__ __forceinline__ void store(u32* rows, u64 vertex, const Row& row) const {
        if constexpr (LANES == 1) {
            reinterpret_cast<Row*>(rows)[vertex] = row;
            return;
        }
#pragma unroll
        for (u32 j = 0; j < OWN; ++j)
            if (!idle()) rows[at(vertex, j)] = row.word[j];
    }
};

// What a thread has found at a level.
struct Found {
    u32* tally;
    u32 digit[DIGITS][OWN];
    u32 added = 0;
    u64 vertices = 0, arcs = 0;

    __device__ __forceinline__ Found(u32* tally) : tally(tally) {
#pragma unroll
        for (u32 d = 0; d < DIGITS; ++d)
#pragma unroll
            for (u32 j = 0; j < OWN; ++j) digit[d][j] = 0;
        for (u32 i = threadIdx.x; i < SOURCES; i += blockDim.x) tally[i] = 0;
        __syncthreads();
    }

    __device__ __forceinline__ void add(const Group& group, const Row& row) {
#pragma unroll
        for (u32 j = 0; j < OWN; ++j) {
            u32 carry = row.word[j];
#pragma unroll
            for (u32 d = 0; d < DIGITS; ++d) {
                u32 both = digit[d][j] & carry;
                digit[d][j] ^= carry;
                carry = both;
            }
        }
        if (++added == (1u << DIGITS) - 1) empty(group);
    }

    __device__ __forceinline__ bool full() const { return added + 2 >= 1u << DIGITS; }

    __device__ __forceinline__ void empty(const Group& group) {
        added = 0;
#pragma unroll
        for (u32 j = 0; j < OWN; ++j) {
#pragma unroll 1
            for (u32 b = 0; b < 32; ++b) {
                u32 sum = 0;
#pragma unroll
                for (u32 d = 0; d < DIGITS; ++d) sum |= (digit[d][j] >> b & 1) << d;
                if (sum) atomicAdd(&tally[(group.lane + j * LANES) * 32 + b], sum);
            }
#pragma unroll
            for (u32 d = 0; d < DIGITS; ++d) digit[d][j] = 0;
        }
    }

    // As `empty`, for all lanes of a warp that hold a row each: their counters are added first, since they would meet at
    // the same places.
    __device__ __forceinline__ void empty_together() {
        added = 0;
#pragma unroll
        for (u32 j = 0; j < OWN; ++j) {
            u32 mine = 0;
#pragma unroll 4
            for (u32 b = 0; b < 32; ++b) {
                u32 sum = 0;
#pragma unroll
                for (u32 d = 0; d < DIGITS; ++d) sum |= (digit[d][j] >> b & 1) << d;
                sum = __reduce_add_sync(ALL_LANES, sum);
                if (lane_id() == b) mine = sum;
            }
            if (mine) atomicAdd(&tally[j * 32 + lane_id()], mine);
#pragma unroll
            for (u32 d = 0; d < DIGITS; ++d) digit[d][j] = 0;
        }
    }

    // All threads of the block call it.
    __device__ __forceinline__ void finish(const Group& group, u64* counts, u64* totals) {
        if constexpr (LANES == 1) {
            if (__any_sync(ALL_LANES, added)) empty_together();
        } else if (added) {
            empty(group);
        }
        __syncthreads();
        for (u32 i = threadIdx.x; i < SOURCES; i += blockDim.x)
            if (tally[i]) atomicAdd(&counts[i], u64(tally[i]));
        vertices = warp_sum(vertices);
        arcs = warp_sum(arcs);
        if (lane_id() == 0 && vertices) {
            atomicAdd(&totals[0], vertices);
            atomicAdd(&totals[1], arcs);
        }
    }
};

// Per vertex over the sources.
struct PerVertex {
    u64 *reached, *total;
    i64 *largest;
    u64 level;

    __device__ __forceinline__ void add(const Group& group, u64 vertex, const Row& row) const {
        if (!reached) return;
        u32 bits = 0;
#pragma unroll
        for (u32 j = 0; j < OWN; ++j) bits += __popc(row.word[j]);
        if (LANES > 1) bits = __reduce_add_sync(group.lanes, bits);
        if (group.lane == 0 && bits) {
            atomicAdd(&reached[vertex], u64(bits));
            atomicAdd(&total[vertex], bits * level);
            if (largest[vertex] < i64(level)) largest[vertex] = i64(level);  // a batch before may have gone farther
        }
    }
};
