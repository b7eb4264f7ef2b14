"""The graph or partition that was compressed, decoded whole, in its own numbering."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gravel.kernels.arrays import on_host
from gravel.stages.artifacts import CompressedGraph, Graph, Partition
from gravel.stages.compressing.weights import unpacked_weights

if TYPE_CHECKING:
    from numpy.typing import NDArray


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
