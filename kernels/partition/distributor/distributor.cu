// The edge distributor on a GPU: arcs of made edges to the owners of their sources, rows filled, arcs by kind.
//
// Contract: vertex v is entry v / ranks of rank v % ranks. Rows are counted (count_rows), their offsets summed up
// by the caller, filled in any order (place_arcs), and sorted by keys row << bits | column (pack_rows). A range
// of rows is `rows` rows from `first` on of a matrix with i64 offsets; its arcs are offsets[first] onwards.
// Delegates: bit v % 64 of words[v / 64], `before` counts those of earlier words, `degrees` are theirs.
// Any block that is a multiple of 32; grids stride.
// Paper: Pan, Pearce, Owens, IPDPS 2018, section III-B, algorithm 1.
//
// variants VERTEX: u32 u64
#include "kernels/partition/lookup.cuh"

typedef unsigned short u16;

constexpr u32 MAX_RANKS = 1024;
constexpr u32 LARGEST = 65535;  // as in census.py
enum Kind { NN, ND, HALF, ELSEWHERE };

// counts[r] += arcs whose source is rank r's; loops make none. Fewer than 2^31 edges.
extern "C" __global__ void count_owners(const VERTEX* source, const VERTEX* target, u64 edges, u32 ranks, u64* counts) {
    __shared__ u32 own[MAX_RANKS];
    for (u32 rank = threadIdx.x; rank < ranks; rank += blockDim.x) own[rank] = 0;
    __syncthreads();
    for (u64 i = global_thread(); i < edges; i += global_threads()) {
        const VERTEX u = source[i], v = target[i];
        if (u == v) continue;
        atomicAdd(&own[u % ranks], 1u);
        atomicAdd(&own[v % ranks], 1u);
    }
    __syncthreads();
    for (u32 rank = threadIdx.x; rank < ranks; rank += blockDim.x)
        if (own[rank]) atomicAdd(&counts[rank], u64(own[rank]));
}

// Local rows, and columns where they are wanted, of all arcs; those of rank r from places[r] on, which moves.
extern "C" __global__ void sort_by_owner(const VERTEX* source, const VERTEX* target, u64 edges, u32 ranks, u32 with_columns,
                                     u64* places, u32* rows, VERTEX* columns) {
    __shared__ u32 own[MAX_RANKS];
    __shared__ u64 base[MAX_RANKS];
    for (u64 tile = u64(blockIdx.x) * blockDim.x; tile < edges; tile += global_threads()) {
        for (u32 rank = threadIdx.x; rank < ranks; rank += blockDim.x) own[rank] = 0;
        __syncthreads();
        const u64 i = tile + threadIdx.x;
        const VERTEX u = i < edges ? source[i] : 0, v = i < edges ? target[i] : 0;
        const u32 of_u = u32(u % ranks), of_v = u32(v % ranks);
        u32 first = 0, second = 0;
        if (u != v) {
            first = atomicAdd(&own[of_u], 1u);
            second = atomicAdd(&own[of_v], 1u);
        }
        __syncthreads();
        for (u32 rank = threadIdx.x; rank < ranks; rank += blockDim.x)
            if (own[rank]) base[rank] = atomicAdd(&places[rank], u64(own[rank]));
        __syncthreads();
        if (u != v) {
            const u64 here = base[of_u] + first, there = base[of_v] + second;
            rows[here] = u32(u / ranks);
            rows[there] = u32(v / ranks);
            if (with_columns) {
                columns[here] = v;
                columns[there] = u;
            }
        }
        __syncthreads();
    }
}

// lengths[row] += 1 for each of `rows`.
extern "C" __global__ void count_rows(const u32* rows, u64 count, u64* lengths) {
    for (u64 i = global_thread(); i < count; i += global_threads()) atomicAdd(&lengths[rows[i]], 1ull);
}

// Put each column into its row; `cursors` hold the next place of each row.
extern "C" __global__ void place_arcs(const u32* rows, const VERTEX* columns, u64 count, u64* cursors, VERTEX* placed) {
    for (u64 i = global_thread(); i < count; i += global_threads())
        placed[atomicAdd(&cursors[rows[i]], 1ull)] = columns[i];
}

// keys[i] = row of the i-th arc of the range, from the range's first on, << bits | column.
extern "C" __global__ void pack_rows(const u64* offsets, const VERTEX* columns, u64 first, u64 rows, u32 bits, u64* keys) {
    const u64 begin = offsets[first], end = offsets[first + rows];
    for (u64 arc = begin + global_thread(); arc < end; arc += global_threads())
        keys[arc - begin] = (row_of(offsets, first, rows, arc) - first) << bits | columns[arc];
}

