"""Rows of compressed graphs as they are stored: in memory, on a device, or where they lie."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from gravel.kernels.arrays import backend_of, index_dtype, on_host
from gravel.kernels.layouts.layout import EncodedRows, columns_as_rows, encoded_rows, pad, padded
from gravel.stages.artifacts import CompressedGraph, Graph
from gravel.stages.errors import StageError
from gravel.stages.rows.ranges import row_ranges

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gravel.kernels.partition.layout import RankGraph

STREAM = "stream"
"""The array of encoded rows that grows with the arcs, and is placed."""

DAMAGED = "the compressed graph is damaged; compress it again"
"""The hint of errors about bytes that are no rows."""


@contextmanager
def damage_refused() -> Iterator[None]:
    """Raise `StageError` for bytes that are no rows; also a decorator."""
    try:
        yield
    except ValueError as error:
        raise StageError(str(error), hint=DAMAGED) from None


def rows_of(stored: Graph | CompressedGraph) -> EncodedRows:
    """Return the rows of a graph, whole and not decoded, where they lie.

    Raises ValueError for a stream that ends before the rows do.
    """
    import numpy

    def whole(array: Any) -> Any:
        return array if backend_of(array) == "cuda" else numpy.asarray(array)

    if isinstance(stored, Graph):
        return columns_as_rows(whole(stored.row_offsets), whole(stored.column_indices))
    offsets, stream = whole(stored.byte_offsets), whole(stored.stream)
    stream = stream[: _end_of(offsets, stream)]
    return _of_graph(stored, offsets, stream if stored.codec == "csr" else pad(stream))


def read_rows(stored: CompressedGraph) -> EncodedRows:
    """Read the rows of a compressed graph into host memory, where a GPU may come to read them.

    Raises ValueError where the stream ends before them.
    """
    import numpy

    from gravel.kernels.placement.pinned import fill, pinnable

    offsets = on_host(stored.byte_offsets)
    end = _end_of(offsets, stored.stream)
    stream = pinnable(padded(end), numpy.uint8)
    fill(stream[:end], stored.stream)
    stream[end:] = 0
    return _of_graph(stored, offsets, stream[:end] if stored.codec == "csr" else stream)


def rows_on_device(stored: CompressedGraph) -> EncodedRows:
    """Find the rows of a compressed graph on the device, or take them there.

    Raises ValueError where the stream ends before them.
    """
    import cupy
    import numpy

    from gravel.kernels.placement.device_copies import on_device as to_device
    from gravel.kernels.placement.device_copies import where_it_is

    if backend_of(stored.stream) != "cuda" and not isinstance(stored.stream, numpy.ndarray):
        return on_device(read_rows(stored))
    offsets, stream = to_device(stored.byte_offsets), where_it_is(stored.stream)
    end = _end_of(offsets, stream)
    if backend_of(stream) == "cuda":
        there = pad(stream[:end])
    else:
        # Where it is padded, so that the device never has it twice.
        there = cupy.empty(padded(end), numpy.uint8)
        there[:end].set(numpy.ascontiguousarray(stream[:end]))
        there[end:] = 0
    return _of_graph(stored, cupy.asarray(offsets), there)


def on_device(rows: EncodedRows, elsewhere: dict[str, Any] | None = None) -> EncodedRows:
    """Copy rows to the device, but for arrays that lie `elsewhere`, in pinned memory or stored."""
    import cupy

    known = elsewhere or {}
    arrays = {
        name: known[name] if name in known else cupy.asarray(each) for name, each in rows.arrays.items()
    }
    return replace(rows, arrays=arrays)


def streamed_rows(stored: CompressedGraph) -> EncodedRows:
    """Leave the rows of a compressed graph where they are stored, and read where each begins.

    Raises ValueError for offsets that do not ascend within the stream.
    """
    from gravel.kernels.layouts.parts import host_offsets

    # What a GPU has is read in parts from a copy: it was asked for.
    stream = on_host(stored.stream) if backend_of(stored.stream) == "cuda" else stored.stream
    rows = _of_graph(stored, on_host(stored.byte_offsets), stream)
    host_offsets(rows)
    return rows


def _of_graph(stored: CompressedGraph, byte_offsets: Any, stream: Any) -> EncodedRows:
    n = stored.vertex_count
    return encoded_rows(stored.codec, byte_offsets, stream, n, stored.arc_count, index_dtype(n))


def _end_of(byte_offsets: Any, stream: Any) -> int:
    end = int(byte_offsets[-1]) if len(byte_offsets) else 0
    if end > len(stream):
        raise ValueError(f"the rows end at byte {end}; the stream has {len(stream)}")
    return end


@dataclass(frozen=True)
class EncodedRank:
    """Places of one rank's subgraphs in a compressed partition: name, first row, rows and arcs of each."""

    rank: int
    ranks: int
    vertex_count: int
    delegate_count: int
    codec: str
    byte_offsets: Any
    stream: Any
    subgraphs: tuple[tuple[str, int, int, int], ...]

    def read(self) -> RankGraph:
        """Read the rank's rows as they are stored; raises ValueError where they are damaged."""
        from gravel.kernels.partition.encoded import encoded_subgraph
        from gravel.kernels.partition.layout import make_rank

        made = {name: encoded_subgraph(rows, bound) for name, rows, bound in self.rows()}
        return make_rank(self.rank, made)

    def rows(self) -> Iterator[tuple[str, EncodedRows, int]]:
        """Read the rows of each subgraph to the host: its name, the rows, and the bound of their columns."""
        import numpy

        from gravel.kernels.partition.layout import column_bound

        for name, first, rows, arcs in self.subgraphs:
            offsets = on_host(self.byte_offsets[first : first + rows + 1])
            stream = on_host(self.stream[int(offsets[0]) : int(offsets[-1])])
            dtype = index_dtype(self.vertex_count) if name == "nn" else numpy.dtype(numpy.uint32)
            bound = column_bound(name, self.rank, self.vertex_count, self.ranks, self.delegate_count)
            stream = stream if self.codec == "csr" else pad(stream)
            yield name, encoded_rows(self.codec, offsets - offsets[0], stream, rows, arcs, dtype), bound


