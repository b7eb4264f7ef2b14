"""symmetrize: an edge list into sorted adjacency lists, in bounded memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from gravel.kernels.cuda.room import SORT_BYTES_PER_KEY, give_free_blocks_back, is_out_of_memory
from gravel.stages.artifacts import EdgeList, Graph
from gravel.stages.device_rows import free_bytes, lacking, refusal
from gravel.stages.edge_parts import PART_BYTES, EdgeParts
from gravel.stages.errors import StageError
from gravel.stages.sizes import PUBLISHING_BYTES, publishing_bytes
from gravel.stages.stage import Extent, Machine, Need, Slot, Stage
from gravel.stages.symmetrize_parameters import SymmetrizeParameters

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

    from gravel.stages.context import Context

COMPILED = 66 << 20
"""Measured: what Numba takes to compile what builds rows, and to be there at all."""

WORKING_BYTES = COMPILED + 4 * PART_BYTES + PUBLISHING_BYTES
"""Host memory beside offsets and columns, however many there are: both ends of the arcs of a part, which are
dealt to source ranges and read again, and what is written."""

FEWEST_SHARES = 64
"""The arcs are cut into at most about so many ranges before a machine is called too small."""

DEVICE_BYTES_PER_ARC = 8 + SORT_BYTES_PER_KEY
"""Peak of `gravel.kernels.csr.cuda.build` beside the edges: a 64-bit key, and what sorts it. Columns come
when that is free again."""

DEVICE_BYTES_PER_ROW = 8
"""Its offset."""


Blocks = Iterator[tuple["NDArray[Any]", "NDArray[Any]"]]
"""Parts of the arcs: their rows, and their columns."""


class _Output:
    """The graph's arrays, appended range by range."""

    def __init__(self, context: Context, dtype: Any) -> None:
        import numpy

        self._offsets = context.sink(numpy.int64)
        self._columns = context.sink(dtype)
        self._whole: Any = None
        self._started = False
        self.arcs = 0
        self.loops = 0

    def whole(self, rows: Any) -> None:
        """Take all rows as they are, on the device."""
        self._whole = rows
        self.arcs, self.loops = len(rows.column_indices), rows.loop_count

    def add(self, row_offsets: NDArray[numpy.int64], columns: NDArray[Any], loops: int) -> None:
        row_offsets += self.arcs
        self._offsets.append(row_offsets[1:] if self._started else row_offsets, given=True)
        self._columns.append(columns, given=True)
        self._started = True
        self.arcs += len(columns)
        self.loops += loops

    def close(self, edges: EdgeParts, keep_duplicates: bool) -> Graph:
        return Graph(
            row_offsets=self._offsets.close() if self._whole is None else self._whole.row_offsets,
            column_indices=self._columns.close() if self._whole is None else self._whole.column_indices,
            vertex_count=edges.vertices,
            arc_count=self.arcs,
            symmetric=edges.direction == "both",
            deduplicated=not keep_duplicates,
            loop_count=self.loops,
        )


def symmetrize(context: Context, parameters: SymmetrizeParameters, *, input: EdgeList) -> Graph:  # noqa: A002
    """Build the sorted rows of an edge list.

    Edges are read twice in parts, first to count arcs and then to store them. So memory holds only the
    columns and offsets. If these do not fit the host memory (on CUDA the device memory), the arcs go to
    scratch files, one for each range of sources that fits. Ranges are then built one after the other.

    Rows with weights are built at once on the host.

    Raises `StageError` for vertices outside the list's count, a full disk, and memory too small for the
    longest row, or for all rows with weights.
    """
    from gravel.kernels.threads import set_threads

    set_threads(context.machine.threads)
    if input.ends_unordered and not input.undirected and parameters.direction != "both":
        raise StageError(
            f"`direction: {parameters.direction}` needs the source of each edge, and the columns tail and "
            "head do not say which of them it is",
            hint="name it where the file is read: `columns: {source: tail, target: head}`, or turned round",
        )
    if parameters.weights != "leave_out":
        from gravel.stages.weights import weighted_graph

        return weighted_graph(context, parameters, input)
    edges = EdgeParts(
        context,
        input,
        direction="both" if input.undirected else parameters.direction,
        keep_loops=parameters.self_loops == "keep",
    )
    keep_duplicates = parameters.duplicates == "keep"
    output = _Output(context, edges.dtype)
    try:
        needed = _least_device_bytes(edges.vertices, edges.count, edges.dtype.itemsize)
        if context.machine.backend == "cuda" and needed > context.machine.device_memory:
            reason = refusal("building rows", needed, context.machine.device_memory)
            context.remark(f"built on the CPU: {reason}")
            _on_host(context, edges, output, keep_duplicates)
        elif context.machine.backend == "cuda":
            _on_device(context, edges, output, keep_duplicates)
        else:
            _on_host(context, edges, output, keep_duplicates)
    except ValueError as error:
        raise StageError(str(error)) from None
    edges.tell(3, 0, 1)
    return output.close(edges, keep_duplicates)


