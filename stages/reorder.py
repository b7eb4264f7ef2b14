"""reorder: number the vertices anew, so that what is searched together lies together."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import ByteSize, Field, ValidationInfo, field_validator

from gravel.kernels.advice.buffers import sampled
from gravel.kernels.buffers import Table, during, exact, table, total, vertex_type
from gravel.kernels.csr.buffers import on_host
from gravel.kernels.order import METHODS, buffers
from gravel.stages.advice import OrderAdviceParameters, choice_text, is_measured, recorded
from gravel.stages.artifacts import Graph, Ordering
from gravel.stages.context import Context, written
from gravel.stages.errors import StageError
from gravel.stages.ordering.placing import (
    COMMUNITY,
    RCM,
    applying_bytes,
    finding_bytes,
    place_of,
    uses_device,
)
from gravel.stages.ordering.rows import ARCS_AT_ONCE, ROWS_AT_ONCE
from gravel.stages.sizes import published
from gravel.stages.stage import Extent, Machine, Need, OneOf, Parameters, Slot, Stage
from gravel.stages.trials import trial_bytes, try_choices
from gravel.stages.weights import reordered, reordered_weights

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

    from gravel.kernels.advice.decide import Advice
    from gravel.kernels.order import OrderStatistics
    from gravel.stages.ordering.rows import NewRows

COMPILED = {
    "original": 54 << 20,
    "rcm": 84 << 20,
    "rcm_by_degree": 84 << 20,
    "community": 96 << 20,
    "community_rcm": 96 << 20,
}
"""Measured: what Numba takes to compile an order with what applies it, and to be there at all; 76 MiB for
others."""

COMPILED_REVERSES = 8 << 20
"""Measured: what it takes beside to compile what adds the reverse of every arc."""

SAMPLE_BYTES = 48 << 20
"""Of `auto`, at most: the sample in all orders and layouts."""


class ReorderParameters(Parameters):
    """Parameters that say which order."""

    method: Annotated[str, OneOf(lambda: (*METHODS, "auto"))] = Field(
        default="original",
        description=" ".join(f"`{each.name}` {each.about}." for each in METHODS.values())
        + " `auto` chooses from samples and reports why.",
    )

    advice: OrderAdviceParameters | None = Field(default=None, validate_default=True)
    """The purpose that `auto` chooses for; other orders ignore it."""

    seed: int = Field(default=0, ge=0)
    """The seed of `random`; other orders ignore it."""

    device_memory: ByteSize | None = Field(default=None, gt=0)
    """The most GPU memory for finding and applying the order, such as `5.8GB`; by default all of it. Columns
    that do not fit are read from pinned memory. What does not work this way is done on the host."""

    @field_validator("advice")
    @classmethod
    def _only_for_auto(cls, advice: OrderAdviceParameters | None, info: ValidationInfo) -> Any:
        """Fill it in where it is read, and forget it where it would only make equal recipes differ."""
        return (advice or OrderAdviceParameters()) if info.data.get("method") == "auto" else None


def reorder(context: Context, parameters: ReorderParameters, *, input: Graph) -> Ordering:  # noqa: A002
    """Renumber a graph and measure what that does to its lists.

    For a directed graph, `rcm` first adds the reverse of every arc. Memory holds the whole input and one
    range of rows of the result. On CUDA, the order is found on the device if it fits there. Columns that do
    not fit are in pinned memory. A graph on the device stays there. Times are logged but not stored, because
    equal results must have equal content; `traverse` measures them.

    Statistics are `bandwidth` (largest |u - v|), `mean_gap` (mean |u - v| over arcs) and `bits_per_arc` (with
    delta-varint). For `auto`, the result names the chosen order, and the statistics also have the `advice`.

    Raises `StageError` if row offsets and columns do not match.
    """
    import numpy

    from gravel.kernels.arrays import on_host
    from gravel.kernels.order import OrderStatistics
    from gravel.kernels.threads import set_threads
    from gravel.stages.ordering.finding import find_order
    from gravel.stages.ordering.rows import renumbered

    machine = _capped(context.machine, parameters)
    set_threads(machine.threads)
    offsets = on_host(input.row_offsets)
    if len(offsets) != input.vertex_count + 1 or int(offsets[-1]) != len(input.column_indices):
        raise StageError(
            f"the graph has {len(offsets)} row offsets and {len(input.column_indices)} columns; "
            f"{input.vertex_count + 1} offsets that end at the number of columns were expected"
        )
    advice = _advised(context, parameters, input, offsets)
    if advice is not None:
        parameters = parameters.model_copy(update={"method": advice.choice})
    started = time.perf_counter()
    permutation, columns_there, where = find_order(
        context, machine, parameters.method, parameters.seed, input, offsets
    )
    found = time.perf_counter()
    row_offsets = context.sink(numpy.int64, rows=input.vertex_count + 1)
    # Columns in memory that stay as they are need no copy.
    same = parameters.method == "original" and isinstance(input.column_indices, numpy.ndarray)
    column_indices = None if same else context.sink(input.column_indices.dtype, rows=input.arc_count)
    measured = OrderStatistics()
    made = renumbered(context, machine, parameters.method, input, offsets, permutation, columns_there)
    del columns_there
    whole: NewRows | None = None
    row_offsets.append(offsets[:1])
    for part in made:
        measured = measured.joined(part.statistics)
        if part.whole:
            whole = part
            break
        row_offsets.append(part.row_offsets[1:])
        if column_indices is not None:
            column_indices.append(part.column_indices)
        context.progress(int(part.row_offsets[-1]), input.arc_count, "arcs")
    context.log(
        f"{parameters.method}: found in {(found - started) * 1e3:.1f} ms {where}, applied, measured and "
        f"stored in {(time.perf_counter() - found) * 1e3:.1f} ms"
    )
    columns = input.column_indices if column_indices is None else column_indices.close()
    if whole is not None:
        columns = whole.column_indices
    return Ordering(
        row_offsets=row_offsets.close() if whole is None else whole.row_offsets,
        column_indices=columns,
        vertex_count=input.vertex_count,
        arc_count=input.arc_count,
        symmetric=input.symmetric,
        deduplicated=input.deduplicated,
        loop_count=input.loop_count,
        weights=reordered_weights(input, permutation),
        permutation=written(context, permutation),
        method=parameters.method,
        statistics=_described(measured) | recorded(advice),
    )


def _capped(machine: Machine, parameters: ReorderParameters) -> Machine:
    """Leave a machine as much device memory as the parameters allow."""
    if parameters.device_memory is None:
        return machine
    return replace(machine, device_memory=min(machine.device_memory, int(parameters.device_memory)))


def _advised(
    context: Context, parameters: ReorderParameters, graph: Graph, offsets: NDArray[numpy.int64]
) -> Advice | None:
    if parameters.advice is None:
        return None
    from gravel.kernels.advice.decide import advise_order
    from gravel.kernels.arrays import on_host

    advice = advise_order(
        offsets,
        on_host(graph.column_indices),
        parameters.advice.workload(),
        symmetric=graph.symmetric,
        layouts=parameters.advice.layouts(),
    )
    if parameters.advice.measure:
        advice = _measured(context, parameters, graph, advice)
    context.log(choice_text("order", advice))
    return advice


def _measured(context: Context, parameters: ReorderParameters, graph: Graph, advice: Advice) -> Advice:
    from gravel.stages.compress import packed_as
    from gravel.stages.context import PlainContext

    def ordered(order: str) -> Graph:
        if order == "original":
            return graph
        there = PlainContext(context.machine, context.scratch)
        asked = ReorderParameters(method=order, device_memory=parameters.device_memory)
        return reorder(there, asked, input=graph)

    assert parameters.advice is not None
    return try_choices(context, graph, advice, parameters.advice, ordered, packed_as, field="order")


def _described(measured: OrderStatistics) -> dict[str, float]:
    return {
        "bandwidth": measured.bandwidth,
        "mean_gap": measured.mean_gap,
        "bits_per_arc": measured.bits_per_arc,
    }


def _order_on_host(method: str, graph: Extent, machine: Machine, place: str, applying: int) -> Table:
    """Return the table of the host: an order is found in a place, and applied, a range at a time."""
    n, m = graph.vertices, graph.arcs
    vertex, found, applied = vertex_type(n), "found", "applied"
    rows = [
        *table("host", Numba=("u1", COMPILED.get(method, 76 << 20))),
        buffers.order(n, vertex, "host"),
        *published(buffers.renumbering(n)[1], buffers.new_columns(m, vertex)),
    ]
    if method != "original":
        # A range of new rows that is written, and the next one.
        rows += table("host", applied, ranges=(vertex, (2, min(m, ARCS_AT_ONCE))))
        rows += during(buffers.renumbering(n, "host", vertex), applied)
        if place == "pinned" or (applying and not uses_device(machine, n, m)):
            rows += table("host", pinned=(vertex, m))
    if method in RCM and (graph.directed or place != "device"):
        taken = buffers.rcm_by_degree_on_host if method == "rcm_by_degree" else buffers.rcm_on_host
        rows += during(taken(n, vertex), found)
        if graph.directed:
            rows += table("host", found, reverses=("u1", COMPILED_REVERSES))
            rows += during(on_host(n, 2 * m, vertex), found)
            at_once, tails = min(n, ROWS_AT_ONCE), (vertex, min(m, ARCS_AT_ONCE))
            rows += table("host", found, tails=tails, rows=(vertex, at_once), lengths=("i8", at_once))
    if method in COMMUNITY and place != "device":
        rows += during(buffers.community_on_host(n, m, vertex, pinned=place == "pinned"), found)
    return tuple(rows)


def _choosing(graph: Extent) -> Table:
    """Return what `auto` takes to choose, and a sample that the allocator may keep."""
    n, m = graph.vertices, graph.arcs
    kept = table("host", sample=("u1", min(SAMPLE_BYTES, exact(table(columns=(vertex_type(n), (2, m)))))))
    return *kept, *during(sampled(n), "sampled")


def _estimate(
    parameters: ReorderParameters, inputs: Mapping[str, tuple[Extent, ...]], machine: Machine
) -> Need:
    """State new offsets, both permutations and pinned columns; of a directed rcm rows with reverses."""
    whole, machine, graph = machine, _capped(machine, parameters), inputs["input"][0]
    n, m = graph.vertices, graph.arcs
    read = 2 * m if graph.directed else m
    methods = [*METHODS] if parameters.method == "auto" else [parameters.method]
    applying = applying_bytes(machine, n, m) if parameters.method != "original" else 0
    device = [applying, *(finding_bytes(method, machine, n, read) for method in methods)]
    width = 4 if n < 1 << 32 else 8
    tried = 0
    if parameters.advice is not None and parameters.advice.measure:
        from gravel.stages.compress import packing_need

        orders = (parameters.model_copy(update={"method": method, "advice": None}) for method in METHODS)
        needs = [_estimate(order, inputs, machine) for order in orders]
        tried, on_device = trial_bytes(graph, parameters.advice, whole, packing_need, needs)
        device.append(on_device)
    made = Extent(
        kind="Ordering",
        vertices=n,
        arcs=m,
        bytes=8 * (n + 1) + width * (n + m) + (4 * m if graph.weighted else 0),
        directed=graph.directed,
        weighted=graph.weighted,
    )
    beside = table("host", "tried", trials=("u1", tried))
    if parameters.method == "auto":
        beside += _choosing(graph)
    if graph.weighted:
        beside += during(reordered(n, m), "weights")
    places = {method: place_of(method, machine, n, read) for method in methods}
    tables = (_order_on_host(method, graph, machine, places[method], applying) for method in methods)
    host = max(total((*each, *beside), "host") for each in tables)
    return Need(host_bytes=host, device_bytes=max(device), outputs=(made,))


STAGE = Stage(
    name="reorder",
    version=3,
    about="Renumbers the vertices: by degree, by communities, by reverse Cuthill-McKee, or at random.",
    parameters=ReorderParameters,
    inputs={"input": Slot(kinds=("Graph",), about="the graph to renumber")},
    outputs=("Ordering",),
    run=reorder,
    estimate=_estimate,
    cuda=True,
    times=is_measured,
)
