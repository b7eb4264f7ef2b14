"""probe: parts of a breadth-first search alone, level by level, over the frontiers that a search has."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

from pydantic import Field, field_validator, model_validator

from gravel.kernels.probes import COUPLED, GATHERS, LOOKUPS
from gravel.stages.artifacts import Graph
from gravel.stages.stage import CannotRun, Extent, Machine, Need, Parameters, Slot, Stage
from gravel.stages.traversal.device_need import search_bytes
from gravel.stages.traversal.need import COMPILED_BFS
from gravel.stages.traversal.strategy import checked_strategy, strategy_names, without_cpu_code
from gravel.stages.traverse import RandomSources

if TYPE_CHECKING:
    from gravel.stages.artifacts import Probe
    from gravel.stages.context import Context

COMPILED_PROBES = 12 << 20
"""Measured: what Numba takes to compile the twins beside a search."""

METHODS: dict[str, tuple[str, ...]] = {
    "gather": tuple(GATHERS),
    "lookup": tuple(LOOKUPS),
    "gather_and_lookup": COUPLED,
    "levels": (),
}
"""What `methods` can name, by what is measured."""


class ProbeParameters(Parameters):
    """Which parts to run, from which sources and how often."""

    measure: Literal["gather", "lookup", "gather_and_lookup", "levels"] = "gather"
    """`gather` reads neighbours. `lookup` looks up the status of an edge frontier. `gather_and_lookup` runs
    the gather by scan, warp and block with the look-ups in `methods`, in separate kernels and in one.
    `levels` only counts the vertices and arcs of each level."""
    methods: tuple[str, ...] = ()
    """Gathers (serial, warp, scan, scan_warp_cta) or look-ups (bitmask, label, warp_culling, history_culling,
    atomic). The default is all of them, and `label` for `gather_and_lookup`."""
    schedules: tuple[Literal["oversubscribed", "stealing"], ...] = Field(("oversubscribed",), min_length=1)
    """How blocks get tiles of rows: one block for each tile, or resident blocks that steal the next one."""
    strategy: str = Field(default="auto", json_schema_extra={"enum": [*strategy_names("bfs")]})
    """The strategy that finds the levels. It is not measured, and all strategies find the same levels."""
    sources: RandomSources = RandomSources(random=4)
    """`{random: k, seed: s}`: the searches whose levels are used."""
    repeats: int = Field(default=5, ge=1)
    """Sweeps over all levels of a search; the median of each level is reported."""
    block: int = Field(default=256, ge=32, le=1024, multiple_of=32)
    """Threads of a block."""

    @field_validator("strategy")
    @classmethod
    def _is_known(cls, strategy: str) -> str:
        return checked_strategy("bfs", strategy)

    @model_validator(mode="after")
    def _fit_together(self) -> ProbeParameters:
        known = METHODS[self.measure]
        for name in self.methods:
            if name not in known:
                told = f"it can be {', '.join(known)}" if known else "it runs nothing that has a name"
                raise ValueError(f"{self.measure} has no method {name!r}; {told}")
        for names in (self.methods, self.schedules):
            if len(set(names)) < len(names):
                raise ValueError(f"{', '.join(names)} lists a value twice")
        return self

    def chosen(self) -> tuple[str, ...]:
        """Return the methods to run."""
        return self.methods or (("label",) if self.measure == "gather_and_lookup" else METHODS[self.measure])


def probe(context: Context, parameters: ProbeParameters, *, input: Graph) -> Probe:  # noqa: A002
    """Search from each source, then run the parts over the levels of that search.

    Every gather must read every neighbour. Every look-up must give the distances of the search, except for
    the one that uses only bits. Raises `VerificationFailed` otherwise.
    """
    from gravel.kernels.threads import set_threads
    from gravel.stages.probing import probe_all
    from gravel.stages.traversal.opening import draw_sources, read_graph

    set_threads(context.machine.threads)
    graph = read_graph(input, context.machine)
    asked = parameters.sources
    sources = draw_sources(graph.first_offsets, asked.random, asked.seed)
    return probe_all(context, parameters, graph, sources)


def _estimate(
    parameters: ProbeParameters, inputs: Mapping[str, tuple[Extent, ...]], machine: Machine
) -> Need:
    graph = inputs["input"][0]
    n, m = graph.vertices, graph.arcs
    width = 4 if n < 1 << 32 else 8
    csr = 8 * n + width * m
    # Distances of the search, the levels' vertices and ranges, labels, stamps and a copy of either.
    levels = (4 + 8 + 16 + 4 + 4) * n
    outputs = (Extent(kind="Probe", bytes=0),)
    if machine.backend == "cuda":
        # Ranges and places of the rows, labels and bits with their starts, stamps; the edge frontiers.
        device = csr + (16 + 8 + 4 + 4 + 4 + 1) * n + width * m
        device += search_bytes(parameters.strategy, n, m, width=width, labels=4, tree=False)
        return Need(COMPILED_BFS + COMPILED_PROBES + csr + levels, device, outputs)
    # The levels of a search go when those of the next one are there.
    frontiers = 2 * width * m
    search = (2 * width + 4 + 4 + 1) * n
    return Need(COMPILED_BFS + COMPILED_PROBES + csr + search + 2 * levels + frontiers, 0, outputs)


def _cannot_run(parameters: ProbeParameters, backend: str) -> CannotRun | None:
    return without_cpu_code("bfs", parameters.strategy) if backend == "cpu" else None


STAGE = Stage(
    name="probe",
    version=2,
    about="Times gathering and status look-up separately over the levels of searches, as microbenchmarks.",
    parameters=ProbeParameters,
    inputs={"input": Slot(kinds=("Graph", "Ordering"), about="the graph to search")},
    outputs=("Probe",),
    run=probe,
    estimate=_estimate,
    measures=True,
    cuda=True,
    cannot_run=_cannot_run,
    hidden=frozenset({"strategy"}),
)