// found[i] = row of the i-th arc of the range.
extern "C" __global__ void name_rows(const u64* offsets, u64 first, u64 rows, u32* found) {
    const u64 begin = offsets[first], end = offsets[first + rows];
    for (u64 arc = begin + global_thread(); arc < end; arc += global_threads())
        found[arc - begin] = u32(row_of(offsets, first, rows, arc));
}

// Arcs of the range by the degree of their busier and of their quieter end; `degrees` of all vertices, capped.
extern "C" __global__ void count_ends(const u64* offsets, const VERTEX* columns, u64 first, u64 rows, u32 rank,
                                      u32 ranks, const u16* degrees, u64* busier, u64* quieter) {
    const u64 begin = offsets[first], end = offsets[first + rows];
    for (u64 tile = begin + u64(blockIdx.x) * blockDim.x; tile < end; tile += global_threads()) {
        const u64 arc = tile + threadIdx.x;
        u32 busy = NOTHING, quiet = NOTHING;
        if (arc < end) {
            const u32 own = degrees[row_of(offsets, first, rows, arc) * ranks + rank], other = degrees[columns[arc]];
            busy = own > other ? own : other;
            quiet = own > other ? other : own;
        }
        add_together(busier, busy);
        add_together(quieter, quiet);
    }
}

// Set the bit of each vertex in `words`, which start at 0.
extern "C" __global__ void flag_vertices(const u64* vertices, u64 count, u64* words) {
    for (u64 i = global_thread(); i < count; i += global_threads())
        atomicOr(&words[vertices[i] / 64], 1ull << (vertices[i] % 64));
}

// The lengths of some rows, at most LARGEST, and how many have each.
extern "C" __global__ void cap_degrees(const u64* offsets, u64 rows, u16* degrees, u64* of_degree) {
    for (u64 tile = u64(blockIdx.x) * blockDim.x; tile < rows; tile += global_threads()) {
        const u64 row = tile + threadIdx.x;
        u32 degree = NOTHING;
        if (row < rows) {
            const u64 length = offsets[row + 1] - offsets[row];
            degree = length < LARGEST ? u32(length) : LARGEST;
            degrees[row] = u16(degree);
        }
        add_together(of_degree, degree);
    }
}

// Set the bits of rows that are longer than a threshold in `words`, which start at 0; row 0 is vertex `first`.
extern "C" __global__ void flag_long_rows(const u64* offsets, u64 rows, u64 first, u64 threshold, u64* words) {
    for (u64 row = global_thread(); row < rows; row += global_threads()) {
        const u64 vertex = first + row;
        if (offsets[row + 1] - offsets[row] > threshold) atomicOr(&words[vertex / 64], 1ull << (vertex % 64));
    }
}

// How many bits each word has.
extern "C" __global__ void count_flags(const u64* words, u64 count, u32* counts) {
    for (u64 i = global_thread(); i < count; i += global_threads())
        counts[i] = __popc(u32(words[i])) + __popc(u32(words[i] >> 32));
}

// The flagged ones of some rows at their positions, with their lengths; row 0 is vertex `first`.
extern "C" __global__ void list_flagged(const u64* offsets, u64 rows, u64 first, const u64* words, const u32* before,
                                        VERTEX* vertices, u64* degrees) {
    for (u64 row = global_thread(); row < rows; row += global_threads()) {
        const u32 position = position_of(first + row, words, before);
        if (position == NOTHING) continue;
        vertices[position] = VERTEX(first + row);
        degrees[position] = offsets[row + 1] - offsets[row];
    }
}

// What becomes of each arc of a range of own rows: its kind, and
//   NN    value = the vertex it leads to,     row = local row
//   ND    value = the delegate's position,    row = local row
//   HALF  value = the other's position,       row = the own delegate's position; the reverse is to be made
//   ELSEWHERE: another rank makes it of an arc that it has.
extern "C" __global__ void classify(const u64* offsets, const VERTEX* columns, u64 first, u64 rows, u32 rank, u32 ranks,
                                    const u64* words, const u32* before, const u64* degrees, u8* kinds, VERTEX* values,
                                    u32* found_rows) {
    const u64 begin = offsets[first], end = offsets[first + rows];
    for (u64 arc = begin + global_thread(); arc < end; arc += global_threads()) {
        const u64 row = row_of(offsets, first, rows, arc), u = row * ranks + rank, w = columns[arc];
        const u32 position = position_of(u, words, before), other = position_of(w, words, before);
        u8 kind = ELSEWHERE;
        if (position == NOTHING) {
            kind = other == NOTHING ? NN : ND;
        } else if (other != NOTHING) {
            const u64 mine = degrees[position], its = degrees[other];
            if (mine < its || (mine == its && u < w)) kind = HALF;
        }
        kinds[arc - begin] = kind;
        values[arc - begin] = VERTEX(kind == NN ? w : other);
        found_rows[arc - begin] = kind == HALF ? position : u32(row);
    }
}