def _counted(edges: EdgeParts) -> NDArray[numpy.int64]:
    """Count arcs per vertex into [2:], which leaves `RowBuilder` the room that it needs."""
    import numpy

    from gravel.kernels.csr import degrees

    counts = numpy.zeros(edges.vertices + 2, numpy.int64)
    for source, target in edges.parts(0):
        degrees(source, target, edges.vertices, **edges.options, out=counts[2:])
    return counts


def _on_host(context: Context, edges: EdgeParts, output: _Output, keep_duplicates: bool) -> None:
    from gravel.kernels.csr.rows import RowBuilder

    counts = _counted(edges)
    width = edges.dtype.itemsize
    budget = context.machine.host_memory - WORKING_BYTES - counts.nbytes
    if int(counts[2:].sum()) * width <= budget:
        builder = RowBuilder(counts, edges.dtype, **edges.options)
        for source, target in edges.parts(1):
            builder.add(source, target)
        output.add(*builder.finish(keep_duplicates=keep_duplicates, vertex_count=edges.vertices))
        return
    for first, last, blocks in _spooled(context, edges, counts[2:], budget, width, 8):
        _range_on_host(edges, output, keep_duplicates, counts[first : last + 2].copy(), first, blocks())


def _range_on_host(
    edges: EdgeParts,
    output: _Output,
    keep_duplicates: bool,
    offsets: NDArray[numpy.int64],
    first: int,
    blocks: Blocks,
) -> None:
    from gravel.kernels.csr.rows import RowBuilder

    offsets[:2] = 0
    builder = RowBuilder(offsets, edges.dtype, first_vertex=first)
    for rows, columns in blocks:
        builder.add(rows, columns)
    output.add(*builder.finish(keep_duplicates=keep_duplicates, vertex_count=edges.vertices))


def _on_device(context: Context, edges: EdgeParts, output: _Output, keep_duplicates: bool) -> None:
    budget = context.machine.device_memory
    arcs = edges.count * (1 + (edges.direction == "both"))
    if device_bytes(edges.vertices, edges.count, arcs, edges.dtype.itemsize) <= budget:
        rows = _whole_on_device(edges, keep_duplicates)
        if rows is not None and context.keeps_device_arrays:
            output.whole(rows)
        elif rows is not None:
            _download(rows, output)
        if rows is not None:
            return
        there = free_bytes()
        budget = min(budget, there) // 2
        context.log(f"{lacking(there)}; ranges of {budget:,} bytes are built one after the other")
    counts = _counted(edges)
    # Arcs of a range come as edges of their own.
    per_arc = DEVICE_BYTES_PER_ARC + 2 * edges.dtype.itemsize
    ranges = _spooled(context, edges, counts[2:], budget, per_arc, DEVICE_BYTES_PER_ROW)
    for first, last, blocks in ranges:
        rows = _range_on_device(edges, counts, first, last, blocks(), keep_duplicates)
        if rows is not None:
            _download(rows, output)
        else:
            context.log(f"{lacking(free_bytes())}; rows {first:,} to {last:,} are built on the CPU")
            _range_on_host(edges, output, keep_duplicates, counts[first : last + 2].copy(), first, blocks())
        del rows
        # The next range has other sizes.
        give_free_blocks_back()


def _range_on_device(
    edges: EdgeParts,
    counts: NDArray[numpy.int64],
    first: int,
    last: int,
    blocks: Blocks,
    keep_duplicates: bool,
) -> Any:
    """Build the rows of a range; None where the device has no room for them."""
    from gravel.kernels.csr import build

    try:
        pair = _upload(blocks, int(counts[2 + first : 2 + last].sum()), edges.dtype)
        return build(
            *pair,
            edges.vertices,
            direction="as_given",
            keep_loops=True,
            first_vertex=first,
            last_vertex=last,
            keep_duplicates=keep_duplicates,
        )
    except Exception as error:
        if not is_out_of_memory(error):
            raise
    return None


def _whole_on_device(edges: EdgeParts, keep_duplicates: bool) -> Any:
    """Build all rows at once; None where the device has less room than was planned with."""
    from gravel.kernels.csr import build

    try:
        pair = edges.on_device() or _upload(edges.parts(1), edges.count, edges.dtype)
        return build(*pair, edges.vertices, **edges.options, keep_duplicates=keep_duplicates)
    except Exception as error:
        if not is_out_of_memory(error):
            raise
    return None


def device_bytes(vertices: int, edges: int, arcs: int, width: int) -> int:
    """Count what building all rows at once takes on the device: both ends of each edge, arcs and rows."""
    return 2 * width * edges + DEVICE_BYTES_PER_ARC * arcs + DEVICE_BYTES_PER_ROW * vertices


