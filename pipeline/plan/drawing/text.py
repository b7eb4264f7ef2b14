"""A plan as text: a tree for the terminal, and DOT for Graphviz."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence

from gravel.pipeline.plan.drawing.graph import Box
from gravel.pipeline.plan.drawing.svg import colours_of

MAX_NAMED = 2  # further feeders named beside a box; more are counted


def draw_tree(boxes: Sequence[Box], paint: Callable[[str, str], str] = lambda text, state: text) -> str:
    """Draw boxes as lines; `paint(text, state)` colours a state."""
    place = {box.name: position for position, box in enumerate(boxes)}
    children: dict[str | None, list[Box]] = {}
    for box in boxes:
        parent = max(box.feeds, key=lambda name: place[name], default=None)
        children.setdefault(parent, []).append(box)
    lines: list[str] = []
    waiting: list[tuple[Box, str, str]] = [(box, "", "") for box in reversed(children.get(None, []))]
    while waiting:
        box, lead, under = waiting.pop()
        lines.append(lead + " ".join(_words(box, place, paint)))
        below = children.get(box.name, [])
        for position, child in reversed(list(enumerate(below))):
            last = position == len(below) - 1
            waiting.append((child, under + ("└─ " if last else "├─ "), under + ("   " if last else "│  ")))
    return "\n".join(lines)


def _words(box: Box, place: dict[str, int], paint: Callable[[str, str], str]) -> Iterator[str]:
    yield box.name
    if box.stage != box.name:
        yield f"({box.stage})"
    others = sorted(box.feeds, key=lambda name: place[name])[:-1]
    if len(others) > MAX_NAMED:
        yield f"<- {others[0]} and {len(others) - 1} more"
    elif others:
        yield f"<- {', '.join(others)}"
    if box.note:
        yield f"- {box.note}"
        if ":" in box.note:
            return
    if box.state:
        yield paint(f"[{box.state}]", box.state)


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
        colour, _ = colours_of(box.state)
        lines.append(f'  {json.dumps(box.name)} [label={json.dumps(label)}, fillcolor="{colour}"];')
    for box in boxes:
        lines += [f"  {json.dumps(feed)} -> {json.dumps(box.name)};" for feed in box.feeds]
    return "\n".join([*lines, "}"]) + "\n"
