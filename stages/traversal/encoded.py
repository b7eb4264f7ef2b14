"""Compressed graphs that are searched as they are: their rows are decoded where a search reads them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gravel.kernels.placement.device_copies import on_host

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gravel.kernels.bfs import Search
    from gravel.kernels.bfs.choice import Choice
    from gravel.kernels.layouts import EncodedRows
    from gravel.kernels.placement import Placed
    from gravel.stages.artifacts import CompressedGraph
    from gravel.stages.traversal.graph import SearchedGraph
    from gravel.stages.traversal.placing import Placing
    from gravel.stages.traverse import TraverseParameters

DECODED = "decoded before the search"
COLUMNS = "rows of codec csr are columns, and were searched as such"
WHOLE = ("device", "host")
"""Placements of rows that lie whole where the search runs."""

STREAMED = "streamed"
"""The placement of rows that are read part by part while they are searched."""

STREAM = "stream"
"""The array of encoded rows that grows with the arcs, and is placed."""


def searched_encoded(parameters: TraverseParameters, placement: str, codec: str | None = None) -> bool:
    """Whether a compressed graph's rows are searched as they are, if they lie as `placement` says.

    Strategies that read columns alone decode them first. Rows of codec `csr` are columns.
    """
    if codec == "csr":
        return False
    if parameters.strategy == "auto" or placement == STREAMED:
        return True
    from gravel.kernels.strategy import strategies_of_rows
    from gravel.stages.traversal.strategy import PACKAGES

    return parameters.strategy in strategies_of_rows(PACKAGES[parameters.algorithm])


def why_decoded(parameters: TraverseParameters, codec: str | None = None) -> str:
    """Say that rows are decoded before the search, and why."""
    if codec == "csr":
        return COLUMNS
    return f"{DECODED}: strategy {parameters.strategy} reads columns"


def read_rows(stored: CompressedGraph) -> EncodedRows:
    """Read the rows of a compressed graph into memory, as they are stored.

    Raises ValueError where the stream ends before them.
    """
    import numpy

    from gravel.kernels.index import index_dtype
    from gravel.kernels.layouts import EncodedRows
    from gravel.kernels.layouts.alignment import padded
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

    from gravel.kernels.index import index_dtype
    from gravel.kernels.layouts import EncodedRows
    from gravel.kernels.layouts.alignment import pad
    from gravel.kernels.placement.device_copies import on_device as to_device
    from gravel.kernels.strategy import backend_of

    if backend_of(stored.stream) != "cuda" and not isinstance(stored.stream, numpy.ndarray):
        return None
    offsets, stream = to_device(stored.byte_offsets), to_device(stored.stream)
    end = int(offsets[-1]) if len(offsets) else 0
    if end > len(stream):
        raise ValueError(f"the rows end at byte {end}; the stream has {len(stream)}")
    arrays = {"byte_offsets": cupy.asarray(offsets), STREAM: pad(stream[:end])}
    dtype = numpy.dtype(index_dtype(stored.vertex_count))
    return EncodedRows(stored.codec, stored.vertex_count, stored.arc_count, dtype, arrays)


def streamed_rows(stored: CompressedGraph) -> EncodedRows:
    """Leave the rows of a compressed graph where they are stored, and read where each begins.

    Raises ValueError for offsets that do not ascend within the stream.
    """
    import numpy

    from gravel.kernels.index import index_dtype
    from gravel.kernels.layouts import EncodedRows
    from gravel.kernels.layouts.parts import host_offsets

    arrays = {"byte_offsets": on_host(stored.byte_offsets), STREAM: stored.stream}
    dtype = numpy.dtype(index_dtype(stored.vertex_count))
    rows = EncodedRows(stored.codec, stored.vertex_count, stored.arc_count, dtype, arrays)
    host_offsets(rows)
    return rows


def decoded_columns(stored: CompressedGraph) -> NDArray[Any]:
    """Decode a compressed graph's columns on the host."""
    from gravel.kernels.layouts import decode

    columns: NDArray[Any] = decode(read_rows(stored))[1]
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
    import numpy

    from gravel.kernels.layouts.readers import count_neighbours
    from gravel.kernels.strategy import backend_of
    from gravel.stages.compressing.writing import row_ranges

    if not in_parts and backend_of(rows.arrays["byte_offsets"]) == "cuda":
        from gravel.kernels.layouts.counting import row_offsets

        offsets = row_offsets(rows)
    elif not in_parts:
        offsets = count_neighbours(rows)
    else:
        offsets = numpy.zeros(rows.vertex_count + 1, numpy.int64)
        for first, part in row_ranges(rows.arrays["byte_offsets"]):
            try:
                counted = count_neighbours(_several(rows, first, part))
            except ValueError as error:
                raise ValueError(f"of rows from {first} on, {error}") from None
            offsets[first + 1 : first + len(part)] = counted[1:] + offsets[first]
    if int(offsets[-1]) != rows.arc_count:
        raise ValueError(f"the rows hold {int(offsets[-1])} arcs; the graph has {rows.arc_count}")
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

    from gravel.kernels.layouts.alignment import pad

    begin, end = int(offsets[0]), int(offsets[-1])
    if rows.layout == "csr":
        columns = rows.arrays["column_indices"][begin:end]
        arrays: dict[str, Any] = {"row_offsets": offsets - begin, "column_indices": columns}
    else:
        arrays = {"byte_offsets": offsets - begin, STREAM: pad(rows.arrays[STREAM][begin:end])}
    return replace(rows, arrays=arrays, vertex_count=len(offsets) - 1, first_row=first)


