// Rows of a batch that are encoded, decoded where they are read; see batch.cuh for what a source says.
//
// An entry is vertex << UNIT_BITS | unit, as in encoded.cuh, WHOLE_ROW for a row that a lane may read alone.

#include "kernels/bfs/cuda/batch_claim.cuh"
#include "kernels/bfs/cuda/sources/decoded.cuh"

constexpr u32 MAX_BLOCK = MAX_THREADS, FEWEST_BLOCKS = 1;

// The first two as in pull_encoded.cuh.
constexpr u32 LONG_SCAN = 64;  // neighbours that a lane tries bottom-up before its warp helps
constexpr u32 READ = 4;        // neighbours that a lane reads before it looks them up
constexpr i64 LONG = 1;        // units beyond which the whole grid reads a row on,
constexpr u32 PIECE = 1;       // in entries of so many

extern __shared__ uint4 arena[];

// A place is that of a unit.
__device__ __forceinline__ u64 entry_of(VERTEX vertex, i64 unit, i64, u32) { return u64(vertex) << UNIT_BITS | u64(unit); }

__device__ __forceinline__ void put_entries(const Batch& b, Counts& counts, VERTEX vertex, u64 bits) {
    u64 bytes = bits ? row_weight(b.rows, vertex) : 0;
    i64 units = i64(entries_of(b.rows, vertex, bytes)), begin = bytes <= LIGHT_WEIGHT ? i64(WHOLE_ROW) : 0;
    counts.vertices += bits != 0;
    counts.weight += bytes;
    counts.live |= bits;
    cut(b, vertex, bits, begin, begin + units, PIECE);
}

__device__ __forceinline__ VERTEX owner_of(const Batch&, u64, u64 entry) { return VERTEX(entry >> UNIT_BITS); }

__device__ __forceinline__ void expand_entries(const Batch& b, Stage& stage, bool valid, u64 entry, u64 bits, VERTEX owner) {
    DecodedList<true> decoded(reinterpret_cast<u64*>(arena));
    decode_entries(b.rows, decoded, valid, owner, entry & WHOLE_ROW, [&] {
        u32 listed = decoded.take();
        __syncwarp();
#pragma unroll 1
        for (u32 place = lane_id(); place - lane_id() < listed; place += WARP) {
            bool live = place < listed;
            u32 from = live ? decoded.from[place] : 0;
            u64 its = __shfl_sync(ALL_LANES, bits, from);
            VERTEX tail = __shfl_sync(ALL_LANES, owner, from), head = live ? decoded.vertices[place] : VERTEX(0);
            stage.put(live && offer(b, head, its, tail), head);
        }
        __syncwarp();
    });
}

// Try the first neighbours of each lane's own row.
__device__ __forceinline__ u64 scan_alone(const Batch& b, u64 v, u64 wanted, u64& gained, i64& at, i64& end) {
    u64 bytes = wanted ? row_weight(b.rows, v) : 0;
    bool more = bytes != 0;
    Cursor cursor{};
    if (more) cursor = open_row(b.rows, v);
    for (u32 tried = 0; more && tried < LONG_SCAN && wanted & ~gained; tried += READ) {
        VERTEX neighbour[READ];
        u64 its[READ];
#pragma unroll
        for (u32 k = 0; k < READ; ++k) {
            neighbour[k] = VERTEX(0);
            more = more && next_neighbour(b.rows, cursor, neighbour[k]);
            its[k] = more ? wanted : 0;
        }
#pragma unroll
        for (u32 k = 0; k < READ; ++k) its[k] &= b.seen[neighbour[k]];
#pragma unroll
        for (u32 k = 0; k < READ; ++k) gain(b, v, its[k], wanted, gained, neighbour[k]);
    }
    // Rows are read on from their start: that costs less than to skip over what the lane has tried. A row of more than
    // one unit has more than LONG_SCAN neighbours in its first.
    at = 0, end = more && wanted & ~gained ? i64(row_units(b.rows, v)) : 0;
    return bytes;
}

// The bits among `open` that units of a row have; all lanes call it.
template <class Tell>
__device__ __forceinline__ u64 scan_row(const Batch& b, u64 v, i64 unit, i64 end, u64 open, const Tell& tell) {
    u64 taken = 0;
    for (; unit < end && open; ++unit)
        visit_unit(b.rows, v, u64(unit), [&](VERTEX neighbour, bool valid) {
            claim_open(valid ? b.seen[neighbour] : 0, neighbour, open, taken, tell);
            return open != 0;
        });
    return taken;
}

template <class Tell>
__device__ __forceinline__ u64 scan_entry(const Batch& b, u64 entry, u64 open, const Tell& tell) {
    i64 unit = i64(entry & WHOLE_ROW);
    return scan_row(b, entry >> UNIT_BITS, unit, unit + 1, open, tell);
}
