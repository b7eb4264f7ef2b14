// Checks of labels of strongly connected components: what a label reaches within its component along the arcs and
// against them, and labels on cycles of labels. The rules are those of kernels/verify/strong_components.py; nothing
// here is of a search.
//
// Contract: whole rows as i64 (n + 1) and VERTEX (arcs), n below 2^31. labels u32 (n), below n. Groups of numbers below
// n are `ends` i64 (n + 1) and what lies from ends[g] on: the vertices with label g, or predecessors of vertex g.
// `reach` and `peel` are cooperative: no more blocks than run at the same time; `tail` and `arrivals` u64 are zero.
// `tasks` has room for n and twice the pieces of long rows. Any block that is a multiple of 32; grids stride.
//
// variants VERTEX: u32 u64
#include "kernels/cuda/grid_barrier.cuh"
#include "kernels/verify/cuda/counts.cuh"
#include "kernels/verify/cuda/integers.cuh"
#include "kernels/verify/cuda/long_rows.cuh"

enum Rule : u32 { RANGES, SMALLEST, FROM_LABEL, TO_LABEL, ACYCLIC };  // in the order of strong_components.py

// Labels of a `kind` as 32-bit numbers, 0 where they are no vertices, and what a vertex's label breaks by itself.
extern "C" __global__ void strong_labels(const void* given, u32 kind, u64 n, u32* labels, u64* counts, u8* bits) {
    u32 strange = 0, odd = 0;
    for (u64 v = global_thread(); v < n; v += global_threads()) {
        const i64 label = integer_at(given, kind, v);
        const bool outside = label < 0 || label >= i64(n);
        const bool large = !outside && (label > i64(v) || integer_at(given, kind, label) != label);
        labels[v] = outside ? 0 : u32(label);
        strange += outside, odd += large;
        bits[v] = u8(outside << RANGES | large << SMALLEST);
    }
    count(counts, RANGES, strange);
    count(counts, SMALLEST, odd);
}

// How many numbers are in each group.
template <class Group>
__device__ __forceinline__ void tally(const Group* groups, u64 several, u64* sizes) {
    for (u64 i = global_thread(); i < several; i += global_threads()) atomicAdd(&sizes[groups[i]], 1ull);
}

extern "C" __global__ void tally_labels(const u32* labels, u64 n, u64* sizes) { tally(labels, n, sizes); }
extern "C" __global__ void tally_heads(const VERTEX* columns, u64 arcs, u64* sizes) { tally(columns, arcs, sizes); }

// Put each vertex with its label. Ends of groups become their beginnings.
extern "C" __global__ void place_members(const u32* labels, u64 n, u64* ends, u32* members) {
    for (u64 v = global_thread(); v < n; v += global_threads()) members[atomicAdd(&ends[labels[v]], ~0ull) - 1] = u32(v);
}

// Call visit(arc, v) for all arcs of all rows, a warp for each row that is not long and each piece of one that is.
template <class Visit>
__device__ __forceinline__ void each_arc(const i64* offsets, u64 n, const Piece* pieces, u64 several, Visit visit) {
    for (u64 i = global_thread() / WARP; i < n + several; i += global_threads() / WARP) {
        const u64 row = i < n ? i : pieces[i - n].row;
        u64 begin = offsets[row], end = offsets[row + 1];
        if (i < n && end - begin > LONG) continue;
        if (i >= n) begin += u64(pieces[i - n].number) * LONG, end = begin + LONG < end ? begin + LONG : end;
        for (u64 arc = begin + lane_id(); arc < end; arc += WARP) visit(arc, u32(row));
    }
}

// Put the tail of each arc with its head. Ends of groups become their beginnings.
extern "C" __global__ void place_tails(const i64* offsets, const VERTEX* columns, u64 n, const Piece* pieces,
                                       u64 several, u64* ends, VERTEX* tails) {
    each_arc(offsets, n, pieces, several,
             [&](u64 arc, u32 v) { tails[atomicAdd(&ends[columns[arc]], ~0ull) - 1] = v; });
}

// How many arcs enter each label from others.
extern "C" __global__ void count_entering(const i64* offsets, const VERTEX* columns, u64 n, const Piece* pieces,
                                          u64 several, const u32* labels, u64* entering) {
    each_arc(offsets, n, pieces, several, [&](u64 arc, u32 v) {
        const u32 target = labels[columns[arc]];
        if (target != labels[v]) atomicAdd(&entering[target], 1ull);
    });
}

// A vertex and a piece of its long row; or, with WHOLE, a vertex whose row of any length is still to be looked at, in
// `peel` the place of up to WARP members of one label.
struct Task {
    u32 at, piece;
};
constexpr u32 WHOLE = ~0u;

struct Tasks {
    Task* list;
    u64* tail;
    u64* arrivals;

