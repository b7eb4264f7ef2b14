// Steps of one launch that searches rows in host memory: the barrier between two, and what a step counted.

#include "kernels/bfs/cuda/host_rows.cuh"
#include "kernels/cuda/grid_barrier.cuh"

// What all threads of a block know, read after a barrier by its first thread.
struct Counted {
    u64 marked, kept, first_word, last_word, found, arcs;
};

// How steps end: the state, what the step counted, and where blocks meet.
struct Steps {
    HostRows& s;
    Counted& counted;
    u64 *control, *arrivals;
    u32 step = 0;

    // A barrier, and what the step before it counted.
    __device__ __forceinline__ void end() {
        grid_barrier(arrivals);
        if (threadIdx.x == 0) {
            const u64* read = s.control;
            u64 first = load_relaxed(&read[FIRST_WORD]);
            counted = {load_relaxed(&read[MARKED]),    load_relaxed(&read[KEPT]),  first ? ~first : 0,
                       load_relaxed(&read[LAST_WORD]), load_relaxed(&read[FOUND]), load_relaxed(&read[ARCS])};
        }
        if (blockIdx.x == 0 && threadIdx.x < CONTROL_WORDS)
            control[(step + 2) % SIDES * CONTROL_WORDS + threadIdx.x] = 0;
        ++step;
        s.control = control + step % SIDES * CONTROL_WORDS;
        __syncthreads();
    }
};
