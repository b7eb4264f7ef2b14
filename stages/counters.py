"""counters: what hardware counters say of searches, beside the bytes that are counted from their rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from pydantic import ByteSize, Field, model_validator

from gravel.stages.stage import CannotRun, Extent, Machine, Need, Parameters, Slot, Stage
from gravel.stages.traversal.need import estimate
from gravel.stages.traversal.spread import batched
from gravel.stages.traversal.strategy import strategy_names, tuning_faults, without_cpu_code
from gravel.stages.traverse import RandomSources, TraverseParameters

if TYPE_CHECKING:
    from gravel.stages.artifacts import CompressedGraph, Counters, Graph
    from gravel.stages.context import Context

CHILD_HOST = 700 << 20
"""Of the process that searches under the tool: CUDA's context, compiler and the tool's own buffers."""

CHILD_DEVICE = 600 << 20
"""Of its context on the device, the tool's buffers included."""


class CountersParameters(Parameters):
    """How to search, and how long the tool may take."""

    strategy: str = Field(default="auto", json_schema_extra={"enum": [*strategy_names("bfs")]})
    """The strategy, as in `traverse`; one that searches many sources at once is refused."""
    tuning: dict[str, bool | int | float | str] = Field(default_factory=dict)
    """Constants of the strategy by name."""
    sources: RandomSources = RandomSources(random=1)
    """`{random: k, seed: s}`: the searches. The tool runs every kernel once for each of its passes."""
    output: Literal["both", "distance", "predecessor"] = "both"
    """The labels of each vertex."""
    placement: Literal["auto", "device", "split", "pinned"] = "auto"
    """Where rows are kept, as in `traverse`."""
    device_memory: ByteSize | None = Field(default=None, gt=0)
    """The most GPU memory that a search may take, such as `5.8GB`."""
    tool: Literal["auto", "ncu", "none"] = "auto"
    """`ncu` (Nsight Compute) reads the counters, and fails if it cannot. `auto` then shows counted bytes.
    `none` uses no tool."""
    seconds: float = Field(default=120.0, gt=0, le=86400)
    """The most time for the tool; after that, bytes are counted."""

    @model_validator(mode="after")
    def _fit_together(self) -> CountersParameters:
        if batched(self.searched()):
            raise ValueError(f"strategy {self.strategy} searches many sources at once; counters are of one")
        return self

    def searched(self) -> TraverseParameters:
        """Return the same search as parameters of `traverse`."""
        shared = {
            name: getattr(self, name) for name in ("strategy", "tuning", "sources", "output", "placement")
        }
        limit = {} if self.device_memory is None else {"device_memory": self.device_memory}
        return TraverseParameters(**shared, **limit)


def counters(
    context: Context,
    parameters: CountersParameters,
    *,
    input: Graph | CompressedGraph,  # noqa: A002
) -> Counters:
    """Search from each source, then once more in a separate process under `ncu`, which reads the counters.

    Times are those of the first search, without the tool. The search under the tool must find the same
    distances. On the CPU, the artifact has only what is counted from the rows. The same holds if the tool is
    missing, is refused or takes too long, and the artifact says why.

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
    return replace(need, host_bytes=host, outputs=outputs, gang=0, gang_least=0, each_host_bytes=0)


def _cannot_run(parameters: CountersParameters, backend: str) -> CannotRun | None:
    return without_cpu_code("bfs", parameters.strategy) if backend == "cpu" else None


STAGE = Stage(
    name="counters",
    version=1,
    about="Reads hardware counters of searches with ncu: DRAM bytes, instructions, L2 hits, link bytes.",
    parameters=CountersParameters,
    inputs={
        "input": Slot(kinds=("Graph", "Ordering", "CompressedGraph"), about="the graph that is searched"),
    },
    outputs=("Counters",),
    run=counters,
    estimate=_estimate,
    measures=True,
    cuda=True,
    cannot_run=_cannot_run,
    faults=tuning_faults,
)
