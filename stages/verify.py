"""verify: a traversal checked from the graph alone, by code that no traversal uses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gravel.stages.artifacts import (
    Centrality,
    DistributedGraph,
    Graph,
    Partition,
    Traversal,
    Verification,
)
from gravel.stages.stage import CannotRun, Slot, Stage
from gravel.stages.traversal.parameters import OF_ALL_VERTICES
from gravel.stages.verifying.need import VerifyParameters, estimate

if TYPE_CHECKING:
    from gravel.stages.context import Context

ASKED = "`on: cuda` asks for a GPU, and this run is on the CPU"
HINT = "run it with --backend cuda on a machine that has a GPU, or leave `on` out"


def verify(
    context: Context,
    parameters: VerifyParameters,
    *,
    graph: Graph | DistributedGraph | Partition,
    traversal: Traversal | Centrality,
) -> Verification:
    """Check every search, or the components, against the graph that `symmetrize` made.

    A GPU checks up to 64 searches in one pass over the rows. The CPU checks one search at a time, on all
    threads. Both use the same rules and name the same vertices. A graph that does not fit the GPU is
    checked in parts. If that does not fit either, the CPU checks it, and `plan` and the log say so.

    If a traversal reports incomplete components, `verify` checks that none were merged, and counts the parts.
    What was searched against arcs, or both ways, is checked in the same direction.
    The ranks of a distributed graph, or of a partition, check their own arcs. Shortest paths are checked one
    at a time. For strongly connected components the GPU holds the whole graph and its rows of predecessors.
    PageRank is checked on the CPU: one more step along the arcs must change less than its tolerance. Of other
    centralities there is no check.

    Raises `VerificationFailed` at the first result that breaks a rule, with the vertices that break it.
    Raises `StageError` if the traversal is not of this graph, or for `on: cuda` without a suitable GPU.
    """
    from gravel.stages.errors import StageError
    from gravel.stages.turning import turned_on_host

    if traversal.vertex_count != graph.vertex_count:
        raise StageError(
            f"the traversal has {traversal.vertex_count} vertices and the graph {graph.vertex_count}",
            hint="give verify the graph that symmetrize or distribute made, from which the traversal comes",
        )
    if isinstance(traversal, Centrality):
        return _verify_ranks(context, parameters, graph, traversal)
    try:
        if isinstance(graph, DistributedGraph | Partition):
            return _verify_over_ranks(context, graph, traversal)
        if traversal.algorithm in OF_ALL_VERTICES and traversal.component is None:
            raise ValueError("the traversal has no component labels")
        if traversal.algorithm not in OF_ALL_VERTICES and traversal.sources is None:
            raise ValueError("the traversal does not say its sources")
        if traversal.algorithm == "shortest_paths" and (graph.weights is None or traversal.distance is None):
            raise ValueError("the graph has no weights, by which the traversal's distances were found")
        searched = turned_on_host(graph, traversal.direction)
        return _verify_graph(context, parameters, searched, traversal)
    except ValueError as error:
        raise StageError(str(error), hint="the traversal does not belong to this graph") from None


def _verify_ranks(
    context: Context,
    parameters: VerifyParameters,
    graph: Graph | DistributedGraph | Partition,
    ranks: Centrality,
) -> Verification:
    from gravel.stages.errors import StageError
    from gravel.stages.turning import turned_on_host
    from gravel.stages.verifying.host import verify_pagerank

    if ranks.convergence is None or not isinstance(graph, Graph):
        of = ranks.measure if ranks.convergence is None else "PageRank over ranks"
        raise StageError(
            f"verify has no check of {of}", hint="give it a traversal, or PageRank of a graph of symmetrize"
        )
    if parameters.on == "cuda":
        raise StageError(
            "PageRank is checked on the CPU, and `on: cuda` asks for a GPU", hint="leave `on` out"
        )
    if context.machine.backend == "cuda":
        context.log("verifying on the CPU: PageRank is checked there")
    try:
        return verify_pagerank(turned_on_host(graph, ranks.direction), ranks)
    except ValueError as error:
        raise StageError(str(error), hint="the ranks do not belong to this graph") from None


def _verify_graph(
    context: Context, parameters: VerifyParameters, graph: Graph, traversal: Traversal
) -> Verification:
    from gravel.stages.errors import StageError
    from gravel.stages.verifying.device import DoesNotFit, checked_of, verify_on_device
    from gravel.stages.verifying.host import verify_on_host

    if context.machine.backend != "cuda":
        if parameters.on == "cuda":
            raise StageError(ASKED, hint=HINT)
        return verify_on_host(context, graph, traversal)
    if parameters.on == "cpu":
        context.log("verifying on the CPU: `on: cpu` asks for it")
        return verify_on_host(context, graph, traversal)
    try:
        return verify_on_device(context, graph, traversal)
    except DoesNotFit as error:
        if parameters.on == "cuda":
            raise StageError(str(error), hint="leave `on` out to verify on the CPU") from None
        needed, there = checked_of(graph, traversal).host_bytes, context.machine.host_memory
        if needed > there:
            raise StageError(
                f"{error}; on the CPU it needs {needed:,} bytes of host memory, and there are {there:,}",
                hint="run it again when other programs have freed the GPU",
            ) from None
        context.log(f"verifying on the CPU: {error}")
    return verify_on_host(context, graph, traversal)


def _verify_over_ranks(
    context: Context, graph: DistributedGraph | Partition, traversal: Traversal
) -> Verification:
    from gravel.stages.errors import StageError
    from gravel.stages.verifying.checks import verified_components, verified_searches
    from gravel.stages.verifying.ranks import checks_over_ranks

    if isinstance(graph, Partition) and not _is_as_distributed(graph):
        raise StageError(
            "ranks check a symmetric partition by degree, without loops, duplicates and another order",
            hint="give verify the graph of symmetrize that was partitioned",
        )
    if traversal.algorithm == "components":
        from gravel.stages.verifying.ranks import checks_of_components

        return verified_components(checks_of_components(context, graph, traversal), "ranks")
    if traversal.sources is None:
        raise ValueError("the traversal does not say its sources")
    found = (checks for _, checks in checks_over_ranks(context, graph, traversal))
    return verified_searches(context, traversal, found, "ranks", kept=traversal.checks is not None)


def _is_as_distributed(graph: Partition) -> bool:
    plain = graph.symmetric and graph.deduplicated and not graph.loop_count
    return plain and graph.permutation is None and graph.scheme == "delegates"


def _cannot_run(parameters: VerifyParameters, backend: str) -> CannotRun | None:
    if parameters.on == "cuda" and backend == "cpu":
        return CannotRun(f"needs a GPU: {ASKED}", HINT)
    return None


STAGE = Stage(
    name="verify",
    version=2,
    about="Checks searches by the rules of Graph500, components or PageRank, from the graph alone.",
    parameters=VerifyParameters,
    inputs={
        "graph": Slot(
            kinds=("Graph", "DistributedGraph", "Partition"),
            about="the graph that was searched, as symmetrize or distribute made it",
        ),
        "traversal": Slot(kinds=("Traversal", "Centrality"), about="the result to check"),
    },
    outputs=("Verification",),
    run=verify,
    estimate=estimate,
    cuda=True,
    cannot_run=_cannot_run,
    # Where the checks ran is recorded, and what they say does not depend on it.
)
