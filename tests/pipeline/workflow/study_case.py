"""Plans of workflows that are written as text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gravel.pipeline.core.errors import WorkflowError
from gravel.pipeline.plan.builder import build_plan
from gravel.pipeline.plan.model import Plan
from gravel.pipeline.workflow.loader import load_workflow
from tests.pipeline.fake_stages import FAKES, ORDERINGS


def plan_of(
    folder: Path, text: str = ORDERINGS, overrides: dict[str, str] | None = None, **options: Any
) -> Plan:
    path = folder / "w.yaml"
    path.write_text(text)
    return build_plan(load_workflow(path, overrides, stages=FAKES), **options)


def keys_of(plan: Plan, entry: str) -> list[str]:
    return [key.partition("[")[2].rstrip("]") for key, run in plan.runs.items() if run.entry == entry]


def problem_of(folder: Path, text: str) -> tuple[str, str, str, str]:
    with pytest.raises(WorkflowError) as caught:
        plan_of(folder, text)
    problem = caught.value.problems[0]
    place = problem.location
    told = "" if place is None else f"{Path(place.file).name}:{place.line}"
    at = "" if place is None else place.snippet[place.column - 1 :]
    return problem.message, problem.hint or "", told, at


def matrix(*lines: str) -> str:
    return ORDERINGS.replace(
        "  layout: [csr, varint]", "\n".join(["  layout: [csr, varint]", *(f"  {line}" for line in lines)])
    )
