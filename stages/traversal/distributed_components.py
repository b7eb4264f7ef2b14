"""Components of a distributed graph: what each rank does, and the driver of all."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from gravel.stages.partitioning.resident import Held, Recipe, find_rank, run_gang
from gravel.stages.traversal.ranked_components import find_together
from gravel.stages.verifying.ranks import check_labels

if TYPE_CHECKING:
    from gravel.kernels.partition.components import RankComponents
    from gravel.kernels.verify import Check
    from gravel.stages.artifacts import DistributedGraph, Measurement, Traversal
    from gravel.stages.context import Context
    from gravel.stages.rank_group import RankContext
    from gravel.stages.traverse import TraverseParameters


@dataclass(frozen=True)
class ComponentsTask:
    """What each rank is given: how often to find components, whether to check labels and give them back."""

    recipe: Recipe
    backend: str
    threads: int
    runs: int
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


def find_as_rank(gang: RankContext, task: ComponentsTask) -> ComponentsAnswer:
    """Find components as one rank, so many times; the rank's part is found or made first."""
    from gravel.kernels.jit import set_threads

    set_threads(task.threads)
    named, held, _ = find_rank(gang, task.recipe, task.backend)
    held.kept.clear()

    share = held.share
    return find_together(
        named,
        share.part,
        share.delegates,
        share.vertex_count,
        symmetric=True,
        backend=task.backend,
        runs=task.runs,
        finish=lambda found, times: _answer(named, held, task, found, times),
    )


def _answer(
    gang: RankContext, held: Held, task: ComponentsTask, found: RankComponents, times: list[float]
) -> ComponentsAnswer:
    import numpy

    from gravel.kernels.placement.device_copies import on_host

    component = found.component
    named = _named(gang, component, held.backend)
    checks = check_labels(gang, held, component) if task.check else []
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
    from gravel.stages.traversal.distributed import described, whereabouts
    from gravel.stages.traversal.distributed_rank import ready_as_rank
    from gravel.stages.traversal.ranked_components import told_by_ranks
    from gravel.stages.traversal.records import told
    from gravel.stages.traversal.strategy import backend_of_search, machine_name

    backend, checks = backend_of_search(parameters, context.machine), parameters.output == "checks"
    task = ComponentsTask(
        recipe=Recipe.of(graph),
        backend=backend,
        threads=min(context.machine.threads, parameters.threads or context.machine.threads),
        runs=1 + RUNS,
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
