"""compress: neighbour lists as bytes in one of the layouts of `gravel.kernels.layouts`, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pydantic import Field, ValidationInfo, field_validator, model_validator

from gravel.kernels.buffers import exact, table, total, vertex_type
from gravel.kernels.layouts.registry import layout_of
from gravel.stages.advice import AdviceParameters, LayoutName, choice_text, is_measured, recorded
from gravel.stages.artifacts import CompressedGraph, Graph, Ordering, Partition
from gravel.stages.presets import filled
from gravel.stages.rows.decoding import packed_weights
from gravel.stages.rows.encoding import DeviceWriter, Pieces, Size, Writer, layouts_of
from gravel.stages.rows.ranges import ARCS_AT_ONCE, refusal
from gravel.stages.sizes import published
from gravel.stages.stage import Extent, Machine, Need, Parameters, Slot, Stage
from gravel.stages.trials import trial_bytes, try_choices

if TYPE_CHECKING:
    from gravel.kernels.advice.decide import Advice
    from gravel.stages.artifact import Json
    from gravel.stages.context import Context, PlainContext

WEIGHTED = "the partition has weights, and a compressed one carries none"
WEIGHTED_HINT = "leave `weights` of distribute out for what is compressed"

COMPILED = 92 << 20
"""Measured: what Numba takes to compile all encoders, for `auto`."""

ON_DEVICE, IN_RANGES, ON_HOST = "on the GPU at once", "on the GPU in ranges", "on the CPU"
"""Where rows are encoded."""

SAMPLE_BYTES = 8 << 20
"""Of `auto`: rows in all layouts."""


class CompressParameters(Parameters):
    """Parameters that say how rows are written."""

    paper: str | None = None
    """Use the settings of a paper of docs/strategies.md. Other parameters must not contradict them."""
    codec: LayoutName = "varint"
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


def compress(
    context: Context,
    parameters: CompressParameters,
    *,
    input: Graph | Partition,  # noqa: A002
) -> CompressedGraph:
    """Write the rows of a graph, or of every subgraph of a partition, as bytes.

    Weights stay beside the rows, in the smallest type that holds them: integers in 1, 2 or 4 bytes, float32
    as they are.

    On a GPU that has room, all rows are encoded at once and the result stays there. Else, memory holds one
    range of rows at a time. If not even that fits a GPU, the CPU encodes. Statistics have the `order` of an
    ordering. For `auto`, the result names the chosen codec, and the statistics also have the `advice`.
    Raises `StageError` if a row does not ascend, and for a partition with weights or `auto`.
    """
    from gravel.kernels.cuda.room import is_out_of_memory
    from gravel.kernels.threads import set_threads
    from gravel.stages.errors import StageError

    set_threads(context.machine.threads)
    try:
        advice = _advised(context, parameters, input)
        codec = parameters.codec if advice is None else advice.choice
        for form in _forms(context, codec, input):
            try:
                return _compressed(context, form, codec, advice, input)
            except Exception as error:
                if form == ON_HOST or not is_out_of_memory(error):
                    raise
                context.log(f"not encoded {form}: {error}")
    except ValueError as error:
        raise StageError(str(error), hint="symmetrize sorts lists; use its result") from None
    raise AssertionError("rows are encoded on the host, if nowhere else")


def packed_as(context: PlainContext, codec: str, graph: Graph) -> CompressedGraph:
    """Compress a graph by a codec, for who tries what searches of it take."""
    return compress(context, CompressParameters(codec=codec), input=graph)


def packing_need(graph: Extent, machine: Machine) -> Need:
    """State at most what compressing a graph takes, whatever the codec."""
    return _estimate(CompressParameters(codec="auto"), {"input": (graph,)}, machine)


def _forms(context: Context, codec: str, stored: Graph | Partition) -> tuple[str, ...]:
    """Say where rows are encoded, and where else if there is no room."""
    from gravel.stages.rows.ranges import bytes_there

    machine = context.machine
    if machine.backend != "cuda" or codec == "csr":
        return (ON_HOST,)
    arrays = (
        list(stored.arrays.values())
        if isinstance(stored, Partition)
        else [stored.row_offsets, stored.column_indices]
    )
    size = Size(codec, stored.vertex_count, stored.arc_count, _rows_of(stored))
    forms: tuple[str, ...] = (ON_DEVICE, IN_RANGES, ON_HOST)
    fits = size.whole_bytes() - bytes_there(*arrays) <= machine.device_memory
    if not (context.keeps_device_arrays and fits):
        forms = forms[1:]
    return forms if size.range_bytes("device") <= machine.device_memory else forms[-1:]


def _rows_of(stored: Graph | Partition) -> int:
    if isinstance(stored, Graph):
        return stored.vertex_count
    return sum(len(array) - 1 for name, array in stored.arrays.items() if name.endswith("/row_offsets"))


def _compressed(
    context: Context, form: str, codec: str, advice: Advice | None, stored: Graph | Partition
) -> CompressedGraph:
    import numpy

    from gravel.stages.errors import StageError

    stays = form == ON_DEVICE
    sinks: tuple[Any, Any] = Pieces(numpy.int64), Pieces(numpy.uint8)
    if not stays:
        most = stored.arc_count * _most_bytes_per_arc(codec, stored.vertex_count)
        sinks = context.sink(numpy.int64), context.sink(numpy.uint8, rows=most)
    if form == ON_HOST:
        writer = Writer(context, codec, stored.arc_count, *sinks)
    else:
        writer = DeviceWriter(context, codec, stored.arc_count, *sinks, stays=stays)
    if isinstance(stored, Partition):
        if stored.scheme != "delegates":
            raise StageError(
                f"a graph of scheme {stored.scheme} is not compressed", hint="use scheme delegates"
            )
        described = _compress_partition(writer, stored)
    else:
        if codec == "csr" and _is_taken(context, stored.column_indices):
            writer.take(stored.row_offsets, stored.column_indices)
        else:
            writer.add(stored.row_offsets, stored.column_indices, stored.vertex_count)
        described = {"permutation": stored.permutation if isinstance(stored, Ordering) else None}
    byte_offsets, stream = writer.close()
    weights = packed_weights(context, stored.weights) if isinstance(stored, Graph) else None
    return CompressedGraph(
        byte_offsets=byte_offsets,
        stream=stream,
        codec=codec,
        vertex_count=stored.vertex_count,
        arc_count=stored.arc_count,
        symmetric=stored.symmetric,
        deduplicated=stored.deduplicated,
        loop_count=stored.loop_count,
        statistics=_statistics(stored.vertex_count, stored.arc_count, writer.rows, writer.bytes)
        | ({} if weights is None else {"weight_bytes": weights.dtype.itemsize * stored.arc_count})
        | recorded(advice)
        | ({"order": {"method": stored.method, **stored.statistics}} if isinstance(stored, Ordering) else {}),
        weights=weights,
        **described,
    )


def _is_taken(context: Context, columns: Any) -> bool:
    """Whether columns can be the bytes that are asked for, where they are."""
    import numpy

    from gravel.kernels.arrays import backend_of

    if backend_of(columns) == "cuda":
        return context.keeps_device_arrays
    return isinstance(columns, numpy.ndarray)


def _advised(context: Context, parameters: CompressParameters, stored: Graph | Partition) -> Advice | None:
    """Choose a codec where that is asked for; offsets are read whole, and parts of the rows."""
    if parameters.advice is None:
        return None
    from gravel.kernels.advice.decide import advise_layout
    from gravel.kernels.arrays import on_host
    from gravel.stages.errors import StageError
    from gravel.stages.rows.decoding import Parts

    if isinstance(stored, Partition):
        raise StageError("auto chooses a codec for a graph, not for a partition", hint="name the codec")
    advice = advise_layout(
        on_host(stored.row_offsets),
        Parts(stored.column_indices),
        parameters.advice.workload(),
        symmetric=stored.symmetric,
    )
    if parameters.advice.measure:
        given = parameters.advice
        advice = try_choices(context, stored, advice, given, lambda order: stored, packed_as, field="layout")
    context.log(choice_text("codec", advice))
    return advice


def _compress_partition(writer: Writer, stored: Partition) -> dict[str, Any]:
    from gravel.kernels.partition.layout import SUBGRAPHS, column_bound

    if stored.has_weights:
        from gravel.stages.errors import StageError

        raise StageError(WEIGHTED, hint=WEIGHTED_HINT)
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


def _most_bytes_per_arc(codec: str, vertices: int) -> int:
    """Bytes that an arc may take: at worst two more than a column does, where it is not one itself."""
    width = 4 if vertices < 1 << 32 else 8
    return width + max(each.memory.more_per_arc for each in layouts_of(codec))


def _estimate(
    parameters: CompressParameters, inputs: Mapping[str, tuple[Extent, ...]], machine: Machine
) -> Need:
    graph = inputs["input"][0]
    n, m, codec, on_gpu = graph.vertices, graph.arcs, parameters.codec, machine.backend == "cuda"
    width = int(vertex_type(n)[1:])
    # A partition's rows are those of its subgraphs: normal vertices twice, delegates twice on each rank.
    size = Size(codec, n, m, n if graph.kind != "Partition" else (graph.bytes - width * m) // 4)
    device = size.device_bytes(machine.device_memory) if on_gpu else 0
    note = ""
    if on_gpu and codec != "csr" and not device:
        note = f"on the CPU: {refusal('compress', size.range_bytes('device'), machine.device_memory)}"
    made = table("host", byte_offsets=("i8", n + 1), stream=("u1", (m, _most_bytes_per_arc(codec, n))))
    compiled = COMPILED + SAMPLE_BYTES
    if codec != "auto":
        compiled = layout_of("csr" if device else codec).memory.compiled
    host = compiled + size.range_bytes("host") + exact(published(*made))
    if parameters.advice is not None and parameters.advice.measure:
        tried, on_device = trial_bytes(graph, parameters.advice, machine, packing_need)
        host, device = max(host, compiled + tried), max(device, on_device)
    if graph.weighted:
        host += total(table("host", weights=("i4", min(m, ARCS_AT_ONCE))), "host")
    offsets = 2 * (graph.bytes - width * m) if graph.kind == "Partition" else 8 * n
    output = Extent(
        kind="CompressedGraph",
        vertices=n,
        arcs=m,
        bytes=offsets + 8 + made[1].nbytes + 4 * m * graph.weighted,
        directed=graph.directed,
        normal_arcs=graph.normal_arcs,
        ranks=graph.ranks,
        weighted=graph.weighted,
    )
    refused = f"{WEIGHTED}; {WEIGHTED_HINT}" if graph.weighted and graph.kind == "Partition" else ""
    return Need(host_bytes=host, device_bytes=device, note=note, outputs=(output,), refusal=refused)


STAGE = Stage(
    name="compress",
    version=5,
    about="Packs neighbour lists into bytes: delta-varint, blocks of gaps, Elias-Fano, or CSR as it is.",
    parameters=CompressParameters,
    inputs={"input": Slot(kinds=("Graph", "Ordering", "Partition"), about="what to compress")},
    outputs=("CompressedGraph",),
    run=compress,
    estimate=_estimate,
    cuda=True,
    times=is_measured,
    hidden=frozenset({"paper"}),
)
