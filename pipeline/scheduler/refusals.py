"""What is refused before anything begins: files that are missing, and rank groups without enough workers."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from gravel.pipeline.core.errors import RequestError
from gravel.pipeline.datasets.file_digest import missing_file
from gravel.pipeline.plan.model import Plan
from gravel.pipeline.scheduler.machine import RunEnvironment
from gravel.pipeline.scheduler.node import WAITING, WANTED, Node
from gravel.pipeline.scheduler.nodes import Nodes
from gravel.pipeline.scheduler.placement import ranks_of
from gravel.pipeline.scheduler.rank_groups import refuse_larger_groups
from gravel.stages.urls import is_url


def refuse_what_cannot_begin(
    plan: Plan, nodes: Nodes, environment: RunEnvironment, workers: int | None
) -> None:
    """Raise GravelError for what would stop the workflow's own runs later; data sets fail one by one."""
    own = [node for node in nodes.in_state(WANTED, WAITING) if not node.run.is_of(plan.workflow.datasets)]
    refuse_missing_files(own)
    refuse_larger_groups({node.key: ranks_of(node) for node in own}, plan.runs, environment, workers)


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
