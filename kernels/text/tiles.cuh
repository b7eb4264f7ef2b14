// Text on the device in tiles, of which each thread of a block owns shares: line ends, and sums over tiles.
//
// Contract: text[first, end) is a piece; text begins at a multiple of 16 bytes and is readable up to the next one
// after `end`. `scan_tiles` (one block) turns what was counted in tiles into what was counted before each, and
// leaves both sums in results[0] and results[1].
#include "kernels/cuda/types.cuh"

constexpr u32 SHARE = 16;           // bytes of text that a thread owns at a time
constexpr u32 SHARES = 256;         // of a tile
constexpr u64 TILE = SHARE * SHARES;

// One bit for each byte of a share that is a line end within [first, end).
__device__ __forceinline__ u32 line_ends(const u8* text, u64 begin, u64 first, u64 end) {
    u32 found = 0;
    const u64* words = reinterpret_cast<const u64*>(text + begin);
    for (u32 half = 0; half < 2; half++) {
        const u64 low = 0x7f7f7f7f7f7f7f7full;
        const u64 x = words[half] ^ 0x0a0a0a0a0a0a0a0aull;
        // The top bit of each byte that is a line end; gathered into 8 bits by one multiplication.
        const u64 tops = ~(((x & low) + low) | x | low);
        found |= u32(((tops >> 7) * 0x0102040810204080ull) >> 56) << 8 * half;
    }
    if (begin < first) found &= first - begin >= SHARE ? 0u : 0xffffu << (first - begin);
    if (end - begin < SHARE) found &= (1u << (end - begin)) - 1;
    return found;
}

// Writes what the threads of a block counted in a tile.
__device__ __forceinline__ void write_counts(u64 tile, u32 item_count, u32 line_count, u32* scratch, u32* items,
                                             u32* lines) {
    u32 total;
    block_exclusive_sum(item_count, scratch, total);
    if (threadIdx.x == 0) items[tile] = total;
    block_exclusive_sum(line_count, scratch, total);
    if (threadIdx.x == 0) lines[tile] = total;
}

extern "C" __global__ void scan_tiles(u32* items, u32* lines, u64 tiles, u64* results) {
    __shared__ u32 scratch[WARP + 1];
    u32 items_before = 0, lines_before = 0, total;
    for (u64 first = 0; first < tiles; first += blockDim.x) {
        const u64 tile = first + threadIdx.x;
        const u32 before = block_exclusive_sum(tile < tiles ? items[tile] : 0u, scratch, total);
        if (tile < tiles) items[tile] = items_before + before;
        items_before += total;
        const u32 ends = block_exclusive_sum(tile < tiles ? lines[tile] : 0u, scratch, total);
        if (tile < tiles) lines[tile] = lines_before + ends;
        lines_before += total;
    }
    if (threadIdx.x == 0) {
        results[0] = items_before;
        results[1] = lines_before;
    }
}
