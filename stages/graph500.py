"""graph500: the Graph500 benchmark's search by its specification 2.0, each step timed by itself.

Its `Measurement` has `benchmark`: `name`, `scale`, `edge_factor`, `seed`, `input_edges` (the length of the
list), `key_seed`, `keys_asked`, `processes`, `generation_milliseconds`, `construction_milliseconds` with the
function `construction`, and `prepared_within_searches`, how many searches had their preparation in their
time. Its searches have `setup_milliseconds`, which is part of `milliseconds`, `input_edges` (those of the
list in the component) and `validate_milliseconds`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

from gravel.kernels.bfs import buffers as searches
from gravel.kernels.buffers import Table, table, total, vertex_type
from gravel.kernels.buffers import edges as both_ends
from gravel.kernels.csr import buffers
from gravel.kernels.verify.edge_list import checking
from gravel.stages.graph500_parameters import Graph500Parameters
from gravel.stages.stage import CannotRun, Extent, Machine, Need, Stage
from gravel.stages.traversal.strategy import cannot_run, tuning_faults

if TYPE_CHECKING:
    from gravel.kernels.bfs import Search
    from gravel.kernels.verify.edge_list import ListCheck
    from gravel.stages.artifacts import Measurement, Verification
    from gravel.stages.context import Context
    from gravel.stages.traversal.graph import SearchedGraph
    from gravel.stages.traversal.parameters import TraverseParameters

Result = TypeVar("Result")

COMPILED, COMPILED_CUDA = 106 << 20, 240 << 20
"""Measured: what Numba takes to compile what builds rows and what searches, and to be there at all; on a GPU
with its compiler, and parts under way."""

WARMING_EDGES = 1 << 10
"""Edges that are made and built once before the clock, so that no compilation is counted."""

BUILDER = "gravel.kernels.csr:build"


@dataclass
class Preparing:
    """Preparation of searches of one graph; it counts how often the clock of a search ran meanwhile."""

    context: Context
    graph: SearchedGraph
    parameters: TraverseParameters
    within_searches: int = 0

    def search(self) -> tuple[Search, list[str]]:
        """Prepare the graph for a search."""
        from gravel.stages.traversal.search import prepare_search

        return prepare_search(self.context, self.graph, self.parameters)


def graph500(context: Context, parameters: Graph500Parameters) -> tuple[Measurement, Verification]:
    """Generate the edge list, build the graph from it, search from 64 keys, and validate each search.

    Everything stays in memory, and neither edges nor labels are stored. Generation, construction (kernel 1),
    each search (kernel 2) and its validation are timed separately. Raises
    `VerificationFailed` at the first search that breaks a rule.
    """
    from gravel.kernels.generate import generate
    from gravel.kernels.threads import set_threads
    from gravel.kernels.verify.edge_list import BY_CONSTRUCTION
    from gravel.stages.artifacts import Measurement, Verification
    from gravel.stages.errors import StageError
    from gravel.stages.traversal.preparation import draw_sources
    from gravel.stages.traversal.search import described_search
    from gravel.stages.traversal.strategy import backend_of_search

    asked = parameters.traversal()
    machine = replace(
        context.machine,
        backend=backend_of_search(asked, context.machine),
        threads=min(context.machine.threads, parameters.threads or context.machine.threads),
    )
    set_threads(machine.threads)
    backend = machine.backend
    rmat = {"scale": parameters.scale, "edge_factor": parameters.edge_factor, "seed": parameters.seed}
    few = min(WARMING_EDGES, parameters.edge_factor << parameters.scale)
    construct(*generate("rmat", count=few, backend=backend, **rmat))
    ends, generation = clocked(backend, lambda: generate("rmat", backend=backend, **rmat))
    context.log(f"generated {len(ends[0]):,} edges in {generation:,.3f} ms")
    rows, construction = clocked(backend, lambda: construct(*ends))
    context.log(f"built {len(rows[1]):,} arcs in {construction:,.3f} ms")
    graph = in_memory(rows, machine)
    keys = draw_sources(graph.first_offsets, parameters.searches, parameters.key_seed).tolist()
    if not keys:
        raise StageError(
            f"no vertex of this graph of scale {parameters.scale} has a neighbour to search",
            hint="choose a larger scale or edge_factor, or another seed",
        )
    preparing = Preparing(context, graph, asked)
    searches, checks, search, notes = _search_all(preparing, ends, keys, parameters.setup == "each_search")
    described = described_search(machine, graph, search, asked)
    each = preparing.within_searches
    measurement = Measurement(
        **described | {"prepare_milliseconds": 0.0 if each else search.prepare_milliseconds},
        searches=searches,
        notes=notes,
        benchmark={
            "name": "graph500",
            **rmat,
            "input_edges": len(ends[0]),
            "key_seed": parameters.key_seed,
            "keys_asked": parameters.searches,
            "processes": 1,
            "generation_milliseconds": generation,
            "construction_milliseconds": construction,
            "construction": BUILDER,
            "prepared_within_searches": each,
        },
    )
    return measurement, Verification(algorithm="bfs", checks=checks, skipped=[BY_CONSTRUCTION])


def construct(source: Any, target: Any) -> tuple[Any, Any]:
    """Build sorted rows without loops and duplicates (kernel 1), which finds the number of vertices too."""
    from gravel.kernels.csr import build

    vertices = 1 + max(int(source.max()), int(target.max()))
    rows = build(source, target, vertices, direction="both")
    return rows.row_offsets, rows.column_indices


def in_memory(rows: tuple[Any, Any], machine: Machine) -> SearchedGraph:
    """Make rows that lie where they are searched ready for a strategy."""
    from gravel.stages.traversal.graph import SearchedGraph

    offsets, columns = rows
    return SearchedGraph(
        vertex_count=len(offsets) - 1,
        arc_count=len(columns),
        symmetric=True,
        backend=machine.backend,
        first_offsets=offsets.get() if machine.backend == "cuda" else offsets,
        extra_ends=None,
        permutation=None,
        row_offsets=offsets,
        columns=columns,
        partition=None,
        notes=[],
    )


def clocked(backend: str, work: Callable[[], Result]) -> tuple[Result, float]:
    """Call a function and return its result with the milliseconds until it was complete on the device."""
    synchronise(backend)
    started = time.perf_counter()
    result = work()
    synchronise(backend)
    return result, (time.perf_counter() - started) * 1e3


def synchronise(backend: str) -> None:
    """Wait for the device."""
    if backend == "cuda":
        import cupy

        cupy.cuda.Device().synchronize()


def _validated(backend: str, ends: tuple[Any, Any], key: int, predecessor: Any) -> tuple[ListCheck, float]:
    """Validate one search against the list, with the milliseconds that it took."""
    from gravel.kernels.verify.edge_list import check_with_list

    return clocked(backend, lambda: check_with_list(*ends, key, predecessor))


def _search_all(
    preparing: Preparing, ends: tuple[Any, Any], keys: list[int], each: bool
) -> tuple[list[dict[str, Any]], list[dict[str, Any]], Search, list[str]]:
    """Search from one key after another (kernel 2), and validate each; the first of all is not measured."""
    from gravel.kernels.arrays import on_host
    from gravel.kernels.cuda.wake import wake
    from gravel.kernels.verify.edge_list import check_with_list
    from gravel.stages.traversal.records import reached
    from gravel.stages.verifying.checks import count_passed, refuse_broken

    graph, backend = preparing.graph, preparing.graph.backend
    search, notes = preparing.search()
    tree = search.run(keys[0]).predecessor
    check_with_list(ends[0][:WARMING_EDGES], ends[1][:WARMING_EDGES], keys[0], tree)
    del tree
    if not each:
        del search
        search, notes = preparing.search()
    records: list[dict[str, Any]] = []
    passed: dict[str, dict[str, Any]] = {}
    for number, key in enumerate(keys):
        if backend == "cuda":
            wake()
        setup = 0.0
        if each:
            del search  # whose memory the next one takes
            search, _ = preparing.search()
            setup = search.prepare_milliseconds
            preparing.within_searches += 1
        result = search.run(key)
        validated, validation = _validated(backend, ends, key, result.predecessor)
        refuse_broken(validated.checks, f"search {number + 1} of {len(keys)}")
        count_passed(validated.checks, passed)
        records.append(
            {
                "source": key,
                "milliseconds": setup + result.milliseconds,
                "setup_milliseconds": setup,
                "map_back_milliseconds": 0.0,
                "batch": 1,
                **reached(graph, key, result, on_host(validated.levels), None),
                "input_edges": validated.edges,
                "validate_milliseconds": validation,
            }
        )
        preparing.context.progress(number + 1, len(keys), "searches")
    notes += getattr(search, "notes", [])
    if each:
        notes.append("the time of each search holds its own preparation")
    return records, list(passed.values()), search, notes


def _cannot_run(parameters: Graph500Parameters, backend: str) -> CannotRun | None:
    return cannot_run(parameters.traversal(), backend)


def _taken(parameters: Graph500Parameters, place: str) -> Table:
    """Return the table of a search with its validation, beside the edges and the rows."""
    n = 1 << parameters.scale
    edges, vertex = parameters.edge_factor * n, vertex_type(n)
    tree = 32 if n < searches.NARROW else 33
    size = searches.Size(n, 2 * edges, tree, distance=place == "device")
    state = searches.on_device if place == "device" else searches.on_host
    rows = table(place, row_offsets=("i8", n), columns=(vertex, 2 * edges))
    given = *both_ends(edges, vertex, place), *rows
    return *given, *state(parameters.strategy, size), *checking(n, edges, place)


def _estimate(
    parameters: Graph500Parameters, inputs: Mapping[str, tuple[Extent, ...]], machine: Machine
) -> Need:
    n = 1 << parameters.scale
    edges = parameters.edge_factor * n
    outputs = (Extent(kind="Measurement", bytes=0), Extent(kind="Verification", bytes=4096))
    if machine.backend == "cuda" and parameters.backend != "cpu":
        building = total(buffers.on_device(n, edges, 2 * edges, vertex_type(n)))
        # Offsets, degrees, of which keys are drawn, and levels.
        host = table("host", Numba=("u1", COMPILED_CUDA), brought=("i8", (3, n)))
        return Need(total(host, "host"), max(building, total(_taken(parameters, "device"))), outputs)
    host = *table("host", Numba=("u1", COMPILED), degrees=("i8", n)), *_taken(parameters, "host")
    return Need(total(host, "host"), 0, outputs)


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
