"""counters: hardware counters of searches, beside the bytes that are counted from their rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from gravel.stages.counting.parameters import CountersParameters
from gravel.stages.stage import CannotRun, Extent, Machine, Need, Slot, Stage
from gravel.stages.traversal.memory import estimate
from gravel.stages.traversal.strategy import tuning_faults, without_cpu_code

if TYPE_CHECKING:
    from gravel.stages.artifacts import CompressedGraph, Counters, Graph
    from gravel.stages.context import Context

CHILD_HOST = 700 << 20
"""Of the process that searches under the tool: CUDA's context, compiler and the tool's own buffers."""

CHILD_DEVICE = 600 << 20
"""Of its context on the device, the tool's buffers included."""


def counters(
    context: Context,
    parameters: CountersParameters,
    *,
    input: Graph | CompressedGraph,  # noqa: A002
) -> Counters:
    """Search from each source, and read counters of another search.

    The counters come from a second search in a separate process under `ncu`.
    Times are those of the first search. The search under `ncu` must find the same distances. On the CPU, the
    artifact has only what is counted from the rows. The same holds if the tool is missing, is refused or
    takes too long, and the artifact says why.

    Raises `StageError` if `tool: ncu` cannot read counters, and in the same cases as `traverse`.
    """
    from gravel.stages.counting import count_searches

    return count_searches(context, parameters, input)


def _estimate(
    parameters: CountersParameters, inputs: Mapping[str, tuple[Extent, ...]], machine: Machine
) -> Need:
    # The labels of the first searches are held in memory.
    need = estimate(parameters.searched().model_copy(update={"statistics": True}), inputs, machine)
    labels = sum(extent.bytes for extent in need.outputs)
    outputs = (Extent(kind="Counters", bytes=0),)
    host = need.host_bytes + labels
    if machine.backend == "cuda" and parameters.tool != "none":
        graph = inputs["input"][0]
        host += need.host_bytes + graph.bytes + CHILD_HOST
        return Need(host, need.device_bytes + CHILD_DEVICE, outputs, refusal=need.refusal)
    return replace(need, host_bytes=host, outputs=outputs, workers=0, least_workers=0, each_host_bytes=0)


def _cannot_run(parameters: CountersParameters, backend: str) -> CannotRun | None:
    return without_cpu_code("bfs", parameters.strategy) if backend == "cpu" else None


STAGE = Stage(
    name="counters",
    version=1,
    about="Reads hardware counters of searches with ncu: DRAM bytes, instructions, L2 hits, link bytes.",
    parameters=CountersParameters,
    inputs={
        "input": Slot(kinds=("Graph", "Ordering", "CompressedGraph"), about="the graph that is searched")
    },
    outputs=("Counters",),
    run=counters,
    estimate=_estimate,
    measures=True,
    cuda=True,
    cannot_run=_cannot_run,
    faults=tuning_faults,
)
