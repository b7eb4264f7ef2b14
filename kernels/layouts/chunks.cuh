// Decodes units of up to 32 rows at a time, a lane per chunk of CHUNK neighbours, for layouts of bit strings.
//
// A warp that takes one row after the other leaves most lanes idle on short rows and spends most of its
// instructions on headers. Here every lane reads the header of a unit of its own, and then the units' chunks are
// dealt out to all lanes. A chunk of high and low parts can be read alone. Of gaps by class, what the chunks of
// a unit before it add up to comes from sums over lanes, carried on where a unit goes on in the next round.

#include "kernels/layouts/bits.cuh"

constexpr u32 CHUNK = 8;  // classes of a chunk are one word
constexpr u32 BY_CLASS = 64;

// A unit as one lane sees it. Positions are bits from `bits.words` on.
struct Plan {
    Bits bits;
    u32 arcs;      // 0 where the lane has no unit
    u32 kind;      // width of low parts, or BY_CLASS
    u32 lows;      // low parts, or flags of gaps
    u32 highs;     // high parts, or offsets of gaps
    VERTEX first;  // neighbour, which is not among the parts, or 0
    VERTEX base;   // added to all high parts
};

__device__ __forceinline__ Plan no_plan() { return Plan{Bits{nullptr, 0}, 0, 0, 0, 0, 0, 0}; }

__device__ __forceinline__ Plan plan_of(const Plan& mine, u32 from) {
    Plan plan;
    plan.bits.words = reinterpret_cast<const u32*>(__shfl_sync(ALL_LANES, reinterpret_cast<u64>(mine.bits.words), from));
    plan.bits.count = __shfl_sync(ALL_LANES, mine.bits.count, from);
    plan.arcs = __shfl_sync(ALL_LANES, mine.arcs, from);
    plan.kind = __shfl_sync(ALL_LANES, mine.kind, from);
    plan.lows = __shfl_sync(ALL_LANES, mine.lows, from);
    plan.highs = __shfl_sync(ALL_LANES, mine.highs, from);
    plan.first = __shfl_sync(ALL_LANES, mine.first, from);
    plan.base = __shfl_sync(ALL_LANES, mine.base, from);
    return plan;
}

// Read `count` neighbours from number `begin` on. LEAD is 1 where the unit's first neighbour has no parts.
// Returns how many there are, fewer if the string ends before.
template <u32 LEAD>
__device__ __forceinline__ u32 read_parts(const Plan& plan, u32 begin, u32 count, VERTEX (&neighbours)[CHUNK]) {
    u32 k = begin ? begin - LEAD : 0, rank = k, found = 0;
    if (LEAD && !begin) {
        neighbours[0] = plan.first;
        found = 1;
        if (count == 1) return 1;
    }
    u32 at = plan.highs / 32, word = at < plan.bits.count ? plan.bits.words[at] : 0;
    word &= ~0u << (plan.highs & 31);
    for (u32 ones = __popc(word); ones <= rank; ones = __popc(word)) {
        if (++at >= plan.bits.count) return found;
        rank -= ones;
        word = plan.bits.words[at];
    }
    word &= ~0u << select_bit(word, rank);
#pragma unroll
    for (u32 i = 0; i < CHUNK; ++i) {
        if (i >= count || found != i) continue;  // also what is found already
        while (!word && ++at < plan.bits.count) word = plan.bits.words[at];
        if (!word) continue;
        VERTEX high = VERTEX(32 * at + __ffs(i32(word)) - 1 - plan.highs - k) + plan.base;
        neighbours[i] = plan.first + (high << plan.kind | peek_vertex(plan.bits, plan.lows + plan.kind * k, plan.kind));
        word &= word - 1;
        ++k;
        ++found;
    }
    return found;
}

// Sums over the lanes of a unit below this one, and over its lanes of earlier rounds; `head` is its first lane in
// this round, or -1 where it began in an earlier one. `carry` is what the last lane hands on.
template <class T>
__device__ __forceinline__ T sum_before(T own, i32 head, T& carry) {
    T upto = warp_inclusive_sum(own), before = upto - own;
    T start = __shfl_sync(ALL_LANES, before, head < 0 ? 0 : head);
    before = head < 0 ? before + carry : before - start;
    carry = __shfl_sync(ALL_LANES, T(before + own), WARP - 1);
    return before;
}

