"""symmetrize: an edge list into sorted adjacency lists, in bounded memory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from gravel.kernels.buffers import Table, exact, table, total, vertex_type
from gravel.kernels.csr import buffers
from gravel.stages.artifacts import EdgeList, Graph
from gravel.stages.context import Context
from gravel.stages.errors import StageError
from gravel.stages.rows.ranges import refusal
from gravel.stages.sizes import PUBLISHING_BYTES, published
from gravel.stages.stage import Extent, Machine, Need, Parameters, Slot, Stage
from gravel.stages.symmetrizing.edge_parts import PART_BYTES, EdgeParts, Output

COMPILED = table("host", Numba=("u1", 66 << 20))
"""Measured: what Numba takes to compile what builds rows, and to be there at all."""

PARTS: Table = (*COMPILED, *table("host", parts=("u1", (4, PART_BYTES)), published=("u1", PUBLISHING_BYTES)))
"""Host memory beside offsets and columns, however many there are: both ends of the arcs of a part, which are
assigned to source ranges and read again, and what is written."""

WORKING_BYTES = exact(PARTS)

FEWEST_SHARES = 64
"""The arcs are cut into at most about so many ranges before a machine is called too small."""


class SymmetrizeParameters(Parameters):
    """Parameters: the arcs that an edge makes, and those that are kept."""

    direction: Literal["both", "as_given", "reverse"] = "both"
    """`both` makes two arcs of each edge. For directed searches, `as_given` (source to target) and `reverse`
    make one. A list that is declared undirected always makes both."""

    duplicates: Literal["remove", "keep"] = "remove"
    """Arcs that occur more than once."""

    self_loops: Literal["remove", "keep"] = "remove"
    """Arcs from a vertex to itself; a kept loop is one arc."""

    weights: Literal["leave_out", "minimum", "sum", "error"] = "leave_out"
    """Keep the weights of the edges for shortest paths. An arc that occurs more than once gets the
    `minimum` or the `sum` of its weights, or is an `error` if they differ. Integers are stored as such, other
    weights as float32. With `duplicates: keep` each arc keeps its own weight."""


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
    from gravel.stages.symmetrizing.building import on_device, on_host

    set_threads(context.machine.threads)
    if input.ends_unordered and not input.undirected and parameters.direction != "both":
        raise StageError(
            f"`direction: {parameters.direction}` needs the source of each edge, and the columns tail and "
            "head do not say which of them it is",
            hint="name it where the file is read: `columns: {source: tail, target: head}`, or turned round",
        )
    if parameters.weights != "leave_out":
        from gravel.stages.weights import weighted_graph

        return weighted_graph(
            context,
            input,
            direction="both" if input.undirected else parameters.direction,
            duplicates="keep" if parameters.duplicates == "keep" else parameters.weights,
            keep_loops=parameters.self_loops == "keep",
        )
    edges = EdgeParts(
        context,
        input,
        direction="both" if input.undirected else parameters.direction,
        keep_loops=parameters.self_loops == "keep",
    )
    keep_duplicates = parameters.duplicates == "keep"
    output = Output(context, edges.dtype)
    machine = context.machine
    least = _least_device_bytes(edges.vertices, edges.count)
    on_gpu = machine.backend == "cuda"
    if on_gpu and least > machine.device_memory:
        context.remark(f"built on the CPU: {refusal('building rows', least, machine.device_memory)}")
        on_gpu = False
    try:
        if on_gpu:
            on_device(context, edges, output, keep_duplicates)
        else:
            on_host(context, edges, output, keep_duplicates, machine.host_memory - WORKING_BYTES)
    except ValueError as error:
        raise StageError(str(error)) from None
    edges.tell(3, 0, 1)
    return output.close(edges, keep_duplicates)


def device_bytes(vertices: int, edges: int, arcs: int, width: int) -> int:
    """Count what building all rows at once takes on the device; `width` are bytes of a vertex."""
    return total(buffers.on_device(vertices, edges, arcs, f"u{width}"))


def _least_device_bytes(vertices: int, edges: int) -> int:
    """Count what a device has to have so that not the CPU builds the rows, in ranges."""
    return total(buffers.on_device(vertices, edges, 2 * edges, vertex_type(vertices))) // FEWEST_SHARES


def _estimate(
    parameters: SymmetrizeParameters, inputs: Mapping[str, tuple[Extent, ...]], machine: Machine
) -> Need:
    """State the offsets and columns, or less where ranges have to do.

    Both arcs of each edge are assumed, since an undirected list makes them in every direction.
    """
    edges = inputs["input"][0]
    n, arcs, weighted = edges.vertices, 2 * edges.arcs, parameters.weights != "leave_out"
    rows = buffers.on_host(n, arcs, vertex_type(n))
    made = Extent(
        kind="Graph",
        vertices=n,
        arcs=arcs,
        bytes=8 * (n + 1) + rows[1].nbytes + (4 * arcs if weighted else 0),
        directed=parameters.direction != "both",
        weighted=weighted,
    )
    if weighted:
        taken = *COMPILED, *buffers.weighted_edges(edges.arcs), *buffers.weighted(n, arcs)
        return Need(total(taken, "host"), 0, (made,))
    least, note = _least_device_bytes(n, edges.arcs), ""
    if machine.backend == "cuda" and least <= machine.device_memory:
        whole = total(buffers.on_device(n, edges.arcs, arcs, vertex_type(n)))
        host = *PARTS, buffers.ends(n), *table("host", row_offsets=("i8", n))
        return Need(total(host, "host"), min(whole, machine.device_memory), (made,))
    if machine.backend == "cuda":
        note = f"on the CPU: {refusal('building rows', least, machine.device_memory)}"
    if total((*PARTS, *rows), "host") <= machine.host_memory:
        return Need(total((*COMPILED, *rows, *published(*rows)), "host"), 0, (made,), note=note)
    share = *PARTS, rows[0], *table("host", share=("u1", exact(rows) // FEWEST_SHARES))
    return Need(max(total(share, "host"), machine.host_memory), 0, (made,), note=note)


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
