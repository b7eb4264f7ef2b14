"""The picture of a run's workflow, drawn from its record."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from gravel.pipeline.plan.drawing.graph import gathered
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
    # Of a run by its key, or of an entry by its name.
    name = "key" if len(stages) <= MANY else "entry"
    name_of = {run["key"]: run[name] for run in stages}
    boxes = gathered(
        (
            (
                run[name],
                run["stage"],
                [name_of[key] for key in run["upstream"] if key in name_of],
                run["state"],
            )
            for run in stages
        ),
        URGENCY,
    )
    svg = draw_svg(boxes, f"Stage runs of {record['workflow']['name']}")
    width = re.search(r'<svg[^>]* width="(\d+)"', svg)
    assert width is not None
    # A page scrolls what would become too small to read, and shrinks the rest to its width.
    least = f"min-width:{int(SHRUNK * int(width[1]))}px"
    return svg.replace('style="', f'style="{least};', 1)