def encoded_record(graph: SearchedGraph) -> dict[str, Any]:
    """Return the layout of rows that were searched as they are, and their bytes, for a measurement."""
    if graph.partition is not None and graph.compressed is not None:
        from gravel.kernels.partition.encoded import encoded_bytes

        size = sum(encoded_bytes(part) for part in graph.partition.parts)
        return {"layout": graph.compressed.codec, "row_bytes": size}
    return {} if graph.rows is None else {"layout": graph.rows.layout, "row_bytes": graph.rows.nbytes}


def prepare_encoded(
    graph: SearchedGraph, rows: EncodedRows, parameters: TraverseParameters
) -> tuple[Search, list[str]]:
    """Return a search of encoded rows and sentences about what it leaves out.

    Raises ValueError for a strategy or a tuning constant that does not fit, and for bytes that are no rows.
    """
    from gravel.kernels.bfs import choose_for_rows, prepare_rows
    from gravel.kernels.bfs.choice import Choice
    from gravel.stages.traversal.strategy import checked_tuning

    choice = choose_for_rows(symmetric=graph.symmetric, strategy=parameters.strategy)
    planned: dict[str, Any] = {}
    if graph.placed is not None:
        plan = graph.placed.plan
        if plan.placement == STREAMED:
            planned = {"buffer_bytes": plan.buffer_bytes}
            choice = streamed_choice(parameters, plan.reason)
        elif parameters.strategy == "auto":
            choice = Choice("host_rows", plan.reason, 0.0)
        if plan.placement == "split":
            planned = {"heads": plan.heads if graph.symmetric else 0, "keep": plan.keep}
    constants, notes = checked_tuning("gravel.kernels.bfs", choice.strategy, graph.backend, parameters.tuning)
    search = prepare_rows(
        rows,
        strategy=choice,
        output=parameters.output,
        symmetric=graph.symmetric,
        max_depth=parameters.max_depth,
        **(planned | constants),
    )
    return search, notes


def streamed_choice(parameters: TraverseParameters, reason: str) -> Choice:
    """Name the strategy of streamed rows; raises ValueError for one that needs them whole.

    Rows that were to be pinned, for `host_rows`, are streamed where the system pins no memory.
    """
    from gravel.kernels.bfs.choice import Choice

    if parameters.strategy not in ("auto", "host_rows", "streamed"):
        raise ValueError(f"strategy {parameters.strategy!r} does not search rows of placement streamed")
    return Choice("streamed", reason if parameters.strategy != "streamed" else "asked for", 0.0)