def _least_device_bytes(vertices: int, edges: int, width: int) -> int:
    """Count what a device has to have so that not the CPU builds the rows, in ranges."""
    return device_bytes(vertices, edges, 2 * edges, width) // FEWEST_SHARES


def _upload(parts: Iterator[tuple[NDArray[Any], NDArray[Any]]], count: int, dtype: Any) -> tuple[Any, Any]:
    import cupy

    source, target = cupy.empty(count, dtype), cupy.empty(count, dtype)
    at = 0
    for one, other in parts:
        source[at : at + len(one)].set(one)
        target[at : at + len(one)].set(other)
        at += len(one)
    return source, target


def _download(rows: Any, output: _Output) -> None:
    """Bring rows to the host in pieces, so that the host never holds them whole."""
    import cupy
    import numpy

    step = PART_BYTES // rows.column_indices.dtype.itemsize
    offsets = cupy.asnumpy(rows.row_offsets)
    columns = rows.column_indices
    output.add(offsets, columns[:0].get(), rows.loop_count)
    for first in range(0, len(columns), step):
        output.add(numpy.zeros(1, numpy.int64), cupy.asnumpy(columns[first : first + step]), 0)


def _spooled(
    context: Context,
    edges: EdgeParts,
    degrees: NDArray[numpy.int64],
    budget: int,
    bytes_per_arc: int,
    bytes_per_row: int,
) -> Iterator[tuple[int, int, Callable[[], Blocks]]]:
    """Deal the arcs to files by ranges that fit, and yield first and last vertex and what reads each."""
    import numpy

    from gravel.kernels.csr.split import split
    from gravel.stages.edge_parts import Spool, plan_ranges

    bounds = plan_ranges(degrees, budget=budget, bytes_per_arc=bytes_per_arc, bytes_per_row=bytes_per_row)
    context.log(
        f"{len(bounds) - 1} source ranges, since the arcs do not fit in memory at once; "
        f"{int(degrees.sum()) * 2 * edges.dtype.itemsize:,} bytes go to scratch files"
    )
    with closing(Spool(context.scratch, len(bounds) - 1, edges.dtype)) as spool:
        for source, target in edges.parts(1):
            spool.add(*split(source, target, numpy.array(bounds), **edges.options))
        for index, (first, last) in enumerate(pairwise(bounds)):
            yield first, last, partial(spool.blocks, index)
            spool.remove(index)
            edges.tell(2, last, edges.vertices)


def _estimate(
    parameters: SymmetrizeParameters, inputs: Mapping[str, tuple[Extent, ...]], machine: Machine
) -> Need:
    """State the offsets and columns, or less where ranges have to do.

    Both arcs of each edge are assumed, since an undirected list makes them in every direction.
    """
    edges = inputs["input"][0]
    n, arcs = edges.vertices, 2 * edges.arcs
    width = 4 if n < 1 << 32 else 8
    offsets, columns = 8 * (n + 2), width * arcs
    whole = COMPILED + offsets + columns + publishing_bytes(offsets, columns)
    on_device, on_host = 0, whole
    if WORKING_BYTES + offsets + columns > machine.host_memory:
        on_host = max(WORKING_BYTES + offsets + (offsets + columns) // FEWEST_SHARES, machine.host_memory)
    note, least = "", _least_device_bytes(n, edges.arcs, width)
    if machine.backend == "cuda" and least > machine.device_memory:
        note = f"on the CPU: {refusal('building rows', least, machine.device_memory)}"
    elif machine.backend == "cuda":
        on_device = min(device_bytes(n, edges.arcs, arcs, width), machine.device_memory)
        on_host = WORKING_BYTES + offsets + 8 * n
    weights = 0
    if parameters.weights != "leave_out":
        from gravel.stages.weights import weighted_bytes

        weights = 4 * arcs
        on_host, on_device, note = COMPILED + weighted_bytes(n, edges.arcs), 0, ""
    return Need(
        host_bytes=on_host,
        device_bytes=on_device,
        note=note,
        outputs=(
            Extent(
                kind="Graph",
                vertices=n,
                arcs=arcs,
                bytes=8 * (n + 1) + columns + weights,
                directed=parameters.direction != "both",
                weighted=parameters.weights != "leave_out",
            ),
        ),
    )


STAGE = Stage(
    name="symmetrize",
    version=2,
    about="Builds sorted adjacency lists; removes or keeps duplicates and self-loops.",
    parameters=SymmetrizeParameters,
    inputs={"input": Slot(kinds=("EdgeList",), about="the edges")},
    outputs=("Graph",),
    run=symmetrize,
    estimate=_estimate,
    cuda=True,
)
