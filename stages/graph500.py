"""graph500: the Graph500 benchmark's search by its specification, from the generator to the validation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

from pydantic import Field, field_validator, model_validator

from gravel.stages.stage import CannotRun, Extent, Machine, Need, Parameters, Stage
from gravel.stages.symmetrize import device_bytes
from gravel.stages.traversal.device_need import search_bytes
from gravel.stages.traversal.spread import batched
from gravel.stages.traversal.strategy import cannot_run, checked_strategy, strategy_names, tuning_faults
from gravel.stages.traverse import RandomSources, TraverseParameters

if TYPE_CHECKING:
    from gravel.stages.artifacts import Measurement, Verification
    from gravel.stages.context import Context

KEYS = 64
"""Searches of a result by the rules."""

EDGE_FACTOR = 16

COMPILED = 124 << 20
"""Measured: what Numba takes to compile what builds rows and what searches, and to be there at all."""

COMPILED_CUDA = 240 << 20
"""The same of a run on a GPU, with its compiler, and parts under way."""

VALIDATED_AT_ONCE = 1 << 25
"""Edges of the list that a GPU looks up at a time: EDGES_AT_ONCE of `gravel.kernels.verify.edge_list`."""

VALIDATION_BYTES_PER_EDGE = 20
"""Levels of both ends, their difference and its size, and what is found of them."""

VALIDATION_BYTES_PER_ROW = 20
"""Predecessors in a row, levels, those of the predecessors, and marks."""


class Graph500Parameters(Parameters):
    """The size of the problem, and how to search."""

    scale: int = Field(ge=1, le=40, strict=True)
    """SCALE: logarithm of the number of vertices to base 2."""
    edge_factor: int = Field(default=EDGE_FACTOR, ge=1, strict=True)
    """Edges per vertex; the rules ask for 16."""
    seed: int = Field(default=1, ge=0)
    """The seed of the generator."""
    searches: int = Field(default=KEYS, ge=1)
    """Search keys; the rules ask for 64. Smaller graphs use all vertices with a neighbour."""
    key_seed: int = Field(default=2, ge=0)
    """The seed of the search keys."""
    setup: Literal["each_search", "once"] = "each_search"
    """When to build structures of the graph, such as first neighbours. `each_search` builds them within the
    time of every search, as the rules ask. `once` builds them before the searches."""
    strategy: str = Field(default="auto", json_schema_extra={"enum": [*strategy_names("bfs")]})
    """The name of a strategy, or `auto`."""
    tuning: dict[str, bool | int | float | str] = Field(default_factory=dict)
    """Constants of the strategy by name."""
    backend: Literal["auto", "cpu", "cuda"] = "auto"
    """Where to generate, build, search and validate."""
    threads: int | None = Field(default=None, ge=1)
    """The largest number of CPU threads; by default all that the run may use."""

    @field_validator("strategy")
    @classmethod
    def _is_known(cls, strategy: str) -> str:
        return checked_strategy("bfs", strategy)

    @model_validator(mode="after")
    def _one_at_a_time(self) -> Graph500Parameters:
        if batched(self.traversal()):
            raise ValueError(
                f"{self.strategy} searches from several keys at once, which the rules do not allow"
            )
        return self

    def traversal(self) -> TraverseParameters:
        """Return what a `traverse` stage would be asked for."""
        return TraverseParameters(
            strategy=self.strategy,
            sources=RandomSources(random=self.searches, seed=self.key_seed),
            output="predecessor",
            tuning=self.tuning,
            backend=self.backend,
            threads=self.threads,
        )


def graph500(context: Context, parameters: Graph500Parameters) -> tuple[Measurement, Verification]:
    """Generate the edge list, build the graph from it, search from 64 keys, and validate each search.

    Everything stays in memory, and neither edges nor labels are stored. Generation, construction (kernel 1),
    each search (kernel 2) and its validation are timed separately. Raises
    `VerificationFailed` at the first search that breaks a rule.
    """
    from gravel.stages.graph500_steps import run_benchmark

    return run_benchmark(context, parameters)


def _cannot_run(parameters: Graph500Parameters, backend: str) -> CannotRun | None:
    return cannot_run(parameters.traversal(), backend)


def _estimate(
    parameters: Graph500Parameters, inputs: Mapping[str, tuple[Extent, ...]], machine: Machine
) -> Need:
    n = 1 << parameters.scale
    edges = parameters.edge_factor * n
    width = 4 if n < 1 << 32 else 8
    listed = 2 * width * edges
    rows = 8 * n + 2 * width * edges
    # Labels, queue, first neighbours and bitmaps of a search; levels and marks of its validation.
    searching = (2 * width + 4 + 8 + width + 8 + 1 + 5) * n
    outputs = (Extent(kind="Measurement", bytes=0), Extent(kind="Verification", bytes=4096))
    if machine.backend == "cuda" and parameters.backend != "cpu":
        building = device_bytes(n, edges, 2 * edges, width)
        labels = 8 if width == 4 else 20
        search = search_bytes(parameters.strategy, n, 2 * edges, width=width, labels=labels, tree=True)
        validating = VALIDATION_BYTES_PER_EDGE * min(edges, VALIDATED_AT_ONCE) + VALIDATION_BYTES_PER_ROW * n
        searched = listed + rows + search + validating
        return Need(COMPILED_CUDA + 24 * n, max(building, searched), outputs)
    # Degrees, of which keys are drawn, beside.
    return Need(COMPILED + listed + rows + searching + 8 * n, 0, outputs)


STAGE = Stage(
    name="graph500",
    version=1,
    about="Runs the Graph500 benchmark in memory: generates, builds, searches from 64 keys, validates.",
    parameters=Graph500Parameters,
    inputs={},
    outputs=("Measurement", "Verification"),
    run=graph500,
    estimate=_estimate,
    measures=True,
    cuda=True,
    cannot_run=_cannot_run,
    faults=tuning_faults,
)
