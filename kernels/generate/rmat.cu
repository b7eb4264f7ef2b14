// RMAT edges, one thread each, bit for bit those of kernels/generate/rmat.py.
//
// Contract: source[i], target[i] for i < count get edge first + i of a graph with 2^scale vertices;
// `constants` are what gravel.kernels.generate.rmat.edge_constants returns. Integer operations only: chances are
// thresholds on 32 random bits, two levels share a draw, labels pass a bijection on `scale` bits.
// Paper: Chakrabarti, Zhan, Faloutsos, R-MAT, SDM 2004, section 3.1; the draw is SplitMix64's.
//
// variants VERTEX: u32 u64
#include "kernels/generate/label.cuh"

extern "C" __global__ void rmat_edges(VERTEX* __restrict__ source, VERTEX* __restrict__ target, u64 first,
                                      u64 count, i32 scale, const u64* __restrict__ constants) {
    const u64 start = constants[0], a = constants[1], ab = constants[2], abc = constants[3];
    const u64 draws = (scale + 1) / 2;
    for (u64 i = global_thread(); i < count; i += global_threads()) {
        u64 counter = start + (first + i) * draws * STEP;
        u64 row = 0, column = 0, bits = 0;
        for (i32 level = 0; level < scale; level++) {
            if (level & 1) {
                bits >>= 32;
            } else {
                bits = mix(counter);
                counter += STEP;
            }
            const u64 chance = bits & 0xffffffffull;
            const u64 down = chance >= ab;
            const u64 right = u64(chance >= a) ^ down ^ u64(chance >= abc);
            row = row << 1 | down;
            column = column << 1 | right;
        }
        source[i] = VERTEX(label(row, scale, constants));
        target[i] = VERTEX(label(column, scale, constants));
    }
}
