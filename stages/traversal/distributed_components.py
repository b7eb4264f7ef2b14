"""Components of a graph that only its ranks hold, which may check them at once and keep the labels."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from gravel.stages.partitioning.resident import Recipe, run_gang
from gravel.stages.traversal.distributed_components_rank import (
    CheckTask,
    ComponentsAnswer,
    ComponentsTask,
    check_as_rank,
    find_as_rank,
)

if TYPE_CHECKING:
    from gravel.kernels.verify import Check
    from gravel.stages.artifacts import DistributedGraph, Measurement, Traversal
    from gravel.stages.context import Context
    from gravel.stages.traverse import TraverseParameters


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
    from gravel.stages.traversal.executed import told
    from gravel.stages.traversal.ranked_components import told_by_ranks
    from gravel.stages.traversal.strategy import backend_of_search, machine_name, refuse_choice

    refuse_elsewhere(parameters)
    refuse_choice(parameters.strategy, parameters.tuning)
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
