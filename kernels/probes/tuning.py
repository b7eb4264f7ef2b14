"""Measures the constants of searches on the current GPU, for `gravel doctor --tune`.

Of each constant a few values are compared, the others of its strategy being as chosen so far. Values take
turns, so that a change of the clock meets all of them. A value replaces the default where it is faster by
more than `MARGIN`, in the median and in most turns.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Protocol

from gravel.kernels.tuned.constants import CONSTANTS, Constant, Value

SECONDS = 60.0
"""How long all of it may take."""

MARGIN = 0.03
"""Share of the time that a value must save: medians of the same search vary by 1 to 2 % on an H200."""

TURNS = 9
FEWEST_TURNS = 3
MOST_TURNS_LOST = 1 / 3
SOURCES = 8
SCALE, EDGE_FACTOR = 20, 16
GRID, GRID_3D = (2000, 2000), (128, 128, 128)


class Bench(Protocol):
    """What measures; tests have one of their own."""

    def prepare(self, constant: Constant, given: Mapping[str, Value]) -> Callable[[], float]:
        """Make a search of the constant's strategy and graph ready: each call gives its milliseconds.

        Raises ValueError for a value that this GPU does not take.
        """


@dataclass(frozen=True)
class Outcome:
    """What was found for a constant: its value from now on, medians by value, and why."""

    constant: Constant
    value: Value
    milliseconds: Mapping[Value, float]
    why: str

    def record(self) -> dict[str, Any]:
        """Describe it as it is stored and printed as JSON."""
        times = {str(value): round(taken, 6) for value, taken in self.milliseconds.items()}
        return {
            "value": self.value,
            "default": self.constant.default,
            "milliseconds": times,
            "graph": self.constant.graph,
            "kernel": self.constant.kernel(),
            "why": self.why,
        }


def tune(
    bench: Bench,
    constants: Sequence[Constant] = CONSTANTS,
    *,
    seconds: float = SECONDS,
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[Outcome]:
    """Measure one constant after the other, and yield what was found.

    What the time does not suffice for keeps its default.
    """
    until = clock() + seconds
    chosen: dict[str, dict[str, Value]] = {}
    for constant in constants:
        taken: dict[Value, list[float]] = {}
        given = chosen.setdefault(constant.strategy, {})
        runs: dict[Value, Callable[[], float]] = {}
        refused: list[Value] = []
        for value in constant.values:
            if clock() >= until:
                break
            try:
                runs[value] = bench.prepare(constant, {**given, constant.parameter: value})
            except ValueError:
                refused.append(value)
        if constant.default in runs and len(runs) + len(refused) == len(constant.values):
            taken = _turns(runs, until, clock)
        outcome = _chosen(constant, taken, refused)
        given[constant.parameter] = outcome.value
        yield outcome


def _turns(
    runs: Mapping[Value, Callable[[], float]], until: float, clock: Callable[[], float]
) -> dict[Value, list[float]]:
    taken: dict[Value, list[float]] = {value: [] for value in runs}
    for turn in range(TURNS):
        if clock() >= until:
            return taken if turn >= FEWEST_TURNS else {}
        for value, run in runs.items():
            taken[value].append(run())
    return taken


def _chosen(constant: Constant, taken: Mapping[Value, list[float]], refused: Sequence[Value]) -> Outcome:
    default = constant.default
    if not taken:
        return Outcome(constant, default, {}, "not measured: the time was over")
    medians = {value: statistics.median(times) for value, times in taken.items()}
    best = min(medians, key=lambda value: medians[value])
    saved = 1 - medians[best] / medians[default]
    lost = sum(mine >= other for mine, other in zip(taken[best], taken[default], strict=True))
    if best != default and saved > MARGIN and lost <= MOST_TURNS_LOST * len(taken[default]):
        return Outcome(constant, best, medians, f"{saved:.0%} faster than {default:g}")
    why = f"no other is more than {MARGIN:.0%} faster"
    if refused:
        why += f"; this GPU does not take {', '.join(f'{value:g}' for value in refused)}"
    return Outcome(constant, default, medians, why)


class GpuBench:
    """Searches of generated graphs on the current GPU, distances alone."""

    def prepare(self, constant: Constant, given: Mapping[str, Value]) -> Callable[[], float]:
        """Make a search ready and run it once, so that its kernel is compiled."""
        from gravel.kernels.bfs import prepare

        offsets, columns, sources = graph_of(constant.graph)
        named: dict[str, Any] = {"output": "distance", "symmetric": True, **given}
        search: Any = prepare(offsets, columns, strategy=constant.strategy, **named)

        def run() -> float:
            if hasattr(search, "run_many"):
                return float(search.run_many(sources).milliseconds)
            return sum(float(search.run(source).milliseconds) for source in sources)

        run()
        return run


@cache
def graph_of(name: str) -> tuple[Any, Any, tuple[int, ...]]:
    """Make a graph on the GPU, and draw sources among the vertices that have arcs."""
    import cupy
    import numpy

    from gravel.kernels.csr import build

    source, target, vertices = GRAPHS[name]()
    rows = build(cupy.asarray(source), cupy.asarray(target), vertices)
    offsets, columns = rows.row_offsets, rows.column_indices
    linked = numpy.flatnonzero(numpy.diff(cupy.asnumpy(offsets)))
    drawn = numpy.random.default_rng(1).choice(linked, SOURCES, replace=False)
    return offsets, columns, tuple(int(each) for each in drawn)


def _kronecker() -> tuple[Any, Any, int]:
    from gravel.kernels.generate import generate

    edges = generate("rmat", backend="cuda", scale=SCALE, edge_factor=EDGE_FACTOR, seed=1)
    return *edges, 1 << SCALE


def _grid(dims: tuple[int, ...]) -> tuple[Any, Any, int]:
    import math

    from gravel.kernels.generate import generate

    return *generate("grid", dims=dims), math.prod(dims)


GRAPHS: dict[str, Callable[[], tuple[Any, Any, int]]] = {
    "Kronecker": _kronecker,
    "grid": lambda: _grid(GRID),
    "3-D grid": lambda: _grid(GRID_3D),
}
"""Source and target of each edge, and the number of vertices."""
