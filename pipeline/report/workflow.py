"""The picture of a run's workflow, drawn from its record."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from pipeline.plan.drawing import Box, draw_svg

Json = Any

MANY = 24
"""More stage runs than this are drawn as one box for each entry, so that the picture stays readable."""

URGENCY = ("failed", "running", "interrupted", "skipped", "waiting", "computed", "cached", "not needed")
"""States of stage runs, the most pressing first: that is the state of an entry."""


def workflow_picture(record: Mapping[str, Json]) -> str:
    """Draw the stage runs of a record and their states as one SVG element."""
    stages: Sequence[Mapping[str, Json]] = record["stages"]
    if not stages:
        return ""
    boxes = _of_runs(stages) if len(stages) <= MANY else _of_entries(stages)
    return draw_svg(boxes, f"Stage runs of {record['workflow']['name']}")


def _of_runs(stages: Sequence[Mapping[str, Json]]) -> list[Box]:
    known = {run["key"] for run in stages}
    return [
        Box(run["key"], run["stage"], tuple(key for key in run["upstream"] if key in known), run["state"])
        for run in stages
    ]


def _of_entries(stages: Sequence[Mapping[str, Json]]) -> list[Box]:
    entry_of = {run["key"]: run["entry"] for run in stages}
    members: dict[str, list[Mapping[str, Json]]] = {}
    for run in stages:
        members.setdefault(run["entry"], []).append(run)
    boxes = []
    for entry, runs in members.items():
        feeds = dict.fromkeys(entry_of[key] for run in runs for key in run["upstream"] if key in entry_of)
        feeds.pop(entry, None)
        states = Counter(run["state"] for run in runs)
        state = next((each for each in URGENCY if states[each]), "")
        told = ", ".join(f"{states[each]} {each}" for each in URGENCY if states[each])
        note = f"{len(runs)} runs: {told}" if len(runs) > 1 else ""
        boxes.append(Box(entry, runs[0]["stage"], tuple(feeds), state, note))
    return boxes