def encoded_ranks(stored: CompressedGraph) -> list[EncodedRank]:
    """Find the rows of each rank in a compressed partition; raises ValueError for one without ranks."""
    if stored.ranks is None or stored.delegates is None or stored.subgraphs is None:
        raise ValueError("the compressed partition lacks its ranks or its delegates")
    found: dict[int, list[tuple[str, int, int, int]]] = {rank: [] for rank in range(stored.ranks)}
    first = 0
    for record in stored.subgraphs:
        found[record["rank"]].append((record["name"], first, record["rows"], record["arcs"]))
        first += record["rows"]
    return [
        EncodedRank(
            rank=rank,
            ranks=stored.ranks,
            vertex_count=stored.vertex_count,
            delegate_count=len(stored.delegates),
            codec=stored.codec,
            byte_offsets=stored.byte_offsets,
            stream=stored.stream,
            subgraphs=tuple(subgraphs),
        )
        for rank, subgraphs in found.items()
    ]


def row_offsets_of(rows: EncodedRows, *, in_parts: bool = False) -> Any:
    """Count the neighbours of each row without decoding them, summed up: int64 (rows + 1,), where they lie.

    A stream that is stored is read `in_parts`, once, a range of rows at a time. Raises ValueError for bytes
    that are no rows, or not as many neighbours as the graph has arcs.
    """
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

    counts = [numpy.empty(0, numpy.int64)]
    name = "row_offsets" if rows.layout == "csr" else "byte_offsets"
    for first, part in row_ranges(rows.arrays[name]):
        several = _range(rows, first, part)
        counts.append(edge_ends(*decode(several, bound=rows.vertex_count), first))
    return numpy.concatenate(counts)


def _range(rows: EncodedRows, first: int, offsets: NDArray[Any]) -> EncodedRows:
    """Rows from `first` on, whose offsets are these, with their number of arcs."""
    from gravel.kernels.layouts.readers import count_neighbours

    some = _several(rows, first, offsets)
    return replace(some, arc_count=int(count_neighbours(some)[-1]))


def _several(rows: EncodedRows, first: int, offsets: NDArray[Any]) -> EncodedRows:
    """Rows from `first` on, whose offsets are these, in memory; how many arcs they have is not known."""
    begin, end = int(offsets[0]), int(offsets[-1])
    if rows.layout == "csr":
        columns = on_host(rows.arrays["column_indices"][begin:end])
        arrays: dict[str, Any] = {"row_offsets": offsets - begin, "column_indices": columns}
    else:
        arrays = {"byte_offsets": offsets - begin, STREAM: pad(rows.arrays[STREAM][begin:end])}
    return replace(rows, arrays=arrays, vertex_count=len(offsets) - 1, first_row=first)


class ByteColumns:
    """Columns in an array of bytes, uint8 (arcs * itemsize,), which is read where a slice is asked for."""

    def __init__(self, stream: Any, dtype: Any) -> None:
        import numpy

        self.dtype = numpy.dtype(dtype)
        self._stream = stream

    def __len__(self) -> int:
        return int(len(self._stream) // self.dtype.itemsize)

    def __getitem__(self, wanted: slice) -> NDArray[Any]:
        import numpy

        first, last, _ = wanted.indices(len(self))
        out = numpy.empty(max(0, last - first), self.dtype)
        self.read_into(out, first)
        return out

    def read_into(self, out: NDArray[Any], first: int = 0) -> None:
        """Read the columns from `first` on into `out`."""
        import numpy

        from gravel.kernels.placement.pinned import fill

        fill(out.view(numpy.uint8), self._stream, first * self.dtype.itemsize)


def columns_as_stored(stored: CompressedGraph) -> Graph:
    """Give back a graph of codec `csr` whose columns stay where they are stored.

    Raises `StageError` where there are not as many bytes as the graph has columns.
    """
    n, dtype = stored.vertex_count, index_dtype(stored.vertex_count)
    byte_offsets = on_host(stored.byte_offsets)
    size = stored.arc_count * dtype.itemsize
    if len(byte_offsets) != n + 1 or len(stored.stream) != size or int(byte_offsets[-1]) != size:
        raise StageError(
            f"the stream has {len(stored.stream)} bytes; {stored.arc_count} columns of {dtype} were expected",
            hint=DAMAGED,
        )
    columns: Any = ByteColumns(stored.stream, dtype)
    return Graph(
        row_offsets=byte_offsets // dtype.itemsize,
        column_indices=columns,
        vertex_count=n,
        arc_count=stored.arc_count,
        symmetric=stored.symmetric,
        sorted=stored.sorted,
        deduplicated=stored.deduplicated,
        loop_count=stored.loop_count,
    )
