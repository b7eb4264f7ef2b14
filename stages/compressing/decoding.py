"""The graph or partition that was compressed, decoded whole, in its own numbering."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gravel.kernels.arrays import on_host
from gravel.stages.artifacts import CompressedGraph, Graph, Partition
from gravel.stages.compressing.writing import ARCS_AT_ONCE

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy
    from numpy.typing import NDArray

    from gravel.stages.context import Context


def packed_weights(context: Context, weights: Any | None) -> Any | None:
    """Write weights in the smallest type that holds them, in pieces; None where there are none.

    Integers keep their sign: uint32 becomes uint8 or uint16, int32 becomes int8 or int16. float32 stays.
    """
    if weights is None:
        return None
    packed = smallest_dtype(weights)
    sink = context.sink(packed, rows=len(weights))
    for piece in _pieces(weights):
        sink.append(piece.astype(packed, copy=False))
    return sink.close()


def smallest_dtype(weights: Any) -> numpy.dtype[Any]:
    """Choose the type by the smallest and the largest weight."""
    import numpy

    stored: numpy.dtype[Any] = numpy.dtype(weights.dtype)
    if stored.kind == "f":
        return stored
    low = high = 0
    for piece in _pieces(weights):
        low, high = min(low, int(piece.min())), max(high, int(piece.max()))
    for width in (1, 2):
        narrow: numpy.dtype[Any] = numpy.dtype(f"{stored.kind}{width}")
        limits = numpy.iinfo(narrow)
        if limits.min <= low and high <= limits.max:
            return narrow
    return stored


def unpacked_weights(weights: Any | None) -> Any | None:
    """Return packed weights as a graph has them: uint32, int32 or float32, where they lie."""
    from gravel.kernels.arrays import backend_of

    if weights is None:
        return None
    whole = weights if backend_of(weights) == "cuda" else on_host(weights)
    return whole.astype(f"{weights.dtype.kind}4", copy=False)


def _pieces(weights: Any) -> Iterator[Any]:
    for first in range(0, len(weights), ARCS_AT_ONCE):
        yield on_host(weights[first : first + ARCS_AT_ONCE])


class Parts:
    """An array that is read in slices, as stored ones are, each of which comes to the host."""

    def __init__(self, array: Any) -> None:
        self._array = array
        self.dtype = array.dtype

    def __len__(self) -> int:
        return len(self._array)

    def __getitem__(self, wanted: slice) -> Any:
        return on_host(self._array[wanted])


def decompress(compressed: CompressedGraph, *, backend: str = "cpu") -> Graph | Partition:
    """Give back what was compressed, whole, in its own numbering.

    Parameters
    ----------
    backend : with "cuda", the rows of a graph are decoded on the device and its arrays stay there as CuPy
        arrays, all but its weights; a partition always comes back as NumPy arrays.

    Raises `StageError` when the bytes are not rows of this graph. The permutation of an `Ordering` stays
    with the compressed graph.

    """
    from gravel.stages.errors import StageError

    try:
        if compressed.subgraphs is not None:
            return _decompress_partition(compressed)
        return _decompress_graph(compressed, backend)
    except ValueError as error:
        raise StageError(str(error), hint="the compressed graph is damaged; compress it again") from None


def _decode(codec: str, byte_offsets: Any, stream: Any, arcs: int, dtype: Any, bound: int) -> tuple[Any, Any]:
    if codec == "csr":
        if len(stream) != arcs * dtype.itemsize or int(byte_offsets[-1]) != len(stream):
            raise ValueError(f"the stream has {len(stream)} bytes; {arcs} columns of {dtype} were expected")
        return byte_offsets // dtype.itemsize, stream.view(dtype)
    from gravel.kernels.layouts import EncodedRows, decode
    from gravel.kernels.layouts.layout import pad

    if len(byte_offsets) == 0 or int(byte_offsets[-1]) != len(stream):
        raise ValueError(f"byte_offsets must ascend from 0 to {len(stream)}, the number of bytes")
    arrays = {"byte_offsets": byte_offsets, "stream": pad(stream)}
    return decode(EncodedRows(codec, len(byte_offsets) - 1, arcs, dtype, arrays), bound=bound)


def _decompress_graph(compressed: CompressedGraph, backend: str) -> Graph:
    from gravel.kernels.arrays import index_dtype

    n = compressed.vertex_count
    byte_offsets, stream = compressed.byte_offsets, compressed.stream
    if backend == "cuda":
        from gravel.kernels.placement.device_copies import part_on_device

        byte_offsets, stream = (part_on_device(each, 0, len(each)) for each in (byte_offsets, stream))
    else:
        byte_offsets, stream = on_host(byte_offsets), on_host(stream)
    row_offsets, columns = _decode(
        compressed.codec, byte_offsets, stream, compressed.arc_count, index_dtype(n), n
    )
    return Graph(
        row_offsets=row_offsets,
        column_indices=columns,
        vertex_count=n,
        arc_count=compressed.arc_count,
        symmetric=compressed.symmetric,
        sorted=compressed.sorted,
        deduplicated=compressed.deduplicated,
        loop_count=compressed.loop_count,
        weights=unpacked_weights(compressed.weights),
    )


def _decompress_partition(compressed: CompressedGraph) -> Partition:
    import numpy

    from gravel.kernels.arrays import index_dtype
    from gravel.kernels.partition.layout import Subgraph, column_bound, make_rank, to_arrays

    if compressed.ranks is None or compressed.threshold is None or compressed.delegates is None:
        raise ValueError("the compressed partition lacks its ranks, its threshold or its delegates")
    n, p = compressed.vertex_count, compressed.ranks
    local_ids = numpy.dtype(numpy.uint32)
    arrays: dict[str, NDArray[Any]] = {}
    made: dict[str, Subgraph] = {}
    row = 0
    for record in compressed.subgraphs:
        rank, name, rows, arcs = (record[key] for key in ("rank", "name", "rows", "arcs"))
        byte_offsets = on_host(compressed.byte_offsets[row : row + rows + 1])
        stream = on_host(compressed.stream[int(byte_offsets[0]) : int(byte_offsets[-1])])
        bound = column_bound(name, rank, n, p, len(compressed.delegates))
        dtype = index_dtype(n) if name == "nn" else local_ids
        offsets, columns = _decode(
            compressed.codec, byte_offsets - byte_offsets[0], stream, arcs, dtype, bound
        )
        made[name] = Subgraph(offsets.astype(numpy.uint32) if arcs < 1 << 32 else offsets, columns)
        if len(made) == 4:
            arrays |= to_arrays(make_rank(rank, made))
            made = {}
        row += rows
    return Partition(
        arrays=arrays,
        delegates=compressed.delegates,
        permutation=compressed.permutation,
        ranks=p,
        threshold=compressed.threshold,
        vertex_count=n,
        arc_count=compressed.arc_count,
        symmetric=compressed.symmetric,
        deduplicated=compressed.deduplicated,
        loop_count=compressed.loop_count,
        statistics={},
    )
