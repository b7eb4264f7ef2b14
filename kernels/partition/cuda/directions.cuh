// The direction of each visit, decided on the device (kernels/partition/directions.py).

#include "kernels/partition/cuda/rank.cuh"

enum Subgraph : u32 { ND, DN, DD };

__device__ __forceinline__ Count rows_of(Subgraph visit) { return visit == ND ? ND_ROWS : visit == DN ? DN_ROWS : DD_ROWS; }

// The subgraph whose rows pull when a visit is backward: those of the destinations.
__device__ __forceinline__ Subgraph reverse_of(Subgraph visit) { return visit == ND ? DN : visit == DN ? ND : DD; }

struct Factors {
    double backward[3], forward[3];
    u64 optimized;
};

// What is known of a rank from level to level.
struct Local {
    u64 hidden[3];  // rows of nd, dn and dd whose vertex is not seen
    u32 backward;   // bits
};

// Take in the counts of the next level, `count(place)` each, and decide its directions.
template <class Counts>
__device__ __forceinline__ void decide(Local& l, const Counts& count, const Factors& factors) {
    u64 rows[3] = {count(ND_ROWS), count(DN_ROWS), count(DD_ROWS)};
    u64 arcs[3] = {count(ND_ARCS), count(DN_ARCS), count(DD_ARCS)}, hidden[3];
    u32 was = l.backward, backward = 0;
#pragma unroll
    for (u32 k = 0; k < 3; ++k) l.hidden[k] = hidden[k] = l.hidden[k] - rows[k];
    if (!factors.optimized) return;
    // Both sides are multiplied by the rows: everybody waits for this, and three quotients are most of a microsecond.
#pragma unroll
    for (u32 k = 0; k < 3; ++k) {
        double own = double(rows[k]), work = double(hidden[reverse_of(Subgraph(k))]) * (own + double(hidden[k]));
        double ahead = double(arcs[k]) * own;
        bool before = was >> k & 1, turned = before ? !(ahead < factors.forward[k] * work) : ahead > factors.backward[k] * work;
        // Where nothing is unvisited its arcs may not have been counted.
        turned |= !hidden[reverse_of(Subgraph(k))];
        backward |= u32(rows[k] ? turned : before) << k;
    }
    l.backward = backward;
}
