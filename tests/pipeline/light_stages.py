"""Stages that import nothing heavy before they run, as the real ones do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gravel.pipeline.core.errors import Location
from gravel.pipeline.plan.model import InputRef, Plan, StageRun
from gravel.pipeline.workflow.model import Workflow
from gravel.stages.artifacts import VertexIds
from gravel.stages.stage import Extent, Machine, Need, Parameters, Slot, Stage


class Nothing(Parameters):
    """No parameters."""


def _count(context: Any, parameters: Nothing) -> VertexIds:
    import numpy

    return VertexIds(ids=numpy.arange(5), vertex_count=5)


def _again(context: Any, parameters: Nothing, ids: VertexIds) -> VertexIds:
    assert ids.ids is not None
    return VertexIds(ids=ids.ids[1:], vertex_count=4)


def _need(parameters: Nothing, extents: Any, machine: Machine) -> Need:
    return Need(1000, 0, (Extent("VertexIds"),))


def plan() -> Plan:
    """Two runs, one after the other."""
    count = Stage("count", 1, "Counts.", Nothing, {}, ("VertexIds",), _count, _need)
    slot = Slot(("VertexIds",), "ids")
    again = Stage("again", 1, "Drops one.", Nothing, {"ids": slot}, ("VertexIds",), _again, _need)
    place = Location("light.yaml", 1, 1)
    runs = {
        "count": StageRun("count", "count", count, Nothing(), {}, {}, True, False, place),
        "again": StageRun(
            "again", "again", again, Nothing(), {"ids": (InputRef("count", 0),)}, {}, True, False, place
        ),
    }
    workflow = Workflow("light", "", Path("light.yaml"), {}, {}, {})
    return Plan(workflow, runs, frozenset(runs))
