"""DOT, the language of Graphviz."""

from __future__ import annotations

import json
from collections.abc import Sequence

from gravel.pipeline.plan.drawing.graph import Box
from gravel.pipeline.plan.drawing.svg import FILL


def draw_dot(boxes: Sequence[Box], title: str) -> str:
    """Write boxes as a directed graph from left to right."""
    lines = [
        f"digraph {json.dumps(title)} {{",
        "  rankdir=LR;",
        '  node [shape=box, style="rounded,filled"];',
    ]
    for box in boxes:
        label = "\n".join(
            filter(None, (box.name, f"({box.stage})" if box.stage != box.name else "", box.note))
        )
        colour = FILL.get(box.state, FILL[""])
        lines.append(f'  {json.dumps(box.name)} [label={json.dumps(label)}, fillcolor="{colour}"];')
    for box in boxes:
        lines += [f"  {json.dumps(feed)} -> {json.dumps(box.name)};" for feed in box.feeds]
    return "\n".join([*lines, "}"]) + "\n"
