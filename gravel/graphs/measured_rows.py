"""Rows that measures search: on the CPU, in GPU memory, split over both memories, or in parts.

`gravel.stages.measuring.rows` says which, and why.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from gravel.errors import NotEnoughMemory
from gravel.kernels.arrays import on_host
from gravel.kernels.layouts import columns_as_rows
from gravel.kernels.layouts.units import offsets_of
from gravel.kernels.placement.device_copies import on_device
from gravel.memory import free_host_bytes, refuse, refuse_device
from gravel.stages.measuring.rows import (
    SearchedRows,
    rows_in_parts,
    rows_over_link,
    sizes_of,
    where_searched,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gravel.graphs.rows import PlacedRows
    from gravel.kernels.layouts import EncodedRows

KEPT = "measured rows"
"""The name under which a graph keeps rows in GPU memory for the measures after this one."""

KEPT_SHARE = 8
"""Rows are kept where they take less than this part of the memory, so that other searches have room."""

Rows = tuple[Any, Any]


def searched_rows(rows: PlacedRows, name: str) -> SearchedRows:
    """Return rows where the measure `name` searches them; raises `NotEnoughMemory`."""
    from gravel.stages.rows.encoded import rows_on_device

    stored, machine = rows.stored, rows.machine
    if machine.backend == "cuda":
        where = where_searched(stored, rows.placement, machine.device_memory)
        permutation = _permutation(stored)
        if where == "encoded":
            encoded = rows_on_device(stored)
            return SearchedRows(encoded, permutation, machine.device_memory - sizes_of(stored).encoded)
        if where in ("split", "pinned", "streamed"):
            found = rows_in_parts(stored) if where == "streamed" else _over_link(rows, name)
            memory = machine.device_memory - int(offsets_of(found).nbytes)
            return SearchedRows(found, permutation, memory, split=where == "split")
    columns, permutation, memory = plain_rows(rows, name, "place('split') or place('pinned')")
    return SearchedRows(columns_as_rows(*columns), permutation, memory)


@dataclass(frozen=True)
class Kept:
    """Rows in GPU memory, and prepared searches of them by strategy."""

    rows: Rows
    searches: dict[str, Any] = field(default_factory=dict)


@contextmanager
def kept_searches(rows: PlacedRows, searched: EncodedRows) -> Iterator[dict[str, Any] | None]:
    """Lend the searches of rows that are kept in GPU memory; None where these are not kept.

    They are given back once all have ended: what was cut off is not used again.
    """
    kept: Kept | None = rows.prepared.get(KEPT)
    if kept is None or searched.arrays.get("column_indices") is not kept.rows[1]:
        yield None
        return
    lent = dict(kept.searches)
    kept.searches.clear()
    yield lent
    kept.searches.update(lent)


def plain_rows(
    rows: PlacedRows, name: str, elsewhere: str = "place('host')"
) -> tuple[Rows, NDArray[Any] | None, int]:
    """Return plain rows where they are searched, the permutation, and the bytes that a batch may take.

    `elsewhere` is how a graph can be placed that does not fit a GPU. Raises ValueError for rows that a GPU
    would read in host memory, and `NotEnoughMemory`.
    """
    machine, placement, stored = rows.machine, rows.placement, rows.stored
    permutation = _permutation(stored)
    if machine.backend == "cpu":
        if hasattr(stored, "stream"):
            hint = "Use a machine with more memory"
            refuse(f"{name} of decoded rows", sizes_of(stored).decoded, machine, rows.host_memory, hint)
        offsets, columns = map(on_host, _decoded(stored, "cpu"))
        return (offsets, columns), permutation, free_host_bytes(machine, rows.host_memory is not None)[0]
    if placement in ("pinned", "split", "streamed"):
        raise ValueError(
            f"{name} reads rows in GPU memory or on the CPU, and these are {placement}; "
            "place the graph with place('device') or place('host')"
        )
    kept: Kept | None = rows.prepared.get(KEPT)
    if kept is None:
        refuse_device(name, sizes_of(stored).decoded, machine, elsewhere)
        found = _decoded(stored, "cuda")
        kept = Kept((on_device(found[0]), on_device(found[1])))
        if KEPT_SHARE * sizes_of(stored).decoded <= machine.device_memory:
            rows.make_room()
            rows.prepared[KEPT] = kept
    return kept.rows, permutation, machine.device_memory - sum(int(each.nbytes) for each in kept.rows)


def weighted_rows(
    rows: PlacedRows, name: str, direction: str
) -> tuple[tuple[Any, Any, NDArray[Any]], NDArray[Any] | None, int]:
    """Return plain rows on the CPU with their weights, the permutation, and the bytes that a batch may take.

    Raises ValueError for rows without weights and for weights that are negative or not finite, and
    `NotEnoughMemory`.
    """
    from gravel.kernels.sssp.weights import checked
    from gravel.stages.rows.decoding import unpacked_weights
    from gravel.stages.weights import unusable

    weights = on_host(unpacked_weights(rows.stored.weights))
    if weights is None:
        raise ValueError(
            f"{name} by weights needs weights, and this graph has none: gravel.graph(..., weights=...)"
        )
    on_cpu = rows.replaced(rows.stored, machine=replace(rows.machine, backend="cpu"))
    columns, permutation, memory = plain_rows(on_cpu, name)
    try:
        return (*columns, checked(*columns, weights).weights), permutation, memory
    except ValueError as error:
        refused = unusable(error, permutation, direction)
        raise ValueError(f"{refused}. {refused.hint}" if refused.hint else str(refused)) from None


def _permutation(stored: Any) -> NDArray[Any] | None:
    found = getattr(stored, "permutation", None)
    return None if found is None else on_host(found)


def _decoded(stored: Any, backend: str) -> Rows:
    if hasattr(stored, "stream"):
        from gravel.stages.rows.decoding import decompress

        stored = decompress(stored, backend=backend)
    return stored.row_offsets, stored.column_indices


def _over_link(rows: PlacedRows, name: str) -> EncodedRows:
    from gravel.kernels.placement.pinned import PinnedRefused

    sizes = sizes_of(rows.stored)
    size = sizes.encoded or sizes.decoded
    what = f"{name}, which a GPU searches in host memory here,"
    refuse(what, size, rows.machine, rows.host_memory, "Use a machine with more memory")
    try:
        return rows_over_link(rows.stored)
    except PinnedRefused as error:
        raise NotEnoughMemory(
            f"{name} reads rows over the link to the GPU, and the system refuses pinned memory ({error}). "
            "Place the graph with place('streamed') or place('host')"
        ) from None


def found_together(rows: PlacedRows, starts: NDArray[Any], others: NDArray[Any], into: NDArray[Any]) -> bool:
    """Fill in distances by batches of searches on a GPU; False where it has no room for one."""
    from gravel.kernels.distances.between import batch_that_fits, distances_between
    from gravel.kernels.layouts.layout import body_name

    machine, placement = rows.machine, rows.placement
    if machine.backend != "cuda" or placement not in ("auto", "device") or len(starts) < 2 or not len(others):
        return False
    if where_searched(rows.stored, placement, machine.device_memory) not in ("decoded", "encoded"):
        return False  # a single search may read rows in host memory
    try:
        there = searched_rows(rows, "distances")
    except NotEnoughMemory:
        return False
    # Of encoded rows the bytes are counted in the place of arcs.
    size = len(there.rows.arrays[body_name(there.rows)])
    batch = batch_that_fits(
        len(rows), size, there.rows.dtype.itemsize, len(starts), len(others), there.memory
    )
    if batch < 2:
        return False
    if there.permutation is not None:
        starts, others = there.permutation[starts], there.permutation[others]
    distances_between(there.rows, starts, others, symmetric=not rows.directed, batch=batch, into=into)
    return True
