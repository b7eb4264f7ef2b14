"""The graph or partition that was compressed, decoded whole, in its own numbering."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gravel.kernels.arrays import backend_of, on_host
from gravel.kernels.layouts.layout import encoded_rows, pad
from gravel.stages.artifacts import CompressedGraph, Graph, Partition
from gravel.stages.errors import StageError
from gravel.stages.rows.encoded import DAMAGED, encoded_ranks
from gravel.stages.rows.ranges import ARCS_AT_ONCE

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy
    from numpy.typing import NDArray

    from gravel.kernels.layouts.layout import EncodedRows
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
    try:
        if compressed.subgraphs is not None:
            return _decompress_partition(compressed)
        return _decompress_graph(compressed, backend)
    except ValueError as error:
        raise StageError(str(error), hint=DAMAGED) from None


def _decompress_graph(compressed: CompressedGraph, backend: str) -> Graph:
    from gravel.kernels.arrays import index_dtype

    n, m = compressed.vertex_count, compressed.arc_count
    byte_offsets, stream = compressed.byte_offsets, compressed.stream
    if backend == "cuda":
        from gravel.kernels.placement.device_copies import part_on_device

        byte_offsets, stream = (part_on_device(each, 0, len(each)) for each in (byte_offsets, stream))
    else:
        byte_offsets, stream = on_host(byte_offsets), on_host(stream)
    if compressed.codec != "csr":
        if len(byte_offsets) == 0 or int(byte_offsets[-1]) != len(stream):
            raise ValueError(f"byte_offsets must ascend from 0 to {len(stream)}, the number of bytes")
        stream = pad(stream)
    rows = len(byte_offsets) - 1
    row_offsets, columns = decoded(
        encoded_rows(compressed.codec, byte_offsets, stream, rows, m, index_dtype(n)), n
    )
    return Graph(
        row_offsets=row_offsets,
        column_indices=columns,
        vertex_count=n,
        arc_count=m,
        symmetric=compressed.symmetric,
        sorted=compressed.sorted,
        deduplicated=compressed.deduplicated,
        loop_count=compressed.loop_count,
        weights=unpacked_weights(compressed.weights),
    )


def decoded(rows: EncodedRows, bound: int) -> tuple[Any, Any]:
    """Return row offsets and columns below `bound`, where the rows are; raises ValueError for other bytes."""
    if rows.layout == "csr":
        return rows.arrays["row_offsets"], rows.arrays["column_indices"]
    from gravel.kernels.layouts import decode

    return decode(rows, bound=bound)


def _decompress_partition(compressed: CompressedGraph) -> Partition:
    import numpy

    from gravel.kernels.partition.layout import Subgraph, make_rank, to_arrays

    if compressed.ranks is None or compressed.threshold is None or compressed.delegates is None:
        raise ValueError("the compressed partition lacks its ranks, its threshold or its delegates")
    arrays: dict[str, NDArray[Any]] = {}
    for rank in encoded_ranks(compressed):
        made: dict[str, Subgraph] = {}
        for name, rows, bound in rank.rows():
            offsets, columns = decoded(rows, bound)
            narrow = rows.arc_count < 1 << 32
            made[name] = Subgraph(offsets.astype(numpy.uint32) if narrow else offsets, columns)
        arrays |= to_arrays(make_rank(rank.rank, made))
    return Partition(
        arrays=arrays,
        delegates=compressed.delegates,
        permutation=compressed.permutation,
        ranks=compressed.ranks,
        threshold=compressed.threshold,
        vertex_count=compressed.vertex_count,
        arc_count=compressed.arc_count,
        symmetric=compressed.symmetric,
        deduplicated=compressed.deduplicated,
        loop_count=compressed.loop_count,
        statistics={},
    )
