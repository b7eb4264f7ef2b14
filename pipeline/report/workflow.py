"""The picture of a run's workflow, drawn from its record."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from gravel.pipeline.plan.drawing.graph import Box, gathered
from gravel.pipeline.plan.drawing.svg import draw_svg

Json = Any

MANY = 24
"""More stage runs than this are drawn as one box for each entry, so that the picture stays readable."""

SHRUNK = 0.75
"""Share of its size that the picture may shrink to: letters of 9 px."""

URGENCY = (
    "failed",
    "running",
    "interrupted",
    "skipped",
    "waiting",
    "computed",
    "cached",
    "not run",
    "not needed",
)
"""States of stage runs, the most pressing first: that is the state of an entry."""


def workflow_picture(record: Mapping[str, Json]) -> str:
    """Draw the stage runs of a record and their states as one SVG element."""
    stages: Sequence[Mapping[str, Json]] = record["stages"]
    if not stages:
        return ""
    boxes = _of_runs(stages) if len(stages) <= MANY else _of_entries(stages)
    svg = draw_svg(boxes, f"Stage runs of {record['workflow']['name']}")
    width = re.search(r'<svg[^>]* width="(\d+)"', svg)
    assert width is not None
    # A page scrolls what would become too small to read, and shrinks the rest to its width.
    least = f"min-width:{int(SHRUNK * int(width[1]))}px"
    return svg.replace('style="', f'style="{least};', 1)


def _of_runs(stages: Sequence[Mapping[str, Json]]) -> list[Box]:
    known = {run["key"] for run in stages}
    return [
        Box(run["key"], run["stage"], tuple(key for key in run["upstream"] if key in known), run["state"])
        for run in stages
    ]


def _of_entries(stages: Sequence[Mapping[str, Json]]) -> list[Box]:
    entry_of = {run["key"]: run["entry"] for run in stages}
    return gathered(
        (
            (
                run["entry"],
                run["stage"],
                [entry_of[key] for key in run["upstream"] if key in entry_of],
                run["state"],
            )
            for run in stages
        ),
        URGENCY,
    )
