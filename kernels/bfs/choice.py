"""Which strategy `auto` stands for on a graph, and why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kernels.bfs.shape import Shape, measure
from kernels.strategy import backend_of, strategies_in


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
    """Choose among the CUDA searches."""
    if shape.symmetric:
        return "direction_optimizing", f"symmetric; {shape.skew()}"
    return "two_phase", f"directed; {shape.skew()}"
