"""Each protocol between blocks and devices holds with the orders that its kernel names, and with none weaker.

A mutant replaces one text of the kernel, so that one order is weaker or one barrier missing; the protocol
then has to fail by a value that is wrong, by a race, or by a wait without end.
"""

from __future__ import annotations

from typing import NamedTuple

import pytest

from tests.emulation import weak

SEEDS = 3
MUTANT_SEEDS = 40
"""One that fails is enough; on one busy core half of the schedules of some mutants hold."""


class Protocol(NamedTuple):
    main: str
    kernel: str
    extra: str = ""


PROTOCOLS = {
    "grid barrier": Protocol("main_grid_barrier.cpp", f"{weak.LITMUS}/grid_barrier.cu"),
    "queue": Protocol("main_queue.cpp", "kernels/papers/baselines/linear_queue.cu"),
    "adaptive": Protocol("main_queue.cpp", "kernels/papers/moschou/adaptive.cu", "3,"),
    "hierarchical": Protocol(
        "main_queue.cpp", "kernels/papers/baselines/hierarchical_queue.cu", "progress, 6,"
    ),
    "team": Protocol("main_team.cpp", f"{weak.LITMUS}/team.cu"),
    "team of rows": Protocol("main_team.cpp", f"{weak.LITMUS}/team_rows.cu"),
    "block group": Protocol("main_block_group.cpp", "kernels/bfs/cuda/persistent.cu"),
    "many sources": Protocol("main_multi_source.cpp", "kernels/bfs/cuda/multi_source.cu"),
    "search": Protocol("main_direction_optimizing.cpp", "kernels/bfs/cuda/direction_optimizing.cu"),
    "mailbox": Protocol("main_device_barrier.cpp", f"{weak.LITMUS}/device_barrier.cu"),
}

SLOT = ("store_release(&side[", "store_relaxed(&side[")
FENCE_BEFORE = "    fence_system();\n    for (u32 d = 0; d < m.devices; ++d)\n"
FENCE_BEHIND = "    fence_system();\n    return all;"

MUTANTS = {
    ("grid barrier", "arrivals are relaxed"): (
        "increment_release(arrivals)",
        "increment_relaxed(arrivals)",
    ),
    ("grid barrier", "nothing is acquired"): ("        load_acquire(arrivals);\n", ""),
    ("grid barrier", "a block does not gather before"): (
        "__syncthreads();\n    if (threadIdx.x == 0) {\n        u64 ticket",
        "if (threadIdx.x == 0) {\n        u64 ticket",
    ),
    ("grid barrier", "a block does not gather behind"): (
        "        load_acquire(arrivals);\n    }\n    __syncthreads();\n",
        "        load_acquire(arrivals);\n    }\n",
    ),
    ("grid barrier", "one arrival is not awaited"): (
        "% gridDim.x + gridDim.x",
        "% gridDim.x + gridDim.x - 1",
    ),
    ("queue", "a counter is zeroed while it is read"): (
        "constexpr u32 ROUNDS = 3;",
        "constexpr u32 ROUNDS = 2;",
    ),
    ("hierarchical", "one block begins while others read the counters"): (
        "grid_barrier(arrivals);  // all have read the counters",
        "// ",
    ),
    ("team", "slots are relaxed"): SLOT,
    ("team", "polls are relaxed"): ("seen = load_acquire(&side[block])", "seen = load_relaxed(&side[block])"),
    ("team of rows", "slots are relaxed"): SLOT,
    ("block group", "who has read what was dealt does not release"): ("if (dealt)\n", "if (false)\n"),
    ("block group", "who deals does not acquire"): ("if (warp_id() == 0) fence();", ""),
    ("block group", "the notice is relaxed"): (
        "store_release(&m.notice[NUMBER]",
        "store_relaxed(&m.notice[NUMBER]",
    ),
    ("block group", "the notice is read relaxed"): (
        "load_acquire(&m.notice[NUMBER])",
        "load_relaxed(&m.notice[NUMBER])",
    ),
    ("many sources", "a counter is zeroed while it is read"): (
        "constexpr u32 SIDES = 3;",
        "constexpr u32 SIDES = 2;",
    ),
    ("search", "a counter is zeroed while it is read"): (
        "constexpr u32 SIDES = 4;",
        "constexpr u32 SIDES = 2;",
    ),
    ("mailbox", "arrivals are relaxed"): ("increment_release(m.arrivals)", "increment_relaxed(m.arrivals)"),
    ("mailbox", "nothing is acquired"): ("        load_acquire(far ? m.released : m.arrivals);\n", ""),
    ("mailbox", "no fence before the flags"): (
        FENCE_BEFORE,
        FENCE_BEFORE.removeprefix("    fence_system();\n"),
    ),
    ("mailbox", "a fence of the device before the flags"): (
        FENCE_BEFORE,
        FENCE_BEFORE.replace("_system", ""),
    ),
    ("mailbox", "no fence behind the flags"): (FENCE_BEHIND, "    return all;"),
    ("mailbox", "a fence of the device behind the flags"): (
        FENCE_BEHIND,
        FENCE_BEHIND.replace("_system", ""),
    ),
    ("mailbox", "flags are told to the device alone"): (
        "store_relaxed_system(m.flags",
        "store_relaxed(m.flags",
    ),
    ("mailbox", "flags are read of the device alone"): (
        "FAR ? load_relaxed_system(address)",
        "FAR ? load_relaxed(address)",
    ),
}


@pytest.mark.parametrize("name", PROTOCOLS)
def test_a_protocol_holds(name: str) -> None:
    made = weak.program(*PROTOCOLS[name])
    for seed in range(SEEDS):
        assert weak.run(made, seed) is None


@pytest.mark.parametrize(("name", "weakened"), MUTANTS)
def test_a_weaker_order_fails(name: str, weakened: str) -> None:
    made = weak.program(*PROTOCOLS[name], mutation=MUTANTS[name, weakened])
    assert any(weak.run(made, seed, seconds=4) is not None for seed in range(MUTANT_SEEDS))


def test_a_mutation_must_be_of_the_kernel() -> None:
    with pytest.raises(weak.NoSuchText, match="0 times"):
        weak.program(*PROTOCOLS["grid barrier"], mutation=("what is nowhere", ""))