struct Carry {
    u32 marks, widths;
    VERTEX gaps;
};

// Read the gaps of chunk `chunk`; all lanes call it, with count 0 where they have none.
__device__ __forceinline__ void read_gaps(const Plan& plan, u32 chunk, u32 count, Carry& carry, VERTEX (&neighbours)[CHUNK]) {
    i32 head = chunk <= lane_id() ? i32(lane_id() - chunk) : -1;
    // Bit i of marks: whether neighbour i of the chunk is more than 1 from the one before; never the unit's first.
    u32 marks = count ? peek(plan.bits, plan.lows - 1 + CHUNK * chunk) & ((1u << count) - 1) : 0;
    if (!chunk) marks &= ~1u;
    u32 before = sum_before(u32(__popc(marks)), head, carry.marks);
    u32 classes = marks ? peek(plan.bits, plan.lows + plan.arcs - 1 + CLASS_BITS * before) : 0;
    u32 widths = 0, rest = classes;
#pragma unroll
    for (u32 i = 0; i < CHUNK; ++i) {
        bool marked = marks >> i & 1;
        widths += marked ? class_width(rest & 15) : 0;
        rest = marked ? rest >> CLASS_BITS : rest;
    }
    u32 offset = plan.highs + sum_before(widths, head, carry.widths);
    VERTEX sum = 0;
#pragma unroll
    for (u32 i = 0; i < CHUNK; ++i) {
        VERTEX gap = i < count && (chunk || i) ? 1 : 0;
        if (marks >> i & 1) {
            u32 number_class = classes & 15, width = class_width(number_class);
            gap = VERTEX(2) + VERTEX(class_base(number_class)) + peek_vertex(plan.bits, offset, width);
            offset += width;
            classes >>= CLASS_BITS;
        }
        sum += gap;
        neighbours[i] = sum;
    }
    VERTEX value = plan.first + sum_before(sum, head, carry.gaps);
#pragma unroll
    for (u32 i = 0; i < CHUNK; ++i) neighbours[i] += value;
}

// Call take(lane, number of its first neighbour in the unit, count, neighbours) with the chunks of all lanes' units,
// all lanes in step, each with a chunk of the unit that `lane` brought, or with count 0. Chunks of a call follow one
// another, and so do calls. Where a unit is damaged a chunk is short.
template <u32 LEAD, class Take>
__device__ __forceinline__ void each_chunk(const Plan& mine, const Take& take) {
    u32 chunks = (mine.arcs + CHUNK - 1) / CHUNK, upto = warp_inclusive_sum(chunks);
    u32 total = __shfl_sync(ALL_LANES, upto, WARP - 1);
    Carry carry{0, 0, 0};
    for (u32 round = 0; round < total; round += WARP) {
        u32 item = round + lane_id(), from = owner_of(upto, item);
        u32 chunk = item - (__shfl_sync(ALL_LANES, upto, from) - __shfl_sync(ALL_LANES, chunks, from));
        Plan plan = plan_of(mine, from);
        u32 begin = CHUNK * chunk, count = 0;
        if (item < total) count = plan.arcs - begin < CHUNK ? plan.arcs - begin : CHUNK;
        VERTEX neighbours[CHUNK];
        bool gaps = LEAD && count && plan.kind == BY_CLASS;
        if (LEAD && __any_sync(ALL_LANES, gaps)) read_gaps(plan, chunk, gaps ? count : 0, carry, neighbours);
        if (count && !gaps) count = read_parts<LEAD>(plan, begin, count, neighbours);
        take(from, begin, count, neighbours);
    }
}

// Call visit(lane, neighbour, valid) with the neighbours of all lanes' units, all lanes in step, in any order.
template <u32 LEAD, class Visit>
__device__ __forceinline__ void visit_plans(const Plan& mine, u64 bound, const Visit& visit) {
    each_chunk<LEAD>(mine, [&](u32 from, u32, u32 count, VERTEX (&neighbours)[CHUNK]) {
#pragma unroll
        for (u32 i = 0; i < CHUNK; ++i)
            if (__any_sync(ALL_LANES, i < count)) visit(from, neighbours[i], i < count && u64(neighbours[i]) < bound);
    });
}
