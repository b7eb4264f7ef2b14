"""Checks on a GPU: as many searches at a time as fit, in one pass over the rows for all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gravel.kernels.arrays import on_host
from gravel.kernels.placement.device_copies import where_it_is
from gravel.stages.traversal.parameters import OF_ALL_VERTICES
from gravel.stages.verifying.checks import verified_components, verified_searches
from gravel.stages.verifying.need import Checked, too_large

if TYPE_CHECKING:
    from gravel.kernels.verify.cuda.memory import Batch
    from gravel.stages.artifacts import Graph, Traversal, Verification
    from gravel.stages.context import Context

ON = "cuda"


class DoesNotFit(Exception):
    """The device has too little memory; the message says so with the numbers."""


def verify_on_device(context: Context, graph: Graph, traversal: Traversal) -> Verification:
    """Check a traversal as `verify_on_host` does; raises DoesNotFit, too.

    No more memory is taken than was stated, and no more than is free now. Where it runs out all the same,
    since another program took it meanwhile, the checks begin again with half as much.
    """
    from gravel.kernels.cuda.room import free_bytes, give_free_blocks_back

    checked = checked_of(graph, traversal)
    stated = checked.planned(context.machine.device_memory)
    if stated is None:
        raise DoesNotFit(too_large(checked, context.machine.device_memory))
    room = min(stated.device_bytes, free_bytes())
    while True:
        batch = _planned(graph, traversal, room)
        if batch is None:
            raise DoesNotFit(too_large(checked, room))
        try:
            return _verify(context, graph, traversal, batch)
        except MemoryError as error:
            context.log(f"GPU memory ran out ({error}); verifying again with half of {room:,} bytes")
        give_free_blocks_back()
        room = min(batch.device_bytes // 2, free_bytes())


def checked_of(graph: Graph, traversal: Traversal) -> Checked:
    """Say how large what is to be checked is."""
    n = graph.vertex_count
    searches = 0 if traversal.algorithm in OF_ALL_VERTICES else len(_sources(traversal))
    labels = (traversal.component,) if not searches else (traversal.distance, traversal.predecessor)
    each = sum(array.dtype.itemsize for array in labels if array is not None)
    weighted = traversal.algorithm == "shortest_paths"
    strong = traversal.algorithm == "strong_components"
    return Checked(n, graph.arc_count, searches, each, graph.symmetric, weighted, strong)


def _sources(traversal: Traversal) -> list[int]:
    return [int(source) for source in on_host(traversal.sources)]


def _planned(graph: Graph, traversal: Traversal, room: int) -> Batch | None:
    from gravel.kernels.verify.cuda.memory import (
        graph_size,
        label_size,
        plan_components,
        plan_paths,
        plan_searches,
        plan_strong_components,
    )

    size = graph_size(where_it_is(graph.row_offsets), where_it_is(graph.column_indices))
    if traversal.component is not None and traversal.algorithm in OF_ALL_VERTICES:
        plan = plan_components if traversal.algorithm == "components" else plan_strong_components
        return plan(size, traversal.component.dtype.itemsize, room)
    labels = label_size(len(_sources(traversal)), traversal.distance, traversal.predecessor)
    if traversal.algorithm == "shortest_paths":
        return plan_paths(size, labels, room)
    return plan_searches(size, labels, graph.symmetric, room)


def _verify(context: Context, graph: Graph, traversal: Traversal, batch: Batch) -> Verification:
    from gravel.kernels.verify.cuda.bfs import check_searches
    from gravel.kernels.verify.cuda.components import check_components, check_parts
    from gravel.kernels.verify.cuda.resources import Resources

    arrays: tuple[Any, Any] = (where_it_is(graph.row_offsets), where_it_is(graph.column_indices))
    resources = Resources(batch.device_bytes, context.machine.threads, batch=batch)
    if traversal.algorithm == "strong_components":
        from gravel.kernels.verify.cuda.strong_components import check_strong_components

        context.log("verifying strongly connected components on the GPU")
        checked = check_strong_components(*arrays, traversal.component, resources)
        return verified_components(checked, ON, algorithm=traversal.algorithm)
    parts = "" if batch.arcs is None else f", {batch.arcs:,} arcs of the graph at a time"
    if traversal.algorithm == "components":
        context.log(f"verifying components on the GPU{parts}")
        halved = graph.symmetric and graph.sorted
        if traversal.converged:
            found = check_components(*arrays, traversal.component, resources, symmetric=halved)
            return verified_components(found, ON)
        checks, whole = check_parts(*arrays, traversal.component, resources, symmetric=halved)
        return verified_components(checks, ON, whole)
    sources = _sources(traversal)
    if traversal.algorithm == "shortest_paths":
        from gravel.kernels.verify.cuda.sssp import check_paths

        context.log(f"verifying {len(sources)} searches by weights on the GPU, one at a time{parts}")
        weights, labels = where_it_is(graph.weights), (traversal.distance, traversal.predecessor)
        found_paths = check_paths(*arrays, weights, sources, *labels, resources=resources)
        return verified_searches(context, traversal, found_paths, ON)
    at_once = min(4 * batch.words, len(sources))
    context.log(f"verifying {len(sources)} searches on the GPU, {at_once} at a time{parts}")
    searches = check_searches(
        *arrays,
        sources,
        traversal.distance,
        traversal.predecessor,
        symmetric=graph.symmetric,
        max_depth=traversal.max_depth,
        is_sorted=graph.sorted,
        resources=resources,
    )
    return verified_searches(context, traversal, searches, ON)
