// Delta-varint rows (Moschou 2024, section 2.1; see kernels/layouts/varint): sizes, bytes, and back.
//
// Rows of up to `long_row` items (arcs when encoding, bytes when decoding) are taken by a warp, the others,
// listed in `long_rows`, by a block; both go through a row in steps of one item per thread. Decoding in parallel
// rests on sums, as step.cuh says.
//
// Contract: row_offsets, byte_offsets i64 (rows + 1), columns VERTEX, stream u8. faults[0] = the least row
// that does not fit, << 2 | reason (start at all ones). Block: a multiple of 32 up to 1024.
//
// variants VERTEX: u32 u64

#include "kernels/layouts/varint/step.cuh"

constexpr u32 TRUNCATED = 1, TOO_LARGE = 2, OUT_OF_RANGE = 3;
constexpr u64 GROUPS = NUMBER_BYTES;

__device__ __forceinline__ void report(u64* faults, u64 row, u32 reason) { atomicMin(faults, row << 2 | reason); }

__device__ __forceinline__ u32 size_of(u64 number) { return number ? (70 - __clzll(i64(number))) / 7 : 1; }

// Threads that go through a row together.
struct ByWarp {
    __device__ __forceinline__ u32 rank() const { return lane_id(); }
    __device__ __forceinline__ u32 size() const { return WARP; }
    template <class T>
    __device__ __forceinline__ T exclusive_sum(T value, T& total) const {
        T inclusive = warp_inclusive_sum(value);
        total = __shfl_sync(ALL_LANES, inclusive, WARP - 1);
        return inclusive - value;
    }
};

struct ByBlock {
    u64* scratch;
    __device__ __forceinline__ u32 rank() const { return threadIdx.x; }
    __device__ __forceinline__ u32 size() const { return blockDim.x; }
    template <class T>
    __device__ __forceinline__ T exclusive_sum(T value, T& total) const {
        return block_exclusive_sum<T>(value, reinterpret_cast<T*>(scratch), total);
    }
};

struct Rows {
    u64 count;
    i64 long_row;
    const i64* long_rows;
    u64 long_count;
};

// Call `work(threads, row)` for every row, with the warp or the block that its length asks for.
template <class Work>
__device__ __forceinline__ void each_row(const i64* offsets, const Rows& rows, const Work& work) {
    __shared__ u64 scratch[WARP + 1];
    for (u64 row = global_thread() / WARP; row < rows.count; row += global_threads() / WARP)
        if (offsets[row + 1] - offsets[row] <= rows.long_row) work(ByWarp{}, row);
    __syncthreads();
    for (u64 i = blockIdx.x; i < rows.long_count; i += gridDim.x) work(ByBlock{scratch}, u64(rows.long_rows[i]));
}

__device__ __forceinline__ u64 gap_at(const VERTEX* columns, i64 begin, i64 arc, bool& descends) {
    u64 value = columns[arc], before = arc > begin ? u64(columns[arc - 1]) : 0;
    descends = value < before;
    return value - before;
}

// Bytes of each row.
extern "C" __global__ void row_sizes(const i64* row_offsets, const VERTEX* columns, u64 rows, i64 long_row,
                                     const i64* long_rows, u64 long_count, i64* sizes, u64* faults) {
    each_row(row_offsets, Rows{rows, long_row, long_rows, long_count}, [&](auto threads, u64 row) {
        i64 begin = row_offsets[row], end = row_offsets[row + 1];
        u64 bytes = 0;
        for (i64 arc = begin + threads.rank(); arc < end; arc += threads.size()) {
            bool descends;
            bytes += size_of(gap_at(columns, begin, arc, descends));
            if (descends) report(faults, row, TRUNCATED);
        }
        u64 total;
        threads.exclusive_sum(bytes, total);
        if (threads.rank() == 0) sizes[row] = i64(total);
    });
}

extern "C" __global__ void write_rows(const i64* row_offsets, const VERTEX* columns, const i64* byte_offsets, u64 rows,
                                      i64 long_row, const i64* long_rows, u64 long_count, u8* stream) {
    each_row(row_offsets, Rows{rows, long_row, long_rows, long_count}, [&](auto threads, u64 row) {
        i64 begin = row_offsets[row], end = row_offsets[row + 1];
        u64 base = u64(byte_offsets[row]);
        for (i64 step = begin; step < end; step += threads.size()) {
            i64 arc = step + threads.rank();
            bool descends;
            u64 gap = arc < end ? gap_at(columns, begin, arc, descends) : 0;
            u64 bytes;
            u64 place = base + threads.exclusive_sum(u64(arc < end ? size_of(gap) : 0), bytes);
            if (arc < end) {
                for (; gap >= 128; gap >>= 7) stream[place++] = u8(gap & 127) | 128;
                stream[place] = u8(gap);
            }
            base += bytes;
        }
    });
}

