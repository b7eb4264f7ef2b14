"""compress: neighbour lists as bytes in one of the layouts of `gravel.kernels.layouts`, and back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field, ValidationInfo, field_validator, model_validator

from gravel.stages.advice import AdviceParameters, is_measured, recorded, told
from gravel.stages.artifacts import CompressedGraph, Graph, Ordering, Partition
from gravel.stages.presets import filled
from gravel.stages.stage import Extent, Machine, Need, Parameters, Slot, Stage
from gravel.stages.store_buffers import sink_bytes
from gravel.stages.trials import trial_bytes, try_choices

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

    from gravel.kernels.advice import Advice
    from gravel.stages.artifacts import Array, Json
    from gravel.stages.context import Context, Sink

ROWS_AT_ONCE = 1 << 20
ARCS_AT_ONCE = 1 << 23
"""A range of rows holds about 100 MB of working memory: large enough to keep threads and a GPU busy."""

COMPILED = {"csr": 14 << 20, "varint": 56 << 20, "blocks": 78 << 20, "elias_fano": 70 << 20, "auto": 92 << 20}
"""Measured: what Numba takes to compile an encoder, and to be there at all; `auto` compiles all of them."""

CODECS = ("csr", "varint", "blocks", "elias_fano")
"""What `auto` chooses among."""

SAMPLE_BYTES = 8 << 20
"""Of `auto`: rows in all layouts."""

READ_BYTES = 4 << 20
"""Chunks of the input as they are decoded."""

OFFSET_BYTES = {"csr": 24, "varint": 40, "blocks": 44, "elias_fano": 44, "auto": 44}
"""Of each row of a range: its offsets as they are read, from 0 on and in bytes, and what an encoder counts
and begins a row with."""


class CompressParameters(Parameters):
    """How rows are written."""

    paper: str | None = None
    """Use the settings of a paper: moschou2024. Other parameters must not contradict them."""
    codec: Literal["csr", "varint", "blocks", "elias_fano", "auto"] = "varint"
    """`varint` packs gaps between sorted neighbours into 7-bit groups. `blocks`, for GPUs, packs 256
    neighbours at a time as short gaps or as high and low parts. The size of `elias_fano` does not depend on
    the order of vertices. `csr` keeps the columns. `auto` chooses from samples and reports why."""
    advice: AdviceParameters | None = Field(default=None, validate_default=True)
    """The purpose that `auto` chooses for; other codecs ignore it."""

    @model_validator(mode="before")
    @classmethod
    def _as_the_paper(cls, given: Any) -> Any:
        return filled("compress", given)

    @field_validator("advice")
    @classmethod
    def _only_for_auto(cls, advice: AdviceParameters | None, info: ValidationInfo) -> Any:
        """Fill it in where it is read, and forget it where it would only make equal recipes differ."""
        return (advice or AdviceParameters()) if info.data.get("codec") == "auto" else None


class _Writer:
    """Appends CSR after CSR to one byte stream, a range of rows at a time."""

    def __init__(self, context: Context, codec: str, total_arcs: int, most_bytes: int) -> None:
        import numpy

        self._context = context
        self._codec = codec
        self._total = total_arcs
        self.rows = 0
        self.arcs = 0
        self.bytes = 0
        self.offsets: Sink = context.sink(numpy.int64)
        self.stream: Sink = context.sink(numpy.uint8, rows=most_bytes)
        self.offsets.append(numpy.zeros(1, numpy.int64))
        self.taken: NDArray[Any] | None = None

    def take(self, row_offsets: Array, columns: NDArray[Any]) -> None:
        """Let columns in memory be their own bytes, without a copy."""
        import numpy

        little = columns.astype(columns.dtype.newbyteorder("<"), copy=False)
        self.taken = numpy.ascontiguousarray(little).view(numpy.uint8)
        self.offsets.append(numpy.asarray(row_offsets[1:], numpy.int64) * columns.dtype.itemsize)
        self.rows, self.arcs, self.bytes = len(row_offsets) - 1, len(columns), len(self.taken)

    def add(self, row_offsets: Array, columns: Array, bound: int) -> None:
        """Write every row, neighbours being below `bound`; raises ValueError when one does not ascend."""
        for first, offsets in row_ranges(row_offsets):
            base, end = int(offsets[0]), int(offsets[-1])
            try:
                byte_offsets, stream = self._encode(first, offsets - base, columns[base:end], bound)
            except ValueError as error:
                raise ValueError(f"rows from {first} on: {error}") from None
            self.offsets.append(byte_offsets[1:] + self.bytes)
            self.stream.append(stream)
            self.bytes += len(stream)
            self.rows += len(offsets) - 1
            self.arcs += end - base
            # The next range is encoded before the names are bound anew.
            del byte_offsets, stream
            self._context.progress(self.arcs, self._total, "arcs")

    def _encode(
        self, first: int, offsets: NDArray[Any], columns: NDArray[Any], bound: int
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        import numpy

        if self._codec == "csr":
            little = columns.astype(columns.dtype.newbyteorder("<"), copy=False)
            return offsets * columns.dtype.itemsize, numpy.ascontiguousarray(little).view(numpy.uint8)
        from gravel.kernels.layouts import encode

        if self._context.machine.backend == "cuda":
            import cupy

            rows = encode(
                self._codec, cupy.asarray(offsets), cupy.asarray(columns), first_row=first, bound=bound
            )
            byte_offsets, stream = (cupy.asnumpy(rows.arrays[name]) for name in ("byte_offsets", "stream"))
        else:
            rows = encode(self._codec, offsets, columns, first_row=first, bound=bound)
            byte_offsets, stream = rows.arrays["byte_offsets"], rows.arrays["stream"]
        return byte_offsets, stream[: int(byte_offsets[-1])]


def row_ranges(
    row_offsets: Array, *, rows: int = ROWS_AT_ONCE, arcs: int = ARCS_AT_ONCE
) -> Iterator[tuple[int, NDArray[numpy.int64]]]:
    """Yield (first row, its offsets and one more) for ranges of at most `rows` rows.

    A range holds at most `arcs` arcs, or one row that is longer. Only a range's offsets are read.
    """
    import numpy

    count = len(row_offsets) - 1
    first = 0
    while first < count:
        offsets = numpy.asarray(row_offsets[first : min(first + rows, count) + 1]).astype(
            numpy.int64, copy=False
        )
        fitting = int(numpy.searchsorted(offsets, offsets[0] + arcs, side="right")) - 1
        taken = min(max(fitting, 1), len(offsets) - 1)
        yield first, offsets[: taken + 1]
        first += taken


def compress(
    context: Context,
    parameters: CompressParameters,
    *,
    input: Graph | Partition,  # noqa: A002
) -> CompressedGraph:
    """Write the rows of a graph, or of every subgraph of a partition, as bytes.

    Memory holds one range of rows at a time. Statistics have the `order` of an ordering. For `auto`, the
    result names the chosen codec, and the statistics also have the `advice`. Raises `StageError` if a row
    does not ascend, and for `auto` of a partition.
    """
    import numpy

    from gravel.kernels.jit import set_threads
    from gravel.stages.errors import StageError

    set_threads(context.machine.threads)
    described: dict[str, Any] = {}
    try:
        advice = _advised(context, parameters, input)
        codec = parameters.codec if advice is None else advice.choice
        writer = _Writer(
            context, codec, input.arc_count, input.arc_count * _most_bytes_per_arc(codec, input.vertex_count)
        )
        if isinstance(input, Partition):
            if input.scheme != "delegates":
                raise StageError(
                    f"a graph of scheme {input.scheme} is not compressed", hint="use scheme delegates"
                )
            described = _compress_partition(writer, input)
        else:
            if codec == "csr" and isinstance(input.column_indices, numpy.ndarray):
                writer.take(input.row_offsets, input.column_indices)
            else:
                writer.add(input.row_offsets, input.column_indices, input.vertex_count)
            described = {"permutation": input.permutation if isinstance(input, Ordering) else None}
    except ValueError as error:
        raise StageError(str(error), hint="symmetrize sorts lists; use its result") from None
    return CompressedGraph(
        byte_offsets=writer.offsets.close(),
        stream=writer.stream.close() if writer.taken is None else writer.taken,
        codec=codec,
        vertex_count=input.vertex_count,
        arc_count=input.arc_count,
        symmetric=input.symmetric,
        deduplicated=input.deduplicated,
        loop_count=input.loop_count,
        statistics=_statistics(input.vertex_count, input.arc_count, writer.rows, writer.bytes)
        | recorded(advice)
        | ({"order": {"method": input.method, **input.statistics}} if isinstance(input, Ordering) else {}),
        **described,
    )


def _advised(context: Context, parameters: CompressParameters, stored: Graph | Partition) -> Advice | None:
    """Choose a codec where that is asked for; offsets are read whole, and parts of the rows."""
    if parameters.advice is None:
        return None
    import numpy

    from gravel.kernels.advice import advise_layout
    from gravel.stages.errors import StageError

    if isinstance(stored, Partition):
        raise StageError("auto chooses a codec for a graph, not for a partition", hint="name the codec")
    advice = advise_layout(
        numpy.asarray(stored.row_offsets),
        stored.column_indices,
        parameters.advice.workload(),
        symmetric=stored.symmetric,
        layouts=CODECS,
    )
    if parameters.advice.measure:
        advice = try_choices(context, stored, advice, parameters.advice, lambda order: stored, field="layout")
    context.log(told("codec", advice))
    return advice


def _compress_partition(writer: _Writer, stored: Partition) -> dict[str, Any]:
    from gravel.kernels.partition.layout import SUBGRAPHS, column_bound

    subgraphs = []
    n, delegates = stored.vertex_count, len(stored.delegates)
    for rank in range(stored.ranks):
        for name in SUBGRAPHS:
            offsets = stored.arrays[f"rank{rank}/{name}/row_offsets"]
            columns = stored.arrays[f"rank{rank}/{name}/column_indices"]
            writer.add(offsets, columns, column_bound(name, rank, n, stored.ranks, delegates))
            rows, arcs = len(offsets) - 1, len(columns)
            subgraphs.append({"rank": rank, "name": name, "rows": rows, "arcs": arcs})
    return {
        "permutation": stored.permutation,
        "delegates": stored.delegates,
        "ranks": stored.ranks,
        "threshold": stored.threshold,
        "subgraphs": subgraphs,
    }


def _statistics(vertices: int, arcs: int, rows: int, size: int) -> Json:
    """Compare with 32-bit columns, as the report counts (its tables 1 and 2), and with the whole CSR.

    `offset_bytes` are the byte offsets', the same in all layouts of a graph; only
    `bits_per_arc_with_offsets` and `ratio_of_csr` count them.
    """
    offsets = 8 * (rows + 1)
    whole = offsets + size
    return {
        "stream_bytes": size,
        "offset_bytes": offsets,
        "bits_per_arc": 8 * size / arcs if arcs else 0.0,
        "bits_per_arc_with_offsets": 8 * whole / arcs if arcs else 0.0,
        "ratio_of_columns": 4 * arcs / size if size else 1.0,
        "ratio_of_csr": (8 * (vertices + 1) + 4 * arcs) / whole,
    }


def decompress(compressed: CompressedGraph, *, backend: str = "cpu") -> Graph | Partition:
    """Give back what was compressed, whole, in its own numbering.

    Parameters
    ----------
    backend : with "cuda", the rows of a graph are decoded on the device and its arrays stay there as CuPy
        arrays; a partition always comes back as NumPy arrays.

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
    from gravel.kernels.layouts.alignment import pad

    if len(byte_offsets) == 0 or int(byte_offsets[-1]) != len(stream):
        raise ValueError(f"byte_offsets must ascend from 0 to {len(stream)}, the number of bytes")
    arrays = {"byte_offsets": byte_offsets, "stream": pad(stream)}
    return decode(EncodedRows(codec, len(byte_offsets) - 1, arcs, dtype, arrays), bound=bound)