    __device__ __forceinline__ void add(u32 at) { list[atomicAdd(tail, 1ull)] = {at, WHOLE}; }

    // A warp adds the pieces of a row.
    __device__ __forceinline__ void add_pieces(u32 v, u64 arcs) {
        const u32 several = u32((arcs + LONG - 1) / LONG);
        u64 place = 0;
        if (lane_id() == 0) place = atomicAdd(tail, u64(several));
        place = __shfl_sync(ALL_LANES, place, 0);
        for (u32 i = lane_id(); i < several; i += WARP) list[place + i] = {v, i};
    }

    // Call handle(task) by a warp for each task until there are no more, those that are added meanwhile too.
    template <class Handle>
    __device__ __forceinline__ void drain(Handle handle) {
        u64 begin = 0;
        while (true) {
            grid_barrier(arrivals);
            const u64 end = load_relaxed(tail);
            grid_barrier(arrivals);  // all have seen the same end before any adds more
            if (begin == end) return;
            for (u64 i = begin + global_thread() / WARP; i < end; i += global_threads() / WARP) handle(list[i]);
            begin = end;
        }
    }
};

// A warp calls visit(w) for the arcs of a row, or of one piece; a long row's pieces become tasks instead.
template <class Visit>
__device__ __forceinline__ void walk(Tasks& tasks, u32 v, u32 piece, const i64* offsets, const VERTEX* columns,
                                     Visit visit) {
    u64 begin = offsets[v], end = offsets[u64(v) + 1];
    if (piece == WHOLE && end - begin > LONG) {
        tasks.add_pieces(v, end - begin);
        return;
    }
    if (piece != WHOLE) begin += u64(piece) * LONG, end = begin + LONG < end ? begin + LONG : end;
    for (u64 arc = begin + lane_id(); arc < end; arc += WARP) visit(u32(columns[arc]));
}

// Bits of `seen` u32 ((n + 31) / 32), zero at first, of what its label reaches along arcs between vertices of one label.
extern "C" __global__ void __launch_bounds__(1024)
    reach(const i64* offsets, const VERTEX* columns, u64 n, const u32* labels, u32* seen, Task* list, u64* tail,
          u64* arrivals) {
    Tasks tasks{list, tail, arrivals};
    auto claim = [&](u32 v) {
        const u32 bit = 1u << v % 32;
        if (!(seen[v / 32] & bit) && !(atomicOr(&seen[v / 32], bit) & bit)) tasks.add(v);
    };
    for (u64 v = global_thread(); v < n; v += global_threads())
        if (labels[v] == v) claim(u32(v));
    tasks.drain([&](Task task) {
        const u32 label = labels[task.at];
        walk(tasks, task.at, task.piece, offsets, columns, [&](u32 w) {
            if (labels[w] == label) claim(w);
        });
    });
}

// Remove labels that no arc enters, one after the other; `entering` is left above 0 where arcs enter in the end.
extern "C" __global__ void __launch_bounds__(1024)
    peel(const i64* offsets, const VERTEX* columns, u64 n, const u32* labels, const i64* first, const u32* members,
         u64* entering, Task* list, u64* tail, u64* arrivals) {
    Tasks tasks{list, tail, arrivals};
    auto release = [&](u64 label) {
        for (i64 i = first[label]; i < first[label + 1]; i += WARP) tasks.add(u32(i));
    };
    for (u64 label = global_thread(); label < n; label += global_threads())
        if (entering[label] == 0) release(label);
    tasks.drain([&](Task task) {
        const u32 label = labels[task.piece == WHOLE ? members[task.at] : task.at];
        auto leave = [&](u32 w) {
            const u32 target = labels[w];
            if (target != label && atomicAdd(&entering[target], ~0ull) == 1) release(target);
        };
        if (task.piece != WHOLE) {
            walk(tasks, task.at, task.piece, offsets, columns, leave);
            return;
        }
        const u64 end = first[u64(label) + 1], last = task.at + WARP < end ? task.at + WARP : end;
        for (u64 i = task.at; i < last; ++i) walk(tasks, members[i], WHOLE, offsets, columns, leave);
    });
}

// What the passes have left over.
extern "C" __global__ void check_passes(const u32* from, const u32* to, const u64* entering, u64 n, u64* counts,
                                        u8* bits) {
    u32 unreached = 0, unreaching = 0, left = 0;
    for (u64 v = global_thread(); v < n; v += global_threads()) {
        const bool out = !(from[v / 32] >> v % 32 & 1), in = !(to[v / 32] >> v % 32 & 1), cycle = entering[v] > 0;
        unreached += out, unreaching += in, left += cycle;
        bits[v] |= u8(out << FROM_LABEL | in << TO_LABEL | cycle << ACYCLIC);
    }
    count(counts, FROM_LABEL, unreached);
    count(counts, TO_LABEL, unreaching);
    count(counts, ACYCLIC, left);
}
