"""probe: parts of a breadth-first search alone, level by level, over the frontiers that a search has.

Of a `Probe`, `parts` names what was run: records of `part` ("gather", "lookup" or "coupled"), `method` and
`schedule` (None for a look-up). `searches` holds one record per source: `source` (internal index), `depth`,
and over all levels the sums `vertices`, `arcs`, `distinct` (neighbours of each level without duplicates),
`fresh` (vertices that the levels find), and by part `milliseconds` and `passed` (arcs that a look-up took for
fresh, None for a gather). `levels` has the first search level by level: the same names, with a list over
levels in the place of each number. `counted` has, by gather, what its loads of neighbours took in that
search: `bytes` in whole sectors of 32, row ranges included, and `slots`, lanes of the warps at work.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field, field_validator, model_validator

from gravel.kernels.bfs import buffers
from gravel.kernels.buffers import total
from gravel.kernels.papers.merrill2012.probes import COUPLED, GATHERS, LOOKUPS
from gravel.stages.artifacts import Graph
from gravel.stages.counters import CHILD_DEVICE, CHILD_HOST
from gravel.stages.errors import VerificationFailed
from gravel.stages.papers.merrill2012.levels import prepare_levels
from gravel.stages.stage import CannotRun, Extent, Machine, Need, Parameters, Slot, Stage
from gravel.stages.traversal.buffers import COMPILED
from gravel.stages.traversal.parameters import RandomSources, checked_strategy, strategy_names
from gravel.stages.traversal.strategy import without_cpu_code

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gravel.kernels.papers.merrill2012.probes.levels import Levels
    from gravel.kernels.papers.merrill2012.probes.timed import Probes, Timed
    from gravel.stages.artifacts import Probe
    from gravel.stages.context import Context
    from gravel.stages.traversal.graph import SearchedGraph

METHODS: dict[str, tuple[str, ...]] = {
    "gather": tuple(GATHERS),
    "lookup": tuple(LOOKUPS),
    "gather_and_lookup": COUPLED,
    "levels": (),
}
"""What `methods` can name, by what is measured."""


class ProbeParameters(Parameters):
    """Parameters: the parts to run, from which sources and how often."""

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
    tool: Literal["auto", "ncu", "none"] = "none"
    """`ncu` (Nsight Compute) reads hardware counters of gathers over the first search's levels, and fails if
    it cannot. `auto` then shows counted bytes."""
    seconds: float = Field(default=120.0, gt=0, le=86400)
    """The most time for the tool."""

    @field_validator("strategy")
    @classmethod
    def _is_known(cls, strategy: str) -> str:
        return checked_strategy("bfs", strategy)

    @model_validator(mode="after")
    def _fit_together(self) -> ProbeParameters:
        known = METHODS[self.measure]
        for name in self.methods:
            if name not in known:
                choices = f"it can be {', '.join(known)}" if known else "it runs nothing that has a name"
                raise ValueError(f"{self.measure} has no method {name!r}; {choices}")
        if self.tool != "none" and self.measure != "gather":
            raise ValueError(f"tool {self.tool} counts gathers, and {self.measure} is measured; leave it out")
        for names in (self.methods, self.schedules):
            if len(set(names)) < len(names):
                raise ValueError(f"{', '.join(names)} lists a value twice")
        return self

    def chosen(self) -> tuple[str, ...]:
        """Return the methods to run."""
        return self.methods or (("label",) if self.measure == "gather_and_lookup" else METHODS[self.measure])


COMPILED_SEARCH = COMPILED["bfs", "columns"]

COMPILED_PROBES = 12 << 20
"""Measured: what Numba takes to compile the twins beside a search."""


def probe(context: Context, parameters: ProbeParameters, *, input: Graph) -> Probe:  # noqa: A002
    """Search from each source, then run the parts over the levels of that search.

    Every gather must read every neighbour. Every look-up must give the distances of the search, except for
    the one that uses only bits. Raises `VerificationFailed` otherwise.
    """
    from gravel.kernels.threads import set_threads
    from gravel.stages.traversal.preparation import draw_sources
    from gravel.stages.traversal.search import read_graph

    set_threads(context.machine.threads)
    graph = read_graph(input, context.machine)
    asked = parameters.sources
    sources = draw_sources(graph.first_offsets, asked.random, asked.seed)
    found = probe_all(context, parameters, graph, sources)
    if parameters.tool == "none":
        return found
    from gravel.stages.papers.merrill2012.gather_counters import with_counters

    del graph
    return with_counters(
        context,
        input,
        found,
        strategy=parameters.strategy,
        seconds=parameters.seconds,
        required=parameters.tool == "ncu",
    )


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
        device += total(buffers.on_device(parameters.strategy, buffers.Size(n, m)))
        host = COMPILED_SEARCH + COMPILED_PROBES + levels
        if parameters.tool != "none":
            return Need(host + CHILD_HOST + 2 * csr + levels, device + CHILD_DEVICE, outputs)
        return Need(host, device, outputs)
    # The levels of a search go when those of the next one are there. Coupled parts gather neighbours anew.
    frontiers = (2 if parameters.measure == "gather_and_lookup" else 1) * width * m
    search = (2 * width + 4 + 4 + 1) * n
    return Need(COMPILED_SEARCH + COMPILED_PROBES + search + 2 * levels + frontiers, 0, outputs)


def _cannot_run(parameters: ProbeParameters, backend: str) -> CannotRun | None:
    return without_cpu_code("bfs", parameters.strategy) if backend == "cpu" else None


ON_CPU = "the parts were played on the CPU, thread after thread, so their times say nothing of a GPU"
COUNTED = "bytes and lanes are counted by a twin of the gathers, not measured"
SEPARATE = "scan_warp_cta"
"""The gather that a fused kernel is compared with, since it is the one inside (section 4.3)."""

Part = dict[str, Any]


def parts_of(parameters: ProbeParameters) -> list[Part]:
    """List what is to be run: records of part, method and schedule."""
    chosen, schedules = parameters.chosen(), parameters.schedules
    gathers = {"gather": chosen, "gather_and_lookup": (SEPARATE,)}.get(parameters.measure, ())
    parts: list[Part] = [
        {"part": "gather", "method": name, "schedule": schedule} for name in gathers for schedule in schedules
    ]
    if parameters.measure in ("lookup", "gather_and_lookup"):
        parts += [{"part": "lookup", "method": name, "schedule": None} for name in chosen]
    if parameters.measure == "gather_and_lookup":
        parts += [
            {"part": "coupled", "method": name, "schedule": schedule}
            for name in chosen
            for schedule in schedules
        ]
    return parts


def probe_all(
    context: Context, parameters: ProbeParameters, graph: SearchedGraph, sources: NDArray[Any]
) -> Probe:
    """Make the artifact from all sources, the first of them level by level as well."""
    from gravel.kernels.papers.merrill2012.probes import prepare
    from gravel.stages.artifacts import Probe
    from gravel.stages.traversal.records import machine_name

    parts = parts_of(parameters)
    notes = [*graph.notes, *([ON_CPU] if graph.backend == "cpu" and parts else [])]
    searches: list[dict[str, Any]] = []
    first, counted, floor = None, {}, 0.0
    search = prepare_levels(graph, parameters.strategy) if len(sources) else None
    for done, (source, start) in enumerate(zip(sources.tolist(), graph.starts(sources), strict=True)):
        assert search is not None
        levels, distance = search(start)
        probes = prepare(graph.columns, levels, graph.vertex_count, block=parameters.block)
        record = _record(probes, levels, distance, parts, parameters.repeats)
        searches.append({"source": source, "depth": levels.count - 1, **_summed(record)})
        if done == 0:
            first, floor = _plain(record), probes.floor_milliseconds
            counted = _counted(parts, levels, graph.columns.dtype, parameters.block)
        context.progress(done + 1, len(sources), "searches")
        del probes  # whose edges are as many as the next one's
    return Probe(
        measure=parameters.measure,
        backend=graph.backend,
        hardware=machine_name(context.machine, graph.backend),
        block=parameters.block,
        repeats=parameters.repeats,
        floor_milliseconds=floor,
        parts=parts,
        searches=searches,
        levels=first,
        counted=counted,
        notes=[*notes, *([COUNTED] if counted else [])],
    )


def _record(
    probes: Probes, levels: Levels, distance: NDArray[Any], parts: list[Part], repeats: int
) -> dict[str, Any]:
    """Run and check every part; each value has an entry per level, within one per part where it has those."""
    distinct, checksums = probes.distinct()
    milliseconds: list[NDArray[Any]] = []
    passed: list[NDArray[Any] | None] = []
    for part in parts:
        timed = _run(probes, part, repeats)
        if part["part"] == "gather":
            _check(part, bool((timed.counts == checksums).all()), "has not read every neighbour")
        else:
            wrong = (timed.counts < levels.fresh_counts).any()
            if part["method"] != "bitmask":
                wrong = wrong or (probes.labels() != distance).any()
            _check(part, not wrong, "has not found what the search found")
        milliseconds.append(timed.milliseconds)
        passed.append(None if part["part"] == "gather" else timed.counts)
    return {
        "vertices": levels.vertex_counts,
        "arcs": levels.arc_counts,
        "distinct": distinct,
        "fresh": levels.fresh_counts,
        "milliseconds": milliseconds,
        "passed": passed,
    }


def _run(probes: Probes, part: Part, repeats: int) -> Timed:
    if part["part"] == "gather":
        return probes.gather(part["method"], schedule=part["schedule"], repeats=repeats)
    if part["part"] == "lookup":
        return probes.look_up(part["method"], repeats=repeats)
    return probes.couple(part["method"], schedule=part["schedule"], repeats=repeats)


def _check(part: Part, sound: bool, fault: str) -> None:
    if not sound:
        name = " ".join(each for each in part.values() if each is not None)
        raise VerificationFailed(
            f"the part {name} {fault}", hint="its kernel is wrong, so its times are invalid"
        )


def _plain(record: dict[str, Any]) -> dict[str, Any]:
    def plain(value: Any) -> Any:
        if isinstance(value, list):
            return [plain(each) for each in value]
        return None if value is None else value.tolist()

    return {name: plain(value) for name, value in record.items()}


def _summed(record: dict[str, Any]) -> dict[str, Any]:
    def total(value: Any) -> Any:
        if isinstance(value, list):
            return [total(each) for each in value]
        return None if value is None else value.sum().item()

    return {name: total(value) for name, value in record.items()}


def _counted(parts: list[Part], levels: Levels, dtype: Any, block: int) -> dict[str, dict[str, int]]:
    """Count what each gather among the parts loads, in bytes and lanes, over all levels."""
    import numpy

    from gravel.kernels.bfs.cuda.parts import GATHERS, LISTED
    from gravel.kernels.papers.merrill2012.probes.gather_cpu import SECTORS, SLOTS, gather_level, sector_arcs

    names = dict.fromkeys(part["method"] for part in parts if part["part"] == "gather")
    counted = {}
    begin = levels.vertex_begin.tolist()
    for name in names:
        counts = numpy.zeros(4, numpy.uint64)
        for low, high in itertools.pairwise(begin):
            gather_level(
                levels.ranges[low:high],
                numpy.empty(0, dtype),
                GATHERS[name],
                block,
                LISTED * block,
                sector_arcs(dtype),
                counts,
            )
        counted[name] = {
            "bytes": 32 * int(counts[SECTORS]) + levels.ranges.nbytes,
            "slots": int(counts[SLOTS]),
        }
    return counted


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
