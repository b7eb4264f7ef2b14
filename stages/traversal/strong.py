"""Searches for strongly connected components, and the memory that they take."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from gravel.kernels.algorithms import strategies_for
from gravel.kernels.buffers import exact, total
from gravel.kernels.strong_components import buffers, default_on
from gravel.stages.errors import StageError
from gravel.stages.stage import Extent, Machine, Need
from gravel.stages.symmetrize import device_bytes as building_bytes
from gravel.stages.traversal.placing import width_of
from gravel.stages.traversal.strategy import backend_of_search, checked_tuning, without_whole_rows

if TYPE_CHECKING:
    from gravel.kernels.components import ComponentsResult
    from gravel.kernels.strategy import Ran
    from gravel.stages.traversal.graph import SearchedGraph
    from gravel.stages.traversal.parameters import TraverseParameters

ALGORITHM = "strong_components"

COMPILED = 84 << 20
"""As of weak components: what Numba takes to compile a search, and to be there at all (49 MiB where it comes
compiled from the disk)."""

COMPILED_DECODING = 88 << 20
"""The same with the decoder of a layout, as of weak components."""


def prepared_strong(
    graph: SearchedGraph, strategy: str, tuning: dict[str, Any]
) -> tuple[Callable[[], ComponentsResult], float, list[str], Ran]:
    """Return what finds the components, the milliseconds to make it ready, sentences, and what it runs.

    Raises `StageError` for a strategy that does not run here and for a constant that it does not have.
    """
    from gravel.kernels.csr.reversed import reversed_rows
    from gravel.kernels.strong_components import strong_components

    name = default_on(graph.backend) if strategy == "auto" else strategy
    try:
        constants, notes = checked_tuning(ALGORITHM, name, graph.backend, tuning)
    except ValueError as error:
        raise StageError(str(error)) from None
    rows = graph.row_offsets, graph.columns
    started = time.perf_counter()
    back: tuple[Any, ...] = ()
    if name != "tarjan":
        back = rows if graph.symmetric else reversed_rows(*rows)[:2]
        if graph.backend == "cuda":
            import cupy

            cupy.cuda.get_current_stream().synchronize()
    taken = (time.perf_counter() - started) * 1e3
    run = partial(strong_components, *rows, *back, strategy=name, **constants)
    return run, taken, notes, strategies_for(ALGORITHM)[name].ran(graph.backend, constants)


def estimate(
    parameters: TraverseParameters, inputs: Mapping[str, tuple[Extent, ...]], machine: Machine
) -> Need:
    """State what making the rows of predecessors takes, and what finding the components takes."""
    graph = inputs["input"][0]
    n, m = graph.vertices, graph.arcs
    width = width_of(n)
    labels = Extent(
        kind="Traversal", vertices=n, arcs=m, bytes=width * n, directed=graph.directed, strong=True
    )
    outputs = labels, Extent(kind="Measurement", bytes=0)
    split = graph.normal_arcs is not None
    refusal = "; ".join(without_whole_rows("Partition" if split else graph.kind) or ())
    rows = 8 * n + width * m
    # Encoded rows are copied and decoded before anything else is there.
    encoded = graph.bytes if graph.kind == "CompressedGraph" else 0
    decoded = rows if encoded else 0
    compiled = COMPILED_DECODING if encoded else COMPILED
    back = (2 * width + 8) * n if graph.kind in ("Ordering", "CompressedGraph") else 0
    if backend_of_search(parameters, machine) == "cuda":
        making = rows + building_bytes(n, m, m, width) + 16 * m if graph.directed else 0
        on_device = rows + max(2 * encoded, making, rows + total(buffers.forward_backward(n, m, width)))
        host = max(decoded, encoded) + width * n + back
        return Need(compiled + host, on_device, outputs, refusal=refusal)
    working = exact(buffers.tarjan(n, width))
    if parameters.strategy not in ("auto", "tarjan"):
        # The ends of arcs are there until the rows of predecessors are.
        making = rows + width * m if graph.directed else 0
        working = max(making, rows + exact(buffers.forward_backward_on_host(n, width)))
    return Need(compiled + decoded + max(encoded, working) + back, 0, outputs, refusal=refusal)
