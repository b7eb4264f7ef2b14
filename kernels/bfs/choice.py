"""Which strategy `auto` stands for on a graph, and why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kernels.bfs.shape import Shape, measure
from kernels.strategy import backend_of, strategies_in

# Chosen on an H200, where the named graphs lie on either side; see `python -m tests.benchmarks.choice`.
DEEP = 1 << 14
"""Arcs per level below which a graph is deep: roads, meshes and 2-D lattices have up to 11,500."""

SHALLOW = 12
"""Levels up to which bottom-up levels pay: Kronecker, uniform and social graphs have up to 9, a crawl 17."""

LARGE = 1 << 18
"""Arcs per level from which a directed graph's levels are worth two steps: a social graph of 0.9 M arcs has
109,000, Kronecker 18 of 3.9 M arcs 788,000."""


@dataclass(frozen=True)
class Choice:
    """A strategy's name, why it was chosen, and what it took to find out."""

    strategy: str
    reason: str
    milliseconds: float


def choose(row_offsets: Any, column_indices: Any, *, symmetric: bool, strategy: str = "auto") -> Choice:
    """Name the strategy that `auto` stands for, and why; a given name is checked and kept.

    Arrays are as for `kernels.bfs.prepare`. Raises ValueError for a name that does not exist or cannot run
    here.
    """
    backend = backend_of(row_offsets)
    known = strategies_in("kernels.bfs")
    if strategy != "auto":
        if strategy not in known:
            raise ValueError(f"unknown BFS strategy {strategy!r}; there are {', '.join(sorted(known))}")
        known[strategy].load(backend)
        if not symmetric and not known[strategy].directed:
            raise ValueError(f"strategy {strategy!r} needs a symmetric graph")
        return Choice(strategy, "asked for", 0.0)
    shape = measure(row_offsets, column_indices, symmetric=symmetric)
    name, reason = on_device(shape) if backend == "cuda" else on_host(shape)
    return Choice(name, reason, shape.milliseconds)


def on_host(shape: Shape) -> tuple[str, str]:
    """Choose among the CPU searches."""
    if shape.symmetric:
        return (
            "direction_optimizing",
            f"the graph is symmetric, so levels that pay for it may be searched bottom-up; {shape.skew()}",
        )
    return "top_down", f"the graph is directed, so only out-neighbours are known; {shape.skew()}"


def on_device(shape: Shape) -> tuple[str, str]:
    """Choose among the CUDA searches.

    Deep graphs have levels too small for the device, and their time is levels times the cost of one, so the
    search with several hops between barriers wins. Bottom-up levels win where most arcs are met within a few
    levels; where the frontier stays narrow for long, they would look at the unvisited over and over. Of the
    top-down searches one fused step a level wins while levels are small, and two steps or the mixture of both
    where hubs make many duplicates.
    """
    per_level, levels = shape.arcs_per_level, shape.levels
    assert per_level is not None
    assert levels is not None
    assert shape.growth is not None
    drawn_out = "" if shape.growth.complete else "about "
    seen = f"{drawn_out}{levels:.0f} levels of {per_level:.0f} arcs from the largest vertex, {shape.skew()}"
    if per_level < DEEP and levels > SHALLOW:
        return "persistent", f"{seen}: levels are small, so several hops are made between barriers"
    if shape.symmetric and levels <= SHALLOW:
        return "direction_optimizing", f"{seen}: symmetric and shallow, so large levels go bottom-up"
    side = "directed" if not shape.symmetric else f"more than {SHALLOW} levels"
    if per_level >= LARGE and levels <= SHALLOW:
        return "hybrid", f"{seen}: {side}, so all levels go top-down, the large ones in two steps"
    if levels <= SHALLOW:
        return "contract_expand", f"{seen}: {side}, so all levels go top-down, in one step each"
    return "expand_contract", f"{seen}: {side}, so all levels go top-down, in one step each"
