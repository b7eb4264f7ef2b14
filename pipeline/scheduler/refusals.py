"""What is refused before anything begins: what cannot fit, missing files, groups without enough workers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from gravel.pipeline.core.errors import Problem, RequestError, WorkflowError
from gravel.pipeline.core.memory import refuse_what_cannot_fit, refuse_what_no_disk_holds
from gravel.pipeline.datasets.file_digest import missing_file
from gravel.pipeline.plan.status import plan_extents, resident_inputs
from gravel.pipeline.scheduler.node import ENDED, KNOWN, WAITING, WANTED, Node
from gravel.pipeline.scheduler.placement import ranks_of
from gravel.pipeline.workers.protocol import Failure
from gravel.stages.urls import is_url

if TYPE_CHECKING:
    from gravel.pipeline.plan.model import StageRun
    from gravel.pipeline.scheduler.machine import RunEnvironment
    from gravel.pipeline.scheduler.nodes import Nodes
    from gravel.pipeline.scheduler.run import Run
    from gravel.stages.stage import Need


def refuse_what_cannot_run(run: Run) -> Mapping[str, Need]:
    """Raise GravelError for what would stop the workflow's own stage runs later; data sets fail one by one.

    Returns what each stage run of the plan is expected to need.
    """
    plan, nodes, environment, data_sets = run.plan, run.nodes, run.environment, run.plan.workflow.datasets
    found = plan_extents(plan, run.cache, environment.machine, nodes.ids)
    asked = _asked_for(nodes)
    needs = {key: need for key, need in found.items() if key in asked}
    for key, need in needs.items():
        run.events.stated(key, need)
    resident = resident_inputs(plan, found)
    for key in [key for key in needs if plan.runs[key].is_of(data_sets)]:
        try:
            refuse_what_cannot_fit({key: needs[key]}, environment.capacity, resident)
        except RequestError as error:
            del needs[key]
            if nodes[key].state not in ENDED:
                run.resolver.fail(nodes[key], Failure("stage", str(error), error.problems[0].hint))
    locations = {key: plan.runs[key].location for key in needs}
    refuse_what_cannot_fit(needs, environment.capacity, resident, locations)
    own = [node for node in nodes.in_state(WANTED, WAITING) if not node.run.is_of(data_sets)]
    refuse_missing_files(own)
    ranks = {node.key: ranks_of(node) for node in own}
    refuse_larger_groups(ranks, plan.runs, environment, run.options.workers)
    stored = {key: need for key, need in needs.items() if plan.runs[key].keep}
    refuse_what_no_disk_holds(stored, run.cache.root, locations)
    return found


def _asked_for(nodes: Nodes) -> set[str]:
    """Return the stage runs that will run, those included whose results are not kept and are read."""
    asked = {node.key for node in nodes.in_state(WANTED, WAITING)}
    for node in reversed(list(nodes)):
        if node.key in asked:
            asked |= {source.key for source in node.sources if source.state == KNOWN}
    return asked


def refuse_missing_files(nodes: Iterable[Node]) -> None:
    """Raise RequestError, with the place in the workflow, for the first local file that is not there."""
    for node in nodes:
        for file in node.run.stage.files(node.run.parameters):
            path = Path(file.location)
            if is_url(file.location) or path.exists():
                continue
            problem = missing_file(path).problems[0]
            place = node.run.files.get(file.location, node.run.location)
            raise RequestError(problem.message, hint=problem.hint, location=place)


def refuse_larger_groups(
    ranks: Mapping[str, int], runs: Mapping[str, StageRun], environment: RunEnvironment, workers: int | None
) -> None:
    """Raise WorkflowError, with file and line, for each run that needs more workers than there will be.

    Local workers that nobody counted are as many as are needed, those of a cluster that is joined later are
    not known, and one process runs ranks as threads.

    Parameters
    ----------
    ranks : by the key of a run, how many workers it needs at the same time.
    workers : how many a command asks for, or None.

    """
    on_gpus = environment.cluster == "cuda"
    count = len(environment.devices) if on_gpus else workers if environment.cluster == "local" else None
    if count is None:
        return
    there = f"this machine has {count}" if on_gpus else f"--workers starts {count}"
    cure = "--cluster local on the CPU" if on_gpus else f"--workers {max(ranks.values(), default=0)}"
    problems = [
        Problem(
            f"{key} needs {needed} {'GPUs' if on_gpus else 'workers'} at the same time, and {there}",
            f"ask for {count} or fewer in the workflow, or run it with {cure}",
            runs[key].location,
        )
        for key, needed in ranks.items()
        if needed > count
    ]
    if problems:
        raise WorkflowError(problems)
