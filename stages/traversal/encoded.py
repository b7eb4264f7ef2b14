"""Compressed graphs that are searched as they are: their rows are decoded where a search reads them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gravel.kernels.algorithms import strategies_for
from gravel.kernels.arrays import backend_of, on_host
from gravel.kernels.strategy import ENCODED
from gravel.stages.errors import StageError
from gravel.stages.traversal import placing as places
from gravel.stages.traversal.graph import SearchedGraph, extra_ends, first_offsets, has_loops_or_duplicates

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gravel.kernels.layouts import EncodedRows
    from gravel.kernels.placement import Placed
    from gravel.stages.artifacts import CompressedGraph
    from gravel.stages.stage import Machine
    from gravel.stages.traversal.parameters import TraverseParameters
    from gravel.stages.traversal.placing import Placing

DECODED = "decoded before the search"
COLUMNS = "rows of codec csr are columns, and were searched as such"
WHOLE = ("device", "host")
"""Placements of rows that lie whole where the search runs."""

STREAMED = "streamed"
"""The placement of rows that are read part by part while they are searched."""

STREAM = "stream"
"""The array of encoded rows that grows with the arcs, and is placed."""


def searched_encoded(parameters: TraverseParameters, placement: str, codec: str | None = None) -> bool:
    """Return whether a compressed graph's rows are searched as they are, if they lie as `placement` says."""
    return not why_decoded(parameters, placement, codec)


def why_decoded(parameters: TraverseParameters, placement: str, codec: str | None = None) -> str:
    """Say why a compressed graph is decoded before the search; nothing where it is searched as it is.

    Strategies that read columns alone decode them first, as shortest paths and strongly connected components
    do. Rows of codec `csr` are columns.
    """
    if codec == "csr":
        return COLUMNS
    if parameters.algorithm in ("shortest_paths", "strong_components"):
        return f"{DECODED}: {parameters.algorithm} reads columns"
    if parameters.strategy == "auto" or placement == STREAMED:
        return ""
    if parameters.strategy in strategies_for(parameters.algorithm, ENCODED):
        return ""
    return f"{DECODED}: strategy {parameters.strategy} reads columns"


def read_encoded(
    stored: CompressedGraph, permutation: NDArray[Any] | None, machine: Machine, placing: Placing | None
) -> SearchedGraph:
    """Read the rows of a compressed graph as they are stored, and bring them to where they are searched.

    Raises `StageError` for rows that are damaged, or whose lists are not sorted.
    """
    try:
        return _read_encoded(stored, permutation, machine, placing)
    except ValueError as error:
        raise StageError(str(error), hint="the compressed graph is damaged; compress it again") from None


def _read_encoded(
    stored: CompressedGraph, permutation: NDArray[Any] | None, machine: Machine, placing: Placing | None
) -> SearchedGraph:
    from gravel.kernels.placement import Placed

    if not stored.sorted:
        raise StageError("the graph's lists are not sorted", hint="symmetrize sorts them")
    in_parts = placing is not None and placing.plan.placement == STREAMED
    whole = machine.backend == "cuda" and (placing is None or placing.plan.placement == "device")
    there = rows_on_device(stored) if whole else None
    rows = there or (streamed_rows(stored) if in_parts else read_rows(stored))
    notes, placed = [f"rows of layout {rows.layout} were searched as they are"], None
    if whole and there is None:
        rows, placed = on_device(rows, placing)
    offsets = row_offsets_of(rows, in_parts=in_parts)
    ends = None
    if has_loops_or_duplicates(stored):
        on_gpu = backend_of(offsets) == "cuda"
        deduplicated = stored.deduplicated
        ends = edge_ends_on_device(rows, offsets, deduplicated=deduplicated) if on_gpu else edge_ends_of(rows)
    if machine.backend == "cuda" and not whole:
        rows, placed = on_device(rows, placing)
    elif in_parts and placing is not None:
        placed = Placed(placing.plan, {STREAM: rows.arrays[STREAM]})
    if placed is not None:
        notes += [*placed.notes] or [placed.described()]
        placed = None if placed.plan.placement == "device" else placed
    return SearchedGraph(
        vertex_count=stored.vertex_count,
        arc_count=stored.arc_count,
        symmetric=stored.symmetric,
        backend=machine.backend,
        first_offsets=first_offsets(offsets, permutation),
        extra_ends=extra_ends(ends, offsets, permutation),
        permutation=permutation,
        row_offsets=on_host(offsets),
        columns=None,
        partition=None,
        notes=notes,
        compressed=stored,
        placed=placed,
        rows=rows,
    )


