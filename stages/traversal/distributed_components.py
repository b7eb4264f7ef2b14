"""Components of a distributed graph: what each rank does, and the driver of all."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from gravel.stages.partitioning.resident import Held, Recipe, find_rank, run_gang, wire_of

if TYPE_CHECKING:
    from gravel.kernels.partition.components import RankComponents
    from gravel.kernels.verify import Check
    from gravel.stages.artifacts import DistributedGraph, Measurement, Traversal
    from gravel.stages.context import Context
    from gravel.stages.rank_group import RankContext
    from gravel.stages.traverse import TraverseParameters


PIECE = 1 << 24
"""Labels that a rank reads at once where it takes its own of all."""


@dataclass(frozen=True)
class ComponentsTask:
    """What each rank is given: how often to find components, whether to check labels and give them back."""

    recipe: Recipe
    backend: str
    threads: int
    runs: int
    barrier_seconds: float
    check: bool
    labels: bool


@dataclass(frozen=True)
class ComponentsAnswer:
    """What one rank tells; `checks` are of all ranks."""

    rank: int
    last: RankComponents  # without labels unless they are wanted
    milliseconds: tuple[float, ...]  # of each run
    named: int  # components whose smallest vertex is the rank's
    checks: tuple[Check, ...]


@dataclass(frozen=True)
class CheckTask:
    """Labels of all vertices, of which each rank takes its own."""

    recipe: Recipe
    threads: int
    component: Any


def find_as_rank(gang: RankContext, task: ComponentsTask) -> ComponentsAnswer:
    """Find components as one rank, so many times; the rank's part is found or made first."""
    from gravel.kernels.jit import set_threads

    set_threads(task.threads)
    named, held, _ = find_rank(gang, task.recipe, task.backend)
    held.kept.clear()

    def finish(found: RankComponents, times: list[float]) -> ComponentsAnswer:
        return _answer(named, held, task, found, times)

    if task.backend == "cuda":
        from gravel.stages.traversal.distributed_rank import find_on_gpu

        return find_on_gpu(named, held, task.runs, finish, barrier_seconds=task.barrier_seconds)
    return _find_on_cpu(named, held, task.runs, finish)


def _find_on_cpu(
    gang: RankContext,
    held: Held,
    runs: int,
    finish: Callable[[RankComponents, list[float]], ComponentsAnswer],
) -> ComponentsAnswer:
    from gravel.kernels.partition import components_of_rank
    from gravel.kernels.partition.components_rank import ComponentsRank

    share = held.share
    state = ComponentsRank(share.part, share.delegates, share.vertex_count, gang.size, symmetric=True)
    times = []
    for _ in range(runs):
        # Nobody begins, or starts its clock, before all have ended the run before.
        gang.barrier()
        found = components_of_rank(gang, state)
        times.append(found.milliseconds)
    # Checks need the room of what found the labels.
    del state
    return finish(found, times)


def _answer(
    gang: RankContext, held: Held, task: ComponentsTask, found: RankComponents, times: list[float]
) -> ComponentsAnswer:
    import numpy

    from gravel.kernels.placement.device_copies import on_host

    component = found.component
    named = _named(gang, component, held.backend)
    checks = _checked(gang, held, component) if task.check else []
    kept: Any = on_host(component) if task.labels else numpy.empty(0, component.dtype)
    told = replace(found, component=kept)
    return ComponentsAnswer(gang.rank, told, tuple(times), named, tuple(checks))


def _named(gang: RankContext, component: Any, backend: str) -> int:
    """Count the own vertices that are labels of themselves."""
    if backend == "cuda":
        import cupy as xp
    else:
        import numpy as xp
    kind = component.dtype.type
    vertices = xp.arange(len(component), dtype=component.dtype) * kind(gang.size) + kind(gang.rank)
    return int(xp.count_nonzero(component == vertices))


def _checked(gang: RankContext, held: Held, component: Any) -> list[Check]:
    from gravel.kernels.exchange import Endpoint, drive
    from gravel.kernels.verify.ranks.components import check_components_program

    if held.backend == "cuda":
        from gravel.kernels.verify.ranks.components_cuda import RankLabelChecker as Made
    else:
        from gravel.kernels.verify.ranks.components_cpu import RankLabelChecker as Made  # type: ignore[assignment]
    share = held.share
    checker: Any = Made(share.part, share.delegates, share.vertex_count, gang.size)
    # What one program posts must not be taken for what the next does.
    gang.barrier()
    with wire_of(gang, held.backend) as wire:
        return drive(check_components_program(Endpoint(wire), checker, component), wire)


