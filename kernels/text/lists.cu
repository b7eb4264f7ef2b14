// Lines of text into arcs, one vertex a line with its neighbours, as kernels/text/lists.py parses them.
//
// Contract: text[first, end) is whole lines as tiles.cuh has them; line i is the row of vertex first_vertex + i, and
// no line is a comment. A token is what stands between blanks. `count_tokens` counts tokens and line ends of each
// tile, for `scan_tiles`. `mark_rows` writes the tokens before each row to row_tokens (lines + 1; the first is the
// caller's 0). `count_arcs` turns them into the arcs of each row, whose sums before it are `row_arcs` for
// `parse_tokens`, which writes arc i of the piece to source[i], target[i] and, where each neighbour has a weight
// after it, weight[i]. `skip` numbers stand before the neighbours. Blocks are any multiple of 32 up to 1024.
//
// results: tokens, line ends, and the least place of what the reader of the CPU must judge (all ones for none; a
// line for `count_arcs`), which the caller sets to all ones. What is written of such a piece has no meaning.
//
// variants ID: u32 u64
#include "kernels/text/numbers.cuh"
#include "kernels/text/tiles.cuh"

constexpr u32 FAULT = 2;

__device__ __forceinline__ bool separates(u8 kind) { return kind == BLANK || kind == NEWLINE; }

// Calls `token(place)` and `line(place)` for the starts of tokens and the line ends of a share, in order.
template <class Token, class Line>
__device__ __forceinline__ void each_token(const u8* text, const u8* kinds, u64 begin, u64 first, u64 end,
                                           Token token, Line line) {
    const u64 from = begin < first ? first : begin, to = min(begin + SHARE, end);
    bool separated = from == first || separates(kinds[text[from - 1]]);
    for (u64 place = from; place < to; place++) {
        const u8 kind = kinds[text[place]];
        const bool separator = separates(kind);
        if (!separator && separated) token(place);
        if (kind == NEWLINE) line(place);
        separated = separator;
    }
}

extern "C" __global__ void count_tokens(const u8* __restrict__ text, u64 first, u64 end, const u8* __restrict__ kinds,
                                        u64 tiles, u32* tokens, u32* lines, u64* results) {
    __shared__ u32 scratch[WARP + 1];
    for (u64 tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        u32 token_count = 0, line_count = 0;
        for (u32 share = threadIdx.x; share < SHARES; share += blockDim.x) {
            const u64 begin = tile * TILE + share * SHARE;
            if (begin >= end || begin + SHARE <= first) continue;
            each_token(
                text, kinds, begin, first, end,
                [&](u64 place) {
                    ++token_count;
                    if (kinds[text[place]] == COMMENT) atomicMin(&results[FAULT], place);
                },
                [&](u64) { ++line_count; });
        }
        write_counts(tile, token_count, line_count, scratch, tokens, lines);
    }
}

// Calls `visit(place, token, line)` for each token, and `line_end(token, line)` for each line end, with the
// numbers of tokens and of line ends before it. All threads of a block come here together.
template <class Visit, class End>
__device__ __forceinline__ void each_numbered(const u8* text, const u8* kinds, u64 first, u64 end, u64 tiles,
                                              const u32* tokens_before, const u32* lines_before, u32* scratch,
                                              Visit visit, End line_end) {
    for (u64 tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        u32 tokens = tokens_before[tile], lines = lines_before[tile];
        for (u32 round = 0; round < SHARES; round += blockDim.x) {
            const u32 share = round + threadIdx.x;
            const u64 begin = tile * TILE + share * SHARE;
            const bool owns = share < SHARES && begin < end && begin + SHARE > first;
            u32 token_count = 0, line_count = 0, total;
            if (owns)
                each_token(text, kinds, begin, first, end, [&](u64) { ++token_count; }, [&](u64) { ++line_count; });
            u32 token = tokens + block_exclusive_sum(token_count, scratch, total);
            tokens += total;
            u32 line = lines + block_exclusive_sum(line_count, scratch, total);
            lines += total;
            if (owns)
                each_token(
                    text, kinds, begin, first, end, [&](u64 place) { visit(place, token++, line); },
                    [&](u64) { line_end(token, line++); });
        }
    }
}

