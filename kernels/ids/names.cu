// The ids of vertices, where they are integers.
//
// Contract. vertices LABEL (count), negative for none; values i64, the id of each vertex, or null where vertex v has
// the id first + v; ids i64 (count), `missing` for none. Any block.
//
// variants LABEL: i32 i64 u32 u64

#include "kernels/cuda/types.cuh"

extern "C" __global__ void name_vertices(const LABEL* vertices, u64 count, i64 first, const i64* values, i64 missing,
                                         i64* ids) {
    for (u64 i = global_thread(); i < count; i += global_threads()) {
        i64 vertex = i64(vertices[i]);
        ids[i] = vertex < 0 ? missing : values ? values[vertex] : first + vertex;
    }
}
