// What is wrong with the vertices of a search by themselves, and levels counted along its predecessors. The rules are
// those of kernels/verify/tree.py.
//
// Contract: labels are n integers of a `kind` (integers.cuh); a kind of 0 says that there are none. n is below 2^31.
// counts[rule] gains the vertices that break a rule; `bits`, unless null, gets those of each vertex. Any block that is
// a multiple of 32; grids stride.
#include "kernels/verify/cuda/counts.cuh"
#include "kernels/verify/cuda/integers.cuh"
#include "kernels/verify/cuda/rules.cuh"

constexpr u32 NOBODY = 0xffffffffu;

// *highest becomes the largest distance that is in range. A launch for each search: the distances of one are in the
// cache when those of predecessors are looked up.
extern "C" __global__ void check_vertices(const void* distance, u32 distance_kind, const void* predecessor,
                                          u32 predecessor_kind, u64 n, u64 source, i64 limit, u64* counts,
                                          u32* highest, u8* bits) {
    u32 broken[4] = {0, 0, 0, 0}, deepest = 0;
    for (u64 v = global_thread(); v < n; v += global_threads()) {
        const i64 d = integer_at(distance, distance_kind, v);
        const i64 p = predecessor_kind ? integer_at(predecessor, predecessor_kind, v) : -1;
        u32 rule = RULES;
        if (d < -1 || d > limit || p < -1 || p >= i64(n)) {
            rule = RANGES;
        } else {
            if (d > i64(deepest)) deepest = u32(d);
            if (v == source) {
                if (d != 0 || p != -1) rule = SOURCE;
            } else if (d == 0) {
                rule = SOURCE;
            } else if (predecessor_kind && (d == -1) != (p == -1)) {
                rule = TREE;
            } else if (predecessor_kind && d != -1) {
                const i64 above = integer_at(distance, distance_kind, p);
                if (above != d - 1) rule = above == -1 ? TREE : TREE_LEVELS;
            }
        }
        for (u32 each = 0; each < 4; each++) broken[each] += rule == each;
        if (bits) bits[v] = rule == RULES ? 0 : u8(1u << rule);
    }
    for (u32 each = 0; each < 4; each++) count(counts, each, broken[each]);
    deepest = __reduce_max_sync(ALL_LANES, deepest);
    if (lane_id() == 0 && deepest) atomicMax(highest, deepest);
}

__device__ __forceinline__ u64 step_up(u32 ancestor, u32 steps) { return u64(ancestor) << 32 | steps; }

// up[v]: an ancestor of v and the steps to it, NOBODY where the way ends elsewhere than at the source.
extern "C" __global__ void tree_start(const void* predecessor, u32 kind, u64 n, u64 source, u64* up, u64* counts,
                                      u8* bits) {
    u32 strange = 0;
    for (u64 v = global_thread(); v < n; v += global_threads()) {
        const i64 p = integer_at(predecessor, kind, v);
        const bool outside = p < -1 || p >= i64(n);
        strange += outside;
        if (bits) bits[v] = outside ? 1u << RANGES : 0;
        up[v] = v == source ? step_up(u32(source), 0) : step_up(outside || p < 0 ? NOBODY : u32(p), 1);
    }
    count(counts, RANGES, strange);
}

// Replace each ancestor by its own. A pair that another thread has replaced meanwhile is as true as the one before,
// so after k rounds every way of 2^k steps has ended; one that goes on longer than n steps is a cycle.
extern "C" __global__ void tree_jump(u64* up, u64 n, u64 source, u32* changed) {
    bool some = false;
    for (u64 v = global_thread(); v < n; v += global_threads()) {
        const u64 mine = up[v];
        const u32 ancestor = u32(mine >> 32);
        if (ancestor == NOBODY || ancestor == source) continue;
        const u64 next = *reinterpret_cast<const volatile u64*>(&up[ancestor]);
        *reinterpret_cast<volatile u64*>(&up[v]) = step_up(u32(next >> 32), u32(mine) + u32(next));
        some = true;
    }
    if (__any_sync(ALL_LANES, some) && lane_id() == 0) *changed = 1;
}

// Levels, -1 for vertices without a predecessor and for those whose predecessors do not lead to the source, which
// break the rule TREE. `levels` may be null.
extern "C" __global__ void tree_levels(const void* predecessor, u32 kind, u64 n, u64 source, i64 limit, const u64* up,
                                       i32* levels, u64* counts, u32* highest, u8* bits) {
    u32 lost = 0, deep = 0, deepest = 0;
    for (u64 v = global_thread(); v < n; v += global_threads()) {
        i32 level = v == source ? 0 : -1;
        u32 broken = 0;
        const i64 p = integer_at(predecessor, kind, v);
        if (v == source) {
            if (p != -1) {
                broken = 1u << SOURCE;
                atomicAdd(&counts[SOURCE], 1ull);
            }
        } else if (p != -1) {
            if (u32(up[v] >> 32) == source) level = i32(u32(up[v]));
            else broken = 1u << TREE, lost++;
            if (level > limit) broken |= 1u << RANGES, deep++;
            if (level > i32(deepest)) deepest = u32(level);
        }
        if (levels) levels[v] = level;
        if (bits) bits[v] = u8(broken);
    }
    lost = warp_sum(lost), deep = warp_sum(deep);
    if (lane_id() == 0 && lost) atomicAdd(&counts[TREE], u64(lost));
    if (lane_id() == 0 && deep) atomicAdd(&counts[RANGES], u64(deep));
    deepest = __reduce_max_sync(ALL_LANES, deepest);
    if (lane_id() == 0 && deepest) atomicMax(highest, deepest);
}
