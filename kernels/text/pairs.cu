// Lines of text into edges, one edge a line, as kernels/text/pairs.py parses them.
//
// Contract: text[first, end) is whole lines; text is readable up to the next multiple of 16, and begins at one.
// A row is a line that is neither blank nor a comment. `count_rows` counts rows and line ends of each tile of
// TILE bytes, where a row belongs to the tile of the line end before it, and the first row to the tile of `first`.
// `scan_tiles` turns the rows of tiles into the rows before them. `parse_rows` writes row i of the
// piece to source[i], target[i] and, with a weight column, weight[i]. Blocks are any multiple of 32 up to 1024.
//
// results: rows, line ends, the least place of a row that the reader of the CPU must judge (all ones for none),
// the smallest and the largest id; the caller sets the last three to all ones, all ones, 0. Ids beyond ID are
// seen by the largest. What is written of a piece with such a row has no meaning.
//
// variants ID: u32 u64
#include "kernels/text/numbers.cuh"
#include "kernels/text/tiles.cuh"

constexpr u32 ROWS = 0, LINES = 1, FAULT = 2, LEAST_ID = 3, MAX_ID = 4;

// Whether the line that begins at `place` holds an edge; `place` moves to its first character that is no blank.
__device__ __forceinline__ bool is_row(const u8* text, const u8* kinds, u64& place) {
    u8 kind = kinds[text[place]];
    while (kind == BLANK) kind = kinds[text[++place]];
    return kind != NEWLINE && kind != COMMENT;
}

// Calls `visit(place)` for each row of a share, in order.
template <class Visit>
__device__ __forceinline__ void each_row(const u8* text, const u8* kinds, u64 begin, u64 first, u64 end, u32 ends,
                                         Visit visit) {
    if (begin <= first && first < begin + SHARE) {
        u64 place = first;
        if (is_row(text, kinds, place)) visit(place);
    }
    for (; ends; ends &= ends - 1) {
        u64 place = begin + __ffs(ends);
        if (place < end && is_row(text, kinds, place)) visit(place);
    }
}

extern "C" __global__ void count_rows(const u8* __restrict__ text, u64 first, u64 end, const u8* __restrict__ kinds,
                                      u64 tiles, u32* rows, u32* lines) {
    __shared__ u32 scratch[WARP + 1];
    for (u64 tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        u32 row_count = 0, line_count = 0;
        for (u32 share = threadIdx.x; share < SHARES; share += blockDim.x) {
            const u64 begin = tile * TILE + share * SHARE;
            if (begin >= end) break;
            const u32 ends = line_ends(text, begin, first, end);
            line_count += __popc(ends);
            each_row(text, kinds, begin, first, end, ends, [&](u64) { ++row_count; });
        }
        write_counts(tile, row_count, line_count, scratch, rows, lines);
    }
}

struct Grammar {
    i32 prefix, columns, source_column, target_column, weight_column, delimited;
    u64 low, high;
};

// Two short numbers with one separator between: what most lines of most files are.
__device__ __forceinline__ bool parse_plain(const u8* text, const u8* kinds, u64 place, bool delimited, u64& source,
                                            u64& target) {
    const u64 begin = place;
    u32 digit = digit_at(text, place);
    for (source = 0; digit < 10; digit = digit_at(text, ++place)) source = source * 10 + digit;
    if (place == begin || place > begin + 18 || kinds[text[place]] != (delimited ? DELIMITER : BLANK)) return false;
    const u64 second = ++place;
    digit = digit_at(text, place);
    for (target = 0; digit < 10; digit = digit_at(text, ++place)) target = target * 10 + digit;
    if (place == second || place > second + 18) return false;
    return text[place] == '\n' || (text[place] == '\r' && text[place + 1] == '\n');
}

__device__ __noinline__ bool parse_fields(const u8* text, const u8* kinds, u64 place, const Grammar& grammar,
                                          u64& source, u64& target, double& weight) {
    if (grammar.prefix >= 0) {
        if (text[place] != u8(grammar.prefix) || kinds[text[place + 1]] != BLANK) return false;
        ++place;
        while (kinds[text[place]] == BLANK) ++place;
    }
    for (i32 column = 0;;) {
        if (column == grammar.source_column) {
            if (!read_integer(text, kinds, place, source)) return false;
        } else if (column == grammar.target_column) {
            if (!read_integer(text, kinds, place, target)) return false;
        } else if (column == grammar.weight_column) {
            if (!read_decimal(text, kinds, place, weight)) return false;
        } else {
            u8 kind = kinds[text[place]];
            while (kind == OTHER || kind == COMMENT || (grammar.delimited && kind == BLANK)) kind = kinds[text[++place]];
        }
        ++column;
        while (kinds[text[place]] == BLANK) ++place;
        const u8 kind = kinds[text[place]];
        if (kind == NEWLINE) return column == grammar.columns;
        if (column == grammar.columns) return false;
        if (grammar.delimited) {
            if (kind != DELIMITER) return false;
            ++place;
            while (kinds[text[place]] == BLANK) ++place;
        }
    }
}

extern "C" __global__ void parse_rows(const u8* __restrict__ text, u64 first, u64 end, const u8* __restrict__ kinds,
                                      u64 tiles, const u32* __restrict__ rows_before, i32 prefix, i32 columns,
                                      i32 source_column, i32 target_column, i32 weight_column, i32 delimited, u64 low,
                                      u64 high, ID* source, ID* target, double* weight, u64* results) {
    __shared__ u32 scratch[WARP + 1];
    const Grammar grammar = {prefix, columns, source_column, target_column, weight_column, delimited, low, high};
    const bool plain = prefix < 0 && columns == 2 && source_column == 0 && target_column == 1;
    u64 fault = ~0ull, least = ~0ull, most = 0;
    for (u64 tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        u32 before = rows_before[tile];
        for (u32 round = 0; round < SHARES; round += blockDim.x) {
            const u32 share = round + threadIdx.x;
            const u64 begin = tile * TILE + share * SHARE;
            const bool owns = share < SHARES && begin < end;
            const u32 ends = owns ? line_ends(text, begin, first, end) : 0;
            u32 count = 0, total;
            if (owns) each_row(text, kinds, begin, first, end, ends, [&](u64) { ++count; });
            u32 row = before + block_exclusive_sum(count, scratch, total);
            before += total;
            if (!count) continue;
            each_row(text, kinds, begin, first, end, ends, [&](u64 place) {
                u64 from = 0, to = 0;
                double value = 0;
                bool fine = plain && parse_plain(text, kinds, place, delimited, from, to);
                fine = fine || parse_fields(text, kinds, place, grammar, from, to, value);
                fine = fine && low <= from && from <= high && low <= to && to <= high;
                if (fine) {
                    source[row] = ID(from);
                    target[row] = ID(to);
                    if (weight_column >= 0) weight[row] = value;
                    least = min(least, min(from, to));
                    most = max(most, max(from, to));
                } else {
                    fault = min(fault, place);
                }
                ++row;
            });
        }
    }
    __syncthreads();
    for (u32 step = WARP / 2; step; step /= 2) {
        fault = min(fault, __shfl_xor_sync(ALL_LANES, fault, step));
        least = min(least, __shfl_xor_sync(ALL_LANES, least, step));
        most = max(most, __shfl_xor_sync(ALL_LANES, most, step));
    }
    if (lane_id() == 0) {
        if (fault != ~0ull) atomicMin(&results[FAULT], fault);
        if (least != ~0ull) {
            atomicMin(&results[LEAST_ID], least);
            atomicMax(&results[MAX_ID], most);
        }
    }
}
