// Rows as strings of bytes of which each says where its units are: what layouts of bit strings have in common.

#include "kernels/layouts/chunks.cuh"

#define ROWS_PARAMETERS_AS(name) const i64 *name##_byte_offsets, const u8 *name##_stream, u64 name##_bound
#define ROWS_ARGUMENTS_AS(name) name##_byte_offsets, name##_stream, name##_bound

constexpr u32 UNIT_ARCS = 256, MAX_IN_UNIT = UNIT_ARCS;
constexpr bool RANDOM_ACCESS = false;
constexpr u64 SHORT_BYTES = UNIT_ARCS / 8;  // a row of more than a unit takes more: each neighbour but the first a bit

struct Rows {
    const i64* byte_offsets;
    const u8* stream;
    u64 bound;
};

__device__ __forceinline__ Rows make_rows(const i64* byte_offsets, const u8* stream, u64 bound) {
    return Rows{byte_offsets, stream, bound};
}

// Bytes of row v.
__device__ __forceinline__ u64 row_weight(const Rows& rows, u64 v) {
    return u64(rows.byte_offsets[v + 1] - rows.byte_offsets[v]);
}
