"""reorder: number the vertices anew, so that what is searched together lies together."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from pydantic import ByteSize, Field, ValidationInfo, field_validator

from gravel.stages.advice import BYTES_PER_VERTEX, OrderAdviceParameters, choice_text, is_measured, recorded
from gravel.stages.artifacts import Graph, Ordering
from gravel.stages.errors import StageError
from gravel.stages.ordering.placing import (
    COMMUNITY,
    COMMUNITY_BYTES_PER_ROW,
    COMMUNITY_PINNED_WORDS_PER_ARC,
    COMMUNITY_WORDS_PER_ARC,
    ON_DEVICE,
    applying_bytes,
    order_bytes,
    place_of,
    uses_device,
)
from gravel.stages.ordering.rows import ARCS_AT_ONCE
from gravel.stages.sizes import publishing_bytes
from gravel.stages.stage import Extent, Machine, Need, Parameters, Slot, Stage
from gravel.stages.trials import trial_bytes, try_choices
from gravel.stages.weights import BYTES_PER_REORDERED_ARC, reordered_weights

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

    from gravel.kernels.advice.decide import Advice
    from gravel.kernels.order import OrderStatistics
    from gravel.stages.context import Context
    from gravel.stages.ordering.rows import NewRows

COMPILED, COMPILED_ORIGINAL, COMPILED_RCM, COMPILED_COMMUNITY = 70 << 20, 54 << 20, 80 << 20, 96 << 20
"""Measured: what Numba takes to compile an order with what applies it, and to be there at all."""

COMPILED_REVERSES = 8 << 20
"""Measured: what it takes beside to compile what adds the reverse of every arc."""

KEPT_BYTES = 32 << 20
"""Of an array that is gone: a larger one goes back to the system, and the allocator keeps this one."""

SAMPLE_BYTES = 48 << 20
"""Of `auto`, at most: the sample in all orders and layouts."""


class ReorderParameters(Parameters):
    """Parameters that say which order."""

    method: Literal[
        "original",
        "random",
        "degree",
        "hub_sort",
        "hub_cluster",
        "degree_groups",
        "rcm",
        "rcm_by_degree",
        "community",
        "community_rcm",
        "auto",
    ] = "original"
    """`original` keeps the order and `random` shuffles it. `degree` sorts by descending degree. `hub_sort`
    sorts only vertices above the mean degree, and `hub_cluster` moves these to the front unsorted.
    `degree_groups` makes eight groups of descending degree. `rcm` is reverse Cuthill-McKee, which gives
    neighbours close numbers; `rcm_by_degree` sorts its levels by degree alone. `community` keeps communities
    together at every scale, which makes gaps small. `community_rcm` orders each small community by `rcm`.
    `auto` chooses from samples and reports why."""

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
        permutation=_stored(context, permutation),
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


def _stored(context: Context, permutation: NDArray[Any]) -> Any:
    sink = context.sink(permutation.dtype)
    sink.append(permutation)
    return sink.close()


def _estimate(
    parameters: ReorderParameters, inputs: Mapping[str, tuple[Extent, ...]], machine: Machine
) -> Need:
    """State new offsets, both permutations and pinned columns; of a directed rcm rows with reverses."""
    machine = _capped(machine, parameters)
    graph = inputs["input"][0]
    n, m = graph.vertices, graph.arcs
    width = 4 if n < 1 << 32 else 8
    read = 2 * m if graph.directed else m
    methods = ON_DEVICE if parameters.method == "auto" else {parameters.method} & ON_DEVICE
    places = {place_of(method, machine, n, read) for method in methods}
    applying = applying_bytes(machine, n, m)
    pinned = width * m if not uses_device(machine, n, m) and (applying or "pinned" in places) else 0
    # A range of new rows that is written, and the next one.
    ranges = 2 * width * min(m, ARCS_AT_ONCE)
    # Degrees and their order come first, beside the permutation.
    kept = 16 * n if 8 * n <= KEPT_BYTES else 0
    host = pinned + max((16 + width) * n, (8 + 2 * width) * n + kept)
    if parameters.method == "original":
        host, applying, ranges = width * n, 0, 0
    if parameters.method in ("rcm", "rcm_by_degree", "auto") and (graph.directed or places != {"device"}):
        ordering = (2 * width + 1) * n + pinned
        if graph.directed:
            ordering = COMPILED_REVERSES + (8 + 2 * width + 1) * n + 2 * width * m
        host = max(host, ordering)
    if parameters.method in COMMUNITY:
        in_place = place_of(parameters.method, machine, n, read) != "pinned"
        words = COMMUNITY_WORDS_PER_ARC - 1 if in_place else COMMUNITY_PINNED_WORDS_PER_ARC
        host = max(host, (COMMUNITY_BYTES_PER_ROW - 8) * n + words * width * m)
    if parameters.method == "auto":
        host = max(host, BYTES_PER_VERTEX * n) + min(SAMPLE_BYTES, 2 * width * m)
    finding = max((order_bytes(method, machine, n, read) for method in methods), default=0)
    if is_measured(parameters):
        trial_host, trial_device = trial_bytes(n, m, width)
        host += trial_host
        finding = max(finding, trial_device if machine.backend == "cuda" else 0)
    weights = 4 * m if graph.weighted else 0
    host += BYTES_PER_REORDERED_ARC * m if weights else 0
    compiled = {"original": COMPILED_ORIGINAL, "rcm": COMPILED_RCM, "rcm_by_degree": COMPILED_RCM}
    compiled |= dict.fromkeys((*COMMUNITY, "auto"), COMPILED_COMMUNITY)
    host += compiled.get(parameters.method, COMPILED) + ranges + publishing_bytes(8 * n, width * m)
    return Need(
        host_bytes=host,
        device_bytes=max(finding, applying),
        outputs=(
            Extent(
                kind="Ordering",
                vertices=n,
                arcs=m,
                bytes=8 * (n + 1) + width * (n + m) + weights,
                directed=graph.directed,
                weighted=graph.weighted,
            ),
        ),
    )


STAGE = Stage(
    name="reorder",
    version=2,
    about="Renumbers the vertices: by degree, by communities, by reverse Cuthill-McKee, or at random.",
    parameters=ReorderParameters,
    inputs={"input": Slot(kinds=("Graph",), about="the graph to renumber")},
    outputs=("Ordering",),
    run=reorder,
    estimate=_estimate,
    cuda=True,
    times=is_measured,
)