def _decompress_graph(compressed: CompressedGraph, backend: str) -> Graph:
    import numpy

    from gravel.kernels.index import index_dtype

    n = compressed.vertex_count
    byte_offsets: Any = numpy.asarray(compressed.byte_offsets)
    stream: Any = numpy.asarray(compressed.stream)
    if backend == "cuda":
        import cupy

        byte_offsets, stream = cupy.asarray(byte_offsets), cupy.asarray(stream)
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
    )


def _decompress_partition(compressed: CompressedGraph) -> Partition:
    import numpy

    from gravel.kernels.index import index_dtype
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
        byte_offsets = numpy.asarray(compressed.byte_offsets[row : row + rows + 1])
        stream = numpy.asarray(compressed.stream[int(byte_offsets[0]) : int(byte_offsets[-1])])
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


def _most_bytes_per_arc(codec: str, vertices: int) -> int:
    """Bytes that an arc may take: at worst two more than a column does, where it is not one itself."""
    width = 4 if vertices < 1 << 32 else 8
    return width if codec == "csr" else width + 2


def _made_bytes(codec: str, vertices: int, rows: int, arcs: int) -> int:
    """Bytes of a range's arcs as they are encoded, from gaps that are as even as can be."""
    bits = 2 + (vertices * rows // max(1, arcs)).bit_length()
    packed = arcs * (bits + 2) // 8
    # A stream of groups of 7 bits is copied to where it ends at a multiple of the alignment.
    groups = 2 * arcs * -(-bits // 7)
    return {"csr": 0, "varint": groups, "auto": max(groups, packed)}.get(codec, packed)


def _estimate(
    parameters: CompressParameters, inputs: Mapping[str, tuple[Extent, ...]], machine: Machine
) -> Need:
    graph = inputs["input"][0]
    n, m = graph.vertices, graph.arcs
    width = 4 if n < 1 << 32 else 8
    # One range of rows: its columns, its bytes (`csr` has the columns themselves), and values of each row. A
    # range holds ARCS_AT_ONCE arcs or one longer row.
    packed = parameters.codec != "csr"
    most_per_arc = _most_bytes_per_arc(parameters.codec, n)
    arcs, rows = min(m, max(ARCS_AT_ONCE, n)), min(n, ROWS_AT_ONCE)
    made = _made_bytes(parameters.codec, n, rows, arcs)
    on_host = COMPILED[parameters.codec] + width * arcs + made + OFFSET_BYTES[parameters.codec] * rows
    on_host += READ_BYTES + sink_bytes(8 * n, most_per_arc * m)
    if parameters.codec == "auto":
        on_host += SAMPLE_BYTES + 8 * n
    on_device = arcs * (2 * width + 2) + 128 * rows
    if is_measured(parameters):
        trial_host, trial_device = trial_bytes(n, m, width)
        on_host += trial_host
        on_device = max(on_device, trial_device)
    most = most_per_arc * m
    # A partition's rows are those of its subgraphs: normal vertices twice, delegates twice on each rank.
    offsets = 2 * (graph.bytes - width * m) if graph.kind == "Partition" else 8 * n
    output = Extent(
        kind="CompressedGraph",
        vertices=n,
        arcs=m,
        bytes=offsets + 8 + most,
        directed=graph.directed,
        normal_arcs=graph.normal_arcs,
        ranks=graph.ranks,
    )
    return Need(
        host_bytes=on_host,
        device_bytes=on_device if machine.backend == "cuda" and packed else 0,
        outputs=(output,),
    )


STAGE = Stage(
    name="compress",
    version=4,
    about="Packs neighbour lists into bytes: delta-varint, blocks of gaps, Elias-Fano, or CSR as it is.",
    parameters=CompressParameters,
    inputs={"input": Slot(kinds=("Graph", "Ordering", "Partition"), about="what to compress")},
    outputs=("CompressedGraph",),
    run=compress,
    estimate=_estimate,
    deterministic=True,
    cuda=True,
    times=is_measured,
    hidden=frozenset({"paper"}),
)