def read_rows(stored: CompressedGraph) -> EncodedRows:
    """Read the rows of a compressed graph into memory, as they are stored.

    Raises ValueError where the stream ends before them.
    """
    import numpy

    from gravel.kernels.arrays import index_dtype
    from gravel.kernels.layouts import EncodedRows
    from gravel.kernels.layouts.layout import padded
    from gravel.kernels.placement.pinned import fill, pinnable

    offsets = on_host(stored.byte_offsets)
    end = int(offsets[-1]) if len(offsets) else 0
    if end > len(stored.stream):
        raise ValueError(f"the rows end at byte {end}; the stream has {len(stored.stream)}")
    # A GPU may come to read it there.
    stream = pinnable(padded(end), numpy.uint8)
    fill(stream[:end], stored.stream)
    stream[end:] = 0
    dtype = numpy.dtype(index_dtype(stored.vertex_count))
    if stored.codec == "csr":
        arrays = {"row_offsets": offsets // dtype.itemsize, "column_indices": stream[:end].view(dtype)}
    else:
        arrays = {"byte_offsets": offsets, "stream": stream}
    return EncodedRows(stored.codec, stored.vertex_count, stored.arc_count, dtype, arrays)


def rows_on_device(stored: CompressedGraph) -> EncodedRows | None:
    """Take the rows of a compressed graph that are in memory to the device, or find them there.

    None where they are stored. Raises ValueError where the stream ends before them.
    """
    import cupy
    import numpy

    from gravel.kernels.arrays import backend_of, index_dtype
    from gravel.kernels.layouts import EncodedRows
    from gravel.kernels.layouts.layout import pad, padded
    from gravel.kernels.placement.device_copies import on_device as to_device
    from gravel.kernels.placement.device_copies import where_it_is

    if backend_of(stored.stream) != "cuda" and not isinstance(stored.stream, numpy.ndarray):
        return None
    offsets, stream = to_device(stored.byte_offsets), where_it_is(stored.stream)
    end = int(offsets[-1]) if len(offsets) else 0
    if end > len(stream):
        raise ValueError(f"the rows end at byte {end}; the stream has {len(stream)}")
    if backend_of(stream) == "cuda":
        there = pad(stream[:end])
    else:
        # Where it is padded, so that the device never has it twice.
        there = cupy.empty(padded(end), numpy.uint8)
        there[:end].set(numpy.ascontiguousarray(stream[:end]))
        there[end:] = 0
    arrays = {"byte_offsets": cupy.asarray(offsets), STREAM: there}
    dtype = numpy.dtype(index_dtype(stored.vertex_count))
    return EncodedRows(stored.codec, stored.vertex_count, stored.arc_count, dtype, arrays)


def streamed_rows(stored: CompressedGraph) -> EncodedRows:
    """Leave the rows of a compressed graph where they are stored, and read where each begins.

    Raises ValueError for offsets that do not ascend within the stream.
    """
    import numpy

    from gravel.kernels.arrays import index_dtype
    from gravel.kernels.layouts import EncodedRows
    from gravel.kernels.layouts.parts import host_offsets

    # What a GPU has is read in parts from a copy: it was asked for.
    stream = on_host(stored.stream) if backend_of(stored.stream) == "cuda" else stored.stream
    arrays = {"byte_offsets": on_host(stored.byte_offsets), STREAM: stream}
    dtype = numpy.dtype(index_dtype(stored.vertex_count))
    rows = EncodedRows(stored.codec, stored.vertex_count, stored.arc_count, dtype, arrays)
    host_offsets(rows)
    return rows


def columns_on_host(graph: SearchedGraph) -> NDArray[Any]:
    """Return a graph's columns in host memory, copied or decoded where they are not there."""
    if graph.compressed is not None:
        from gravel.kernels.layouts import decode

        columns: NDArray[Any] = decode(read_rows(graph.compressed))[1]
    elif graph.placed is not None and places.COLUMNS in graph.placed.pinned:
        columns = graph.placed.pinned[places.COLUMNS].array
    else:
        columns = on_host(graph.columns)
    return columns


def on_device(rows: EncodedRows, placing: Placing | None = None) -> tuple[EncodedRows, Placed | None]:
    """Copy rows to the device, or leave their stream where `placing` has it: in pinned memory, or stored.

    Where the system does not pin it and it does not fit the device, it is streamed from ordinary memory.
    """
    from dataclasses import replace

    import cupy

    from gravel.kernels.placement import place

    placed, arrays = None, dict(rows.arrays)
    if placing is not None and placing.plan.placement not in WHOLE:
        stream = {STREAM: arrays.pop(STREAM)}
        placed = place(stream, placing.plan, placing.sizes, placing.limits)
    moved = {name: cupy.asarray(array) for name, array in arrays.items()}
    return replace(rows, arrays=moved | (placed.arrays if placed else {})), placed


def row_offsets_of(rows: EncodedRows, *, in_parts: bool = False) -> Any:
    """Count the neighbours of each row without decoding them, summed up: int64 (rows + 1,), where they lie.

    A stream that is stored is read `in_parts`, once, a range of rows at a time. Raises ValueError for bytes
    that are no rows, or not as many neighbours as the graph has arcs.
    """
    from gravel.kernels.arrays import backend_of

    if not in_parts and backend_of(rows.arrays["byte_offsets"]) == "cuda":
        from gravel.kernels.layouts.counting import row_offsets

        offsets = row_offsets(rows)
    else:
        offsets = _row_offsets_on_host(rows, in_parts=in_parts)
    if int(offsets[-1]) != rows.arc_count:
        raise ValueError(f"the rows hold {int(offsets[-1])} arcs; the graph has {rows.arc_count}")
    return offsets


def _row_offsets_on_host(rows: EncodedRows, *, in_parts: bool) -> NDArray[Any]:
    import numpy

    from gravel.kernels.layouts.readers import count_neighbours
    from gravel.stages.compressing.writing import row_ranges

    if not in_parts:
        return count_neighbours(rows)
    offsets = numpy.zeros(rows.vertex_count + 1, numpy.int64)
    for first, part in row_ranges(rows.arrays["byte_offsets"]):
        try:
            counted = count_neighbours(_several(rows, first, part))
        except ValueError as error:
            raise ValueError(f"of rows from {first} on, {error}") from None
        offsets[first + 1 : first + len(part)] = counted[1:] + offsets[first]
    return offsets


def edge_ends_on_device(rows: EncodedRows, offsets: Any, *, deduplicated: bool) -> Any:
    """Count the ends of distinct edges of each row on the device; see `edge_ends`.

    `offsets` are those of `row_offsets_of`. Rows that may have duplicates are decoded, whole.
    """
    if deduplicated:
        from gravel.kernels.layouts.counting import edge_ends

        return edge_ends(rows, offsets)
    from gravel.kernels import level_statistics_cuda
    from gravel.kernels.layouts import decode

    return level_statistics_cuda.edge_ends(*decode(rows))


def edge_ends_of(rows: EncodedRows) -> NDArray[Any]:
    """Count the ends of distinct edges of each row, a range of rows decoded at a time; see `edge_ends`."""
    import numpy

    from gravel.kernels.layouts import decode
    from gravel.kernels.level_statistics import edge_ends
    from gravel.stages.compressing.writing import row_ranges

    counts = [numpy.empty(0, numpy.int64)]
    name = "row_offsets" if rows.layout == "csr" else "byte_offsets"
    for first, part in row_ranges(rows.arrays[name]):
        several = _range(rows, first, part)
        counts.append(edge_ends(*decode(several, bound=rows.vertex_count), first))
    return numpy.concatenate(counts)


def _range(rows: EncodedRows, first: int, offsets: NDArray[Any]) -> EncodedRows:
    """Rows from `first` on, whose offsets are these, with their number of arcs."""
    from dataclasses import replace

    from gravel.kernels.layouts.readers import count_neighbours

    some = _several(rows, first, offsets)
    return replace(some, arc_count=int(count_neighbours(some)[-1]))


def _several(rows: EncodedRows, first: int, offsets: NDArray[Any]) -> EncodedRows:
    """Rows from `first` on, whose offsets are these, in memory; how many arcs they have is not known."""
    from dataclasses import replace

    from gravel.kernels.layouts.layout import pad

    begin, end = int(offsets[0]), int(offsets[-1])
    if rows.layout == "csr":
        columns = rows.arrays["column_indices"][begin:end]
        arrays: dict[str, Any] = {"row_offsets": offsets - begin, "column_indices": columns}
    else:
        arrays = {"byte_offsets": offsets - begin, STREAM: pad(rows.arrays[STREAM][begin:end])}
    return replace(rows, arrays=arrays, vertex_count=len(offsets) - 1, first_row=first)
