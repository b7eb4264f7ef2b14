"""graph500: the Graph500 benchmark's search by its specification, from the generator to the validation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from gravel.kernels.bfs import buffers
from gravel.kernels.buffers import total
from gravel.stages.graph500_parameters import Graph500Parameters
from gravel.stages.stage import CannotRun, Extent, Machine, Need, Stage
from gravel.stages.symmetrize import device_bytes
from gravel.stages.traversal.strategy import cannot_run, tuning_faults

if TYPE_CHECKING:
    from gravel.stages.artifacts import Measurement, Verification
    from gravel.stages.context import Context

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
        tree = 32 if n < buffers.NARROW else 33
        search = total(buffers.on_device(parameters.strategy, buffers.Size(n, 2 * edges, tree)))
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
