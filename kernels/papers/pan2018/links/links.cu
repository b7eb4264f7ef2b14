// Messages between devices that read each other's memory, as a search over ranks has them: what a rank has written is
// told by a barrier (kernels/partition/cuda/device_barrier.cuh), and then read by whom it is for. One cooperative launch on each
// device does a pattern so many times; `clock` has the nanoseconds of the first block before and after all.
//
// A rank's buffer holds a message of `words` for each rank, its own included; `taken` has room for one. With PAIR the
// first two ranks read from each other by turns; with EXCHANGE every rank reads its message from all others, and keeps
// their sum; with REDUCE all read the first message of every rank, and keep the OR.

#include "kernels/partition/cuda/device_barrier.cuh"

enum Pattern : u32 { MEET, PAIR, EXCHANGE, REDUCE };
constexpr u32 AT_ONCE = 4;  // loads of a thread on their way

// The fields are in kernels/papers/pan2018/links/peer.py too.
struct Peer {
    const u64* buffer;
    u64 rank;
};

template <class Combine>
__device__ __forceinline__ void take(const Peer* peers, u64 first, u64 last, u64 skipped, u64 offset, u64 words,
                                     u64* taken, const Combine& combine) {
    for (u64 base = global_thread(); base < words; base += AT_ONCE * global_threads()) {
        u64 sum[AT_ONCE] = {};
        for (u64 from = first; from < last; ++from) {
            if (from == skipped) continue;
            const u64* source = peers[from].buffer + offset;
            u64 value[AT_ONCE];
#pragma unroll
            for (u32 k = 0; k < AT_ONCE; ++k) {
                u64 i = base + k * global_threads();
                value[k] = i < words ? __ldcv(&source[i]) : 0;
            }
#pragma unroll
            for (u32 k = 0; k < AT_ONCE; ++k) sum[k] = combine(sum[k], value[k]);
        }
#pragma unroll
        for (u32 k = 0; k < AT_ONCE; ++k) {
            u64 i = base + k * global_threads();
            if (i < words) taken[i] = sum[k];
        }
    }
}

extern "C" __global__ void __launch_bounds__(512, 2)
    links(const Barrier* barrier, const Peer* peers, u64* taken, u64* clock, u64 ranks, u64 rank, u64 words,
          u64 pattern, u64 turns) {
    const Barrier& m = *barrier;
    if (threadIdx.x == 0) open_barrier(m);
    auto sum = [](u64 a, u64 b) { return a + b; };
    auto either = [](u64 a, u64 b) { return a | b; };
    const u64 nobody = ~0ull;
    if (!synchronise(m, true)) return;
    if (global_thread() == 0) clock[0] = nanoseconds();
    for (u64 turn = 0; turn < turns; ++turn) {
        if (!synchronise(m, true)) return;
        if (pattern == PAIR && rank == turn % 2)
            take(peers, 1 - rank, 2 - rank, nobody, rank * words, words, taken, sum);
        if (pattern == EXCHANGE) take(peers, 0, ranks, rank, rank * words, words, taken, sum);
        if (pattern == REDUCE) take(peers, 0, ranks, nobody, 0, words, taken, either);
    }
    // Whoever reads is done before anybody writes anew.
    if (!synchronise(m, true)) return;
    if (global_thread() == 0) clock[1] = nanoseconds();
}
