// Arcs of columns as passes visit them: evenly, whatever rows they are of.

#include "kernels/components/cuda/arcs.cuh"
#include "kernels/papers/moschou/passes.cuh"

#define READS_PARAMETERS const i64 *row_offsets, const VERTEX *columns
#define READS Reads{row_offsets, columns}

struct Reads {
    const i64* row_offsets;
    const VERTEX* columns;

    // Calls visit(v, neighbour) for all arcs; all threads of the grid call it.
    template <class Visit>
    __device__ __forceinline__ void each(u64 vertices, Visit visit) const {
        each_arc(row_offsets, 0, vertices, columns, 0, row_offsets[vertices], visit);
    }

    __device__ __forceinline__ bool has_arcs(u64 v) const { return row_offsets[v] < row_offsets[v + 1]; }

    __device__ __forceinline__ bool first(u64 v, VERTEX& neighbour) const {
        if (!has_arcs(v)) return false;
        neighbour = columns[row_offsets[v]];
        return true;
    }
};