// Neighbours of each row.
extern "C" __global__ void row_lengths(const i64* byte_offsets, const u8* stream, u64 rows, i64 long_row,
                                       const i64* long_rows, u64 long_count, i64* lengths,
                                       u64* faults) {
    each_row(byte_offsets, Rows{rows, long_row, long_rows, long_count}, [&](auto threads, u64 row) {
        i64 begin = byte_offsets[row], end = byte_offsets[row + 1];
        u64 ends = 0;
        for (i64 place = begin + threads.rank(); place < end; place += threads.size()) ends += stream[place] < 128;
        u64 total;
        threads.exclusive_sum(ends, total);
        if (threads.rank() == 0) {
            lengths[row] = i64(total);
            if (begin < end && stream[end - 1] >= 128) report(faults, row, TRUNCATED);
        }
    });
}

// Decode a row by a block. Sums are of 64 bits, in which no sum of a step can wrap unseen.
__device__ __forceinline__ void read_row(const ByBlock& threads, u64 row, const i64* byte_offsets, const u8* stream,
                                         const i64* row_offsets, u64 largest, VERTEX* columns, u64* faults) {
    i64 begin = byte_offsets[row], end = byte_offsets[row + 1];
    u64 value = 0;
    i64 arc = row_offsets[row];
    for (i64 step = begin; step < end; step += threads.size()) {
        i64 place = step + threads.rank();
        u64 byte = place < end ? stream[place] : 128;
        u64 k = 0;
        while (k <= GROUPS && place < end && place - i64(k) > begin && stream[place - i64(k) - 1] >= 128) ++k;
        u64 payload = byte & 127;
        // A number too long leaves 64 bits; so does a sum that is less than what is added to it.
        bool broken = place < end && (k >= GROUPS || (k == 9 && payload > 1));
        u64 adds = place < end && !broken ? payload << 7 * k : 0;
        u64 sum, ends;
        u64 upto = value + threads.exclusive_sum(adds, sum) + adds;
        bool last = byte < 128;
        u64 rank = threads.exclusive_sum(u64(last), ends);
        if (broken || upto < adds) report(faults, row, TOO_LARGE);
        if (last && !broken) {
            if (upto > largest) report(faults, row, OUT_OF_RANGE);
            columns[arc + i64(rank)] = VERTEX(upto);
        }
        value += sum;
        arc += i64(ends);
    }
}

// Decode a row by a warp. What a byte adds fits a vertex, so that a sum has wrapped where sums descend.
__device__ __forceinline__ void read_row(const ByWarp&, u64 row, const i64* byte_offsets, const u8* stream,
                                         const i64* row_offsets, u64 largest, VERTEX* columns, u64* faults) {
    u64 place = u64(byte_offsets[row]), end = u64(byte_offsets[row + 1]);
    u64 arc = u64(row_offsets[row]);
    u32 lane = lane_id(), byte = place + lane < end ? stream[place + lane] : 0;
    VarintState state{0, 0};
    bool too_long = false, wrapped = false, beyond = false;
    for (; place < end; place += WARP) {
        u64 after = place + WARP + lane;
        u32 following = after < end ? stream[after] : 0;  // under way while this step is decoded
        VERTEX start = state.value;
        VarintStep found = varint_step(state, byte, end - place < WARP ? u32(end - place) : WARP);
        byte = following;
        VERTEX left = __shfl_up_sync(ALL_LANES, found.neighbour, 1);
        too_long |= found.too_long;
        wrapped |= found.too_large || found.neighbour < (lane ? left : start);
        if (found.ends >> lane & 1) {
            beyond |= u64(found.neighbour) > largest;
            columns[arc + __popc(found.ends & lanes_below())] = found.neighbour;
        }
        arc += __popc(found.ends);
    }
    // 32-bit sums that wrapped are numbers that no graph has; of 64 bits there is no such number.
    if (too_long || (wrapped && sizeof(VERTEX) == 8)) report(faults, row, TOO_LARGE);
    else if (wrapped || beyond) report(faults, row, OUT_OF_RANGE);
}

extern "C" __global__ void read_rows(const i64* byte_offsets, const u8* stream, const i64* row_offsets, u64 rows,
                                     i64 long_row, const i64* long_rows, u64 long_count, u64 largest, VERTEX* columns, u64* faults) {
    each_row(byte_offsets, Rows{rows, long_row, long_rows, long_count}, [&](auto threads, u64 row) {
        read_row(threads, row, byte_offsets, stream, row_offsets, largest, columns, faults);
    });
}
