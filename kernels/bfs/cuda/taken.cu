// A search's labels, taken out of its workspace.
//
// Contract: labels i32, that of vertex v at v * stride, since those of a search are halves of its keys; taken i32
// (vertices). Any block.

#include "kernels/cuda/types.cuh"

extern "C" __global__ void take(const i32* labels, i64 stride, u64 vertices, i32* taken) {
    for (u64 v = global_thread(); v < vertices; v += global_threads()) taken[v] = labels[i64(v) * stride];
}