def check_as_rank(gang: RankContext, task: CheckTask) -> list[Check]:
    """Check labels as one rank, which reads some at a time and keeps its own."""
    import numpy

    from gravel.kernels.jit import set_threads

    set_threads(task.threads)
    named, held, _ = find_rank(gang, task.recipe, None)
    held.kept.clear()
    n, p = len(task.component), named.size
    own = numpy.empty(len(range(named.rank, n, p)), task.component.dtype)
    for first in range(0, n, PIECE):
        labels = numpy.asarray(task.component[first : first + PIECE])
        mine = labels[(named.rank - first) % p :: p]
        place = (first + (named.rank - first) % p) // p
        own[place : place + len(mine)] = mine
    if held.backend == "cuda":
        import cupy

        own = cupy.asarray(own)
    return _checked(named, held, own)


def find_distributed(
    context: Context, parameters: TraverseParameters, graph: DistributedGraph
) -> tuple[Traversal, Measurement]:
    """Label the components once to warm up and some times on the clock.

    With output `checks` no labels come back: the ranks check those of the last run, and what they find is in
    the traversal. Raises `StageError` for what a distributed graph does not have, and where GPUs cannot read
    each other's memory.
    """
    from gravel.kernels.strategy import Ran
    from gravel.stages.artifacts import Measurement, Traversal
    from gravel.stages.traversal.components import RUNS
    from gravel.stages.traversal.distributed import described, refuse_elsewhere, whereabouts
    from gravel.stages.traversal.distributed_rank import ready_as_rank
    from gravel.stages.traversal.ranked_components import told_by_ranks
    from gravel.stages.traversal.records import told
    from gravel.stages.traversal.strategy import (
        backend_of_search,
        barrier_limit,
        machine_name,
        refuse_choice,
    )

    refuse_elsewhere(parameters)
    refuse_choice(parameters.strategy, parameters.tuning)
    backend, checks = backend_of_search(parameters, context.machine), parameters.output == "checks"
    task = ComponentsTask(
        recipe=Recipe.of(graph),
        backend=backend,
        threads=min(context.machine.threads, parameters.threads or context.machine.threads),
        runs=1 + RUNS,
        barrier_seconds=barrier_limit(parameters.tuning),
        check=checks,
        labels=not checks,
    )
    where, notes = whereabouts(context, graph, backend)
    started = time.perf_counter()
    if any(run_gang(context, ready_as_rank, task, graph.ranks)):
        from gravel.stages.traversal.distributed import MADE_ANEW

        notes.append(MADE_ANEW)
    preparing = (time.perf_counter() - started) * 1e3
    answers = sorted(run_gang(context, find_as_rank, task, graph.ranks), key=lambda answer: answer.rank)
    context.progress(1 + RUNS, 1 + RUNS, "runs")
    times = [max(each) for each in zip(*(answer.milliseconds for answer in answers), strict=True)]
    record: dict[str, Any] = {
        "source": None,
        "map_back_milliseconds": 0.0,
        "batch": 1,
        "reached": graph.vertex_count,
        "arcs": graph.arc_count,
        "edges": graph.arc_count // 2,
        "depth": 0,
        "levels": {"vertices": [], "arcs": [], "pulled": []},
        "exchange": told_by_ranks([answer.last for answer in answers]),
    }
    notes.append(f"{sum(answer.named for answer in answers):,} components")
    if checks:
        notes.append("no labels were kept: the last run's were checked on its ranks")
    traversal = Traversal(
        algorithm="components",
        component=None if checks else _labels(context, answers),
        vertex_count=graph.vertex_count,
        checks=[[asdict(check) for check in answers[0].checks]] if checks else None,
    )
    measurement = Measurement(
        algorithm="components",
        strategy="partition",
        reason=f"the graph is distributed by degree; {where}",
        backend=backend,
        hardware=machine_name(context.machine, backend, parameters.threads),
        prepare_milliseconds=preparing,
        searches=[record | {"milliseconds": milliseconds} for milliseconds in times[1:]],
        notes=notes,
        graph=described(graph),
        asked=parameters.asked(),
        ran=told(Ran(f"{find_as_rank.__module__}:find_as_rank", {}), backend),
    )
    return traversal, measurement


def _labels(context: Context, answers: Sequence[ComponentsAnswer]) -> Any:
    from gravel.kernels.partition.components import joined

    component = joined([answer.last for answer in answers], 0.0).component
    sink = context.sink(component.dtype)
    sink.append(component)
    return sink.close()


def checks_of_components(context: Context, graph: DistributedGraph, traversal: Traversal) -> list[Check]:
    """Give the checks of components: as the ranks made them at once, or made now by the ranks.

    Raises ValueError for a traversal that has neither labels nor checks.
    """
    from gravel.stages.traversal.checked import recorded

    if traversal.component is None:
        if not traversal.checks:
            raise ValueError("the traversal has neither component labels nor checks")
        return [recorded(record) for record in traversal.checks[0]]
    task = CheckTask(Recipe.of(graph), context.machine.threads, traversal.component)
    return run_gang(context, check_as_rank, task, graph.ranks)[0]