extern "C" __global__ void mark_rows(const u8* __restrict__ text, u64 first, u64 end, const u8* __restrict__ kinds,
                                     u64 tiles, const u32* tokens_before, const u32* lines_before, u32* row_tokens) {
    __shared__ u32 scratch[WARP + 1];
    each_numbered(
        text, kinds, first, end, tiles, tokens_before, lines_before, scratch, [](u64, u32, u32) {},
        [&](u32 token, u32 line) { row_tokens[line + 1] = token; });
}

// A row beyond the last vertex may be blank; a neighbour has its weight in the same row.
extern "C" __global__ void count_arcs(const u32* row_tokens, u64 lines, u64 rows_left, i32 skip, i32 weighted,
                                      u32* arcs, u64* results) {
    for (u64 line = global_thread(); line < lines; line += global_threads()) {
        const u32 tokens = row_tokens[line + 1] - row_tokens[line];
        const u32 after = tokens > u32(skip) ? tokens - u32(skip) : 0;
        if ((line >= rows_left && tokens) || (weighted && (after & 1))) atomicMin(&results[FAULT], line);
        arcs[line] = weighted ? after / 2 : after;
    }
}

extern "C" __global__ void parse_tokens(const u8* __restrict__ text, u64 first, u64 end, const u8* __restrict__ kinds,
                                        u64 tiles, const u32* tokens_before, const u32* lines_before,
                                        const u32* row_tokens, const u32* row_arcs, i32 skip, i32 weighted,
                                        u64 first_vertex, u64 low, u64 high, ID* source, ID* target, double* weight,
                                        u64* results) {
    __shared__ u32 scratch[WARP + 1];
    u64 fault = ~0ull;
    each_numbered(
        text, kinds, first, end, tiles, tokens_before, lines_before, scratch,
        [&](u64 place, u32 token, u32 line) {
            const u64 start = place;
            const i32 index = i32(token - row_tokens[line]) - skip;
            const u32 arc = row_arcs[line] + (index < 0 ? 0 : u32(weighted ? index / 2 : index));
            bool fine;
            if (index < 0 || (weighted && (index & 1))) {
                double value = 0;
                fine = read_decimal(text, kinds, place, value);
                if (fine && index >= 0) weight[arc] = value;
            } else {
                u64 value = 0;
                fine = read_integer(text, kinds, place, value) && low <= value && value <= high;
                if (fine) {
                    source[arc] = ID(first_vertex + line);
                    target[arc] = ID(value);
                }
            }
            if (!fine) fault = min(fault, start);
        },
        [](u32, u32) {});
    if (fault != ~0ull) atomicMin(&results[FAULT], fault);
}

// The fingerprints of arcs at their two ends, as kernels/text/lists.py adds them; weight may be null.
extern "C" __global__ void add_imbalance(const ID* source, const ID* target, const u64* weight, u64 arcs,
                                         u64 first, u64 length, u64* imbalance) {
    for (u64 i = global_thread(); i < arcs; i += global_threads()) {
        const u64 near = source[i], far = target[i];
        u64 value = min(near, far) * 0x9E3779B97F4A7C15ull + max(near, far);
        if (weight) value = (value ^ (value >> 32)) * 0xD6E8FEB86659FD93ull + weight[i];
        value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9ull;
        value = (value ^ (value >> 27)) * 0x94D049BB133111EBull;
        value ^= value >> 31;
        atomicAdd(&imbalance[(near - first) % length], value);
        atomicAdd(&imbalance[(far - first) % length], 0 - value);
    }
}
