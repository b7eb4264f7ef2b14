// Columns of a rank's subgraphs that may lie in host memory, whole or but for the lines of some rows.
//
// With PLACED a field for columns points to a `Placed`, and reading from it counts what crosses the link: the 32-byte
// sectors that the lanes of a warp ask for together, which is how a GPU reads host memory (Min et al., EMOGI, PVLDB
// 14(2), 2020, section 3). Lines of 32 columns that the device keeps are found as in kernels/bfs/cuda/lines.cuh.

#include "kernels/cuda/types.cuh"

#ifndef PLACED
#define PLACED 0
#endif

constexpr u32 SECTOR = 32;         // bytes
constexpr u32 KEPT_LINE = 32;      // columns, and lines of a word, as kernels/partition/cuda/placing.py says

// The fields, in this order, are in kernels/partition/cuda/placing.py too; each takes 8 bytes.
struct Placed {
    const void* columns;
    u64 over_link;         // whether those lie in host memory
    const void* kept;      // lines that the device has too,
    const u32* lines;      // their bits, or null,
    const u32* before;     // and how many lie before each word
};

// Sectors that this block has read over the link.
__device__ __forceinline__ u64& link_sectors() {
    __shared__ u64 sectors;
    return sectors;
}

__device__ __forceinline__ void count_sector(const void* address) {
    u32 same = __match_any_sync(__activemask(), u64(address) / SECTOR);
    if (lane_id() == u32(__ffs(same) - 1)) atomicAdd(&link_sectors(), 1ull);
}

template <class T>
struct PlacedColumns {
    const Placed* of;

    __device__ __forceinline__ T operator[](u64 at) const {
        const T* columns = static_cast<const T*>(of->columns);
        if (of->lines) {
            u64 line = at / KEPT_LINE;
            u32 bits = of->lines[line / 32], bit = 1u << (line & 31);
            if (bits & bit) {
                u64 place = u64(of->before[line / 32]) + __popc(bits & (bit - 1));
                return static_cast<const T*>(of->kept)[place * KEPT_LINE + at % KEPT_LINE];
            }
        }
        if (of->over_link) count_sector(columns + at);
        return columns[at];
    }
};

// A column that is read once, which L1 need not keep: of searches of Kronecker 22 to 26 it holds the bits that all look up.
template <class T>
__device__ __forceinline__ T read_once(const T* columns, u64 at) {
    return __ldcs(&columns[at]);
}
template <class T>
__device__ __forceinline__ T read_once(const PlacedColumns<T>& columns, u64 at) {
    return columns[at];
}

#ifndef ENCODED
#define ENCODED 0
#endif

#if ENCODED
// Rows that are encoded (kernels/partition/cuda/encoded.cuh) have no column at a place of its own.
template <class T>
struct Columns {
    const Rows* rows;
};
#elif PLACED
template <class T>
using Columns = PlacedColumns<T>;
#else
template <class T>
using Columns = const T*;
#endif
