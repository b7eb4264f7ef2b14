"""verify: a traversal checked from the graph alone, by code that no traversal uses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from gravel.stages.artifacts import DistributedGraph, Graph, Traversal, Verification
from gravel.stages.stage import Extent, Machine, Need, Parameters, Slot, Stage

if TYPE_CHECKING:
    from gravel.kernels.verify import Check
    from gravel.stages.context import Context


COMPILED = 44 << 20
"""Measured: what Numba takes to compile the checks, and to be there at all."""


class VerifyParameters(Parameters):
    """Nothing to choose: every check that the result allows is made."""


def verify(
    context: Context, parameters: VerifyParameters, *, graph: Graph | DistributedGraph, traversal: Traversal
) -> Verification:
    """Check every search, or the components, against the graph that `symmetrize` made.

    The checks run on all threads of the CPU, on machines with a GPU too. One search is in memory at a time.
    Components that a traversal says it left in parts are checked not to be merged, and counted.
    Results of a distributed graph are checked by its ranks, each of which looks at its own arcs.
    Raises `VerificationFailed` at the first result that breaks a rule, with the offending vertices, and
    `StageError` when the traversal is not of this graph.
    """
    from gravel.kernels.jit import set_threads
    from gravel.stages.errors import StageError

    set_threads(context.machine.threads)
    distributed = isinstance(graph, DistributedGraph)
    if context.machine.backend == "cuda" and not distributed:
        context.log("verification runs on the CPU, on all threads")
    if traversal.vertex_count != graph.vertex_count:
        raise StageError(
            f"the traversal has {traversal.vertex_count} vertices and the graph {graph.vertex_count}",
            hint="give verify the graph that symmetrize or distribute made, from which the traversal comes",
        )
    try:
        if isinstance(graph, DistributedGraph):
            return _verify_over_ranks(context, graph, traversal)
        if traversal.algorithm == "components":
            return _verify_components(graph, traversal)
        return _verify_searches(context, graph, traversal)
    except ValueError as error:
        raise StageError(str(error), hint="the traversal does not belong to this graph") from None


def _verify_searches(context: Context, graph: Graph, traversal: Traversal) -> Verification:
    import numpy

    from gravel.kernels.row_blocks import row_blocks
    from gravel.kernels.verify import check_bfs, skipped_checks

    if traversal.sources is None:
        raise ValueError("the traversal does not say its sources")
    row_offsets, columns = numpy.asarray(graph.row_offsets), numpy.asarray(graph.column_indices)
    blocks = row_blocks(row_offsets)
    sources = numpy.asarray(traversal.sources)
    records: dict[str, dict[str, Any]] = {}
    for search, source in enumerate(sources.tolist()):
        checks = check_bfs(
            row_offsets,
            columns,
            source,
            None if traversal.distance is None else traversal.distance[search],
            None if traversal.predecessor is None else traversal.predecessor[search],
            symmetric=graph.symmetric,
            max_depth=traversal.max_depth,
            is_sorted=graph.sorted,
            blocks=blocks,
        )
        refuse_broken(checks, f"search {search + 1} of {len(sources)}")
        count_passed(checks, records)
        context.progress(search + 1, len(sources), "searches")
    skipped = skipped_checks(
        distance=traversal.distance is not None, predecessor=traversal.predecessor is not None
    )
    return Verification(algorithm="bfs", checks=list(records.values()), skipped=skipped)


def _verify_over_ranks(context: Context, graph: DistributedGraph, traversal: Traversal) -> Verification:
    from gravel.kernels.verify import skipped_checks
    from gravel.stages.searching.checked import checks_over_ranks

    if traversal.algorithm == "components":
        from gravel.stages.searching.distributed_components import checks_of_components

        return _verified_components(checks_of_components(context, graph, traversal))
    if traversal.sources is None:
        raise ValueError("the traversal does not say its sources")
    kept = traversal.checks is not None
    total = len(traversal.sources)
    records: dict[str, dict[str, Any]] = {}
    for search, (_, checks) in enumerate(checks_over_ranks(context, graph, traversal)):
        refuse_broken(checks, f"search {search + 1} of {total}")
        count_passed(checks, records)
        context.progress(search + 1, total, "searches")
    skipped = skipped_checks(
        distance=kept or traversal.distance is not None, predecessor=kept or traversal.predecessor is not None
    )
    return Verification(algorithm="bfs", checks=list(records.values()), skipped=skipped)


def count_passed(checks: Iterable[Check], records: dict[str, dict[str, Any]]) -> None:
    """Count one search more for each check that it passed."""
    for check in checks:
        record = {"check": check.name, "passed": True, "searches": 0, "detail": check.rule}
        records.setdefault(check.name, record)["searches"] += 1


def _verify_components(graph: Graph, traversal: Traversal) -> Verification:
    import numpy

    from gravel.kernels.verify import check_components, check_parts

    if traversal.component is None:
        raise ValueError("the traversal has no component labels")
    arrays = tuple(
        numpy.asarray(each) for each in (graph.row_offsets, graph.column_indices, traversal.component)
    )
    halved = graph.symmetric and graph.sorted
    if traversal.converged:
        return _verified_components(check_components(*arrays, symmetric=halved))
    checks, whole = check_parts(*arrays, symmetric=halved)
    reason = (
        "the traversal says that it left components in parts; "
        f"{100 * whole:.6g} % of the vertices have the label of their whole component"
    )
    skipped = [{"check": "edges_agree", "reason": reason, "whole": whole}]
    return replace(_verified_components(checks), skipped=skipped)


def _verified_components(checks: Iterable[Check]) -> Verification:
    refuse_broken(checks, "the components")
    records = [{"check": check.name, "passed": True, "searches": 1, "detail": check.rule} for check in checks]
    return Verification(algorithm="components", checks=records)


def refuse_broken(checks: Iterable[Check], what: str) -> None:
    """Raise for the broken rules, most telling first, naming each offender once."""
    from gravel.stages.errors import VerificationFailed

    broken = [check for check in checks if not check.passed]
    if not broken:
        return
    told = "; ".join(
        f"{check.name} ({check.rule}) fails at {check.faults} {'vertex' if check.faults == 1 else 'vertices'}"
        for check in broken
    )
    first = broken[0]
    named = [v for arc in first.arcs for v in arc] or list(first.vertices)
    ends = "the vertices are the ends of offending arcs" if first.arcs else "the vertices break the rule"
    raise VerificationFailed(
        f"{what}: {told}",
        hint=f"{ends} of the check {first.name}; the result is wrong, or it is of another graph",
        vertices=list(dict.fromkeys(named)),
    )


def _estimate(
    parameters: VerifyParameters, inputs: Mapping[str, tuple[Extent, ...]], machine: Machine
) -> Need:
    graph = inputs["graph"][0]
    n, m = graph.vertices, graph.arcs
    outputs = (Extent(kind="Verification", vertices=n, bytes=4096),)
    if graph.kind == "DistributedGraph":
        from gravel.stages.searching.distributed_need import verifying

        return verifying(graph, inputs["traversal"][0], machine, outputs)
    width = 4 if n < 1 << 32 else 8
    predecessor = 4 if n < 1 << 31 else 8
    # A search: its distances and predecessors as read, levels or marks, and two tests. Components: labels,
    # their own union-find, the vertices' numbers, the labels' labels and two tests.
    search = n * (4 + predecessor + 4 + 2)
    components = n * (4 * width + 2)
    return Need(
        host_bytes=COMPILED + 8 * n + width * m + max(search, components),
        device_bytes=0,
        outputs=outputs,
    )


STAGE = Stage(
    name="verify",
    version=2,
    about="Makes the five Graph500 checks on every search, or checks components, from the graph alone.",
    parameters=VerifyParameters,
    inputs={
        "graph": Slot(
            kinds=("Graph", "DistributedGraph"),
            about="the graph that was searched, as symmetrize or distribute made it",
        ),
        "traversal": Slot(kinds=("Traversal",), about="the result to check"),
    },
    outputs=("Verification",),
    run=verify,
    estimate=_estimate,
)
