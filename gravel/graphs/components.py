"""The connected components of rows, weak or strong ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gravel.graphs.prepared import searched_with
from gravel.graphs.stage_calls import InMemory, called
from gravel.kernels.arrays import on_host
from gravel.memory import refuse_device
from gravel.progress import measured
from gravel.results.components import Components

if TYPE_CHECKING:
    from gravel.conversion.ids import Ids
    from gravel.graphs.rows import PlacedRows

CONNECTIONS = ("weak", "strong")


def find(rows: PlacedRows, ids: Ids, strategy: str, connection: str) -> Components:
    """Find the components of rows; see `Graph.components`."""
    import numpy

    from gravel.stages.traversal.labels import components_back
    from gravel.stages.traversal.search import prepare_search

    if connection not in CONNECTIONS:
        raise ValueError(f"connection is {connection!r}; it can be {', '.join(map(repr, CONNECTIONS))}")
    if connection == "strong" and (rows.directed or strategy != "auto"):
        return _find_strong(rows, ids, strategy)
    if not len(rows):
        return Components(ids, numpy.zeros(0, numpy.uint32), 0.0, strategy)
    searched, parameters = searched_with(rows, algorithm="components", strategy=strategy)
    search, _ = called(prepare_search, InMemory(rows.machine), searched, parameters)
    with measured("components", None, "parts") as report:
        if hasattr(search, "advance"):
            search.advance = report
        found = called(search.run)
    labels = found.component
    if searched.permutation is not None:
        labels = components_back(searched.permutation, labels)[0]
    elif getattr(labels, "base", None) is not None:
        labels = labels.copy()
    return Components(ids, labels, found.milliseconds, found.strategy)


def _find_strong(rows: PlacedRows, ids: Ids, strategy: str) -> Components:
    from gravel.kernels.strong_components import strong_components

    on_gpu = rows.machine.backend == "cuda"
    searched = _rows_on_gpu(rows) if on_gpu else tuple(map(on_host, _columns(rows)))
    found = strong_components(*searched, strategy=strategy)
    return Components(ids, found.component, found.milliseconds, found.strategy)


def _rows_on_gpu(rows: PlacedRows) -> tuple[Any, ...]:
    """Return the rows of successors and of predecessors on the GPU; raises as `Graph.components` does."""
    from gravel.kernels.buffers import total
    from gravel.kernels.placement.device_copies import on_device
    from gravel.kernels.strong_components.buffers import forward_backward

    if rows.placement in ("pinned", "split", "streamed"):
        raise ValueError(
            f"strong components need rows in GPU memory or on the CPU, and these are {rows.placement}; "
            "place the graph with place('device') or place('host')"
        )
    both = *_columns(rows), *_columns(rows.in_direction("in"))
    taken = total(forward_backward(len(rows), len(both[1]), both[1].dtype.itemsize))
    refuse_device("strong components", sum(int(each.nbytes) for each in both) + taken, rows.machine)
    return tuple(map(on_device, both))


def _columns(rows: PlacedRows) -> tuple[Any, Any]:
    stored = rows.in_order_of_ids()
    return stored.row_offsets, stored.column_indices
