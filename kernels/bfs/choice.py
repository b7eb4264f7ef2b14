"""Which strategy `auto` stands for on a graph, and why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gravel.kernels.arrays import backend_of
from gravel.kernels.bfs.shape import Shape, measure_on_host
from gravel.kernels.cuda import multiprocessors
from gravel.kernels.strategy import ENCODED, strategies_in

if TYPE_CHECKING:
    from gravel.kernels.layouts import EncodedRows

# Chosen on an H200, where the named graphs lie on either side; `python -m tests.benchmarks.choice` measures.
MEASURED_PROCESSORS = 132
"""Multiprocessors of that H200. `DEEP` and `LARGE` say when a level fills the device, and hold for others in
proportion to theirs."""

DEEP = 25_000
"""Vertices per level below which a graph is deep: roads, meshes and 2-D lattices of 25 M vertices have up to
7,000; a 3-D lattice of 160^3 with 14,000 gains two-fold, and larger ones were not measured."""

THIN = 8.0
"""Arcs per vertex up to which hops are cheap: meshes and 7-point lattices have 6, a 27-point lattice 26."""

SHALLOW = 12
"""Levels up to which bottom-up levels pay: Kronecker, uniform and social graphs have up to 9, a crawl 17."""

LARGE = 1 << 17
"""Arcs per level from which the levels of a lattice are expanded and contracted at once: with 27 points 40^3
has 40,000, 80^3 has 160,000."""

EVEN = 0.05
"""Share of the arcs in the largest vertices below which degrees are even: lattices have 1 to 2 %, graphs with
hubs 6 % and more. Without hubs there are few duplicates to cull in a step of its own."""


@dataclass(frozen=True)
class Choice:
    """A strategy's name, why it was chosen, and what it took to find out."""

    strategy: str
    reason: str
    milliseconds: float


def choose(row_offsets: Any, column_indices: Any, *, symmetric: bool, strategy: str = "auto") -> Choice:
    """Name the strategy that `auto` stands for, and why; a given name is checked and kept.

    Arrays are as for `gravel.kernels.bfs.prepare`. Raises ValueError for a name that does not exist or cannot
    run here.
    """
    backend = backend_of(row_offsets)
    known = strategies_in("gravel.kernels.bfs")
    if strategy != "auto":
        if strategy not in known:
            raise ValueError(f"unknown BFS strategy {strategy!r}; there are {', '.join(sorted(known))}")
        known[strategy].load(backend)
        if not symmetric and not known[strategy].directed:
            raise ValueError(f"strategy {strategy!r} needs a symmetric graph")
        return Choice(strategy, "asked for", 0.0)
    shape = measure(row_offsets, column_indices, symmetric=symmetric)
    if backend == "cuda":
        name, reason = on_device(shape, multiprocessors())
    else:
        name, reason = on_host(shape)
    return Choice(name, reason, shape.milliseconds)


def choose_for_rows(rows: EncodedRows, *, symmetric: bool, strategy: str = "auto") -> Choice:
    """Name the strategy that `auto` stands for on encoded rows, and why; a given name is checked and kept.

    On a GPU rows are measured that may be those of a deep graph (`may_be_deep`).

    Raises ValueError for a name that does not search encoded rows, or not those of a directed graph.
    """
    known = strategies_in("gravel.kernels.bfs", ENCODED)
    if strategy == "auto":
        from gravel.kernels.layouts import side_of

        milliseconds = 0.0
        if side_of(rows) == "cuda" and may_be_deep(rows.vertex_count, rows.arc_count):
            from gravel.kernels.bfs.cuda.shape import measure_rows

            shape = measure_rows(rows, symmetric=symmetric)
            milliseconds = shape.milliseconds
            name, reason = on_device(shape, multiprocessors())
            if name == "persistent":
                return Choice(name, reason, milliseconds)
        if symmetric:
            reason = "the graph is symmetric, so levels that pay for it may be searched bottom-up"
            return Choice("direction_optimizing", reason, milliseconds)
        return Choice("top_down", "the graph is directed, so only out-neighbours are known", milliseconds)
    if strategy not in known:
        raise ValueError(
            f"strategy {strategy!r} does not search encoded rows; there are {', '.join(sorted(known))}"
        )
    if not symmetric and not known[strategy].directed:
        raise ValueError(f"strategy {strategy!r} needs a symmetric graph")
    return Choice(strategy, "asked for", 0.0)


def may_be_deep(vertices: int, arcs: int) -> bool:
    """Say whether a graph of this size may have rows as short as those of a deep one."""
    return arcs <= THIN * vertices


def on_host(shape: Shape) -> tuple[str, str]:
    """Choose among the CPU searches."""
    if shape.symmetric:
        return (
            "direction_optimizing",
            f"the graph is symmetric, so levels that pay for it may be searched bottom-up; {shape.skew()}",
        )
    return "top_down", f"the graph is directed, so only out-neighbours are known; {shape.skew()}"


def on_device(shape: Shape, processors: int = MEASURED_PROCESSORS) -> tuple[str, str]:
    """Choose among the CUDA searches, for a GPU of so many multiprocessors.

    Deep graphs with short rows have levels too small for the device: their time is levels times the cost of
    one, so the search with several hops between barriers wins. Bottom-up levels win where most arcs are met
    within a few levels; where the frontier stays narrow for long, they would look at the unvisited over and
    over. Else the search goes top-down: in one fused step a level where there are many large levels and no
    hubs, and with a choice in each level where there are hubs or levels of all sizes. The search that may go
    bottom-up goes top-down as well, and is the best at it in large lattices with short rows.
    """
    per_level, levels = shape.arcs_per_level, shape.levels
    assert per_level is not None
    assert levels is not None
    assert shape.growth is not None
    takes = "has" if shape.growth.complete else "meets most arcs in about"
    seen = f"a search from the largest vertex {takes} {levels:.0f} levels of {per_level:,.0f} arcs"
    seen = f"{seen}, {shape.skew()}"
    filling = processors / MEASURED_PROCESSORS
    thin, even = shape.mean_degree <= THIN, shape.top_share < EVEN
    if levels > SHALLOW and thin and shape.linked / levels < DEEP * filling:
        return "persistent", f"{seen}: small levels of short rows, so several hops go between barriers"
    if shape.symmetric and levels <= SHALLOW:
        return "direction_optimizing", f"{seen}: symmetric and shallow, so large levels go bottom-up"
    if shape.symmetric and thin and even and per_level < LARGE * filling:
        return "direction_optimizing", f"{seen}: levels of short rows, too large for hops between barriers"
    side = f"more than {SHALLOW} levels" if shape.symmetric else "directed"
    if levels > SHALLOW and even and per_level >= LARGE * filling:
        return "expand_contract", f"{seen}: {side}, large and even ones, so each goes top-down in one step"
    return "hybrid", f"{seen}: {side}, so each goes top-down, in one or two steps by its size"


def measure(row_offsets: Any, column_indices: Any, *, symmetric: bool) -> Shape:
    """Measure a CSR graph where it lives; arrays as for `gravel.kernels.bfs.prepare`."""
    if backend_of(row_offsets) == "cuda":
        from gravel.kernels.bfs.cuda.shape import measure as on_device

        return on_device(row_offsets, column_indices, symmetric=symmetric)
    return measure_on_host(row_offsets, column_indices, symmetric=symmetric)
