"""A plan as a picture: a tree for the terminal, SVG, and DOT for Graphviz."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape

from gravel.pipeline.plan.model import CACHED, CANNOT_RUN, NOT_NEEDED, WAITS, WILL_RUN, Plan, RunStatus


@dataclass(frozen=True)
class Box:
    """One box: a stage run, or an entry with all its runs; `state` is empty where it is not known."""

    name: str
    stage: str
    feeds: tuple[str, ...]
    state: str = ""
    note: str = ""


def boxes_of_runs(plan: Plan, statuses: Mapping[str, RunStatus]) -> list[Box]:
    """Make one box for each stage run."""
    states = {key: status.state for key, status in statuses.items()}
    return [
        Box(key, run.stage.name, run.upstream, states.get(key, ""), "" if run.keep else "not kept")
        for key, run in plan.runs.items()
    ]


_URGENCY = (CANNOT_RUN, WILL_RUN, WAITS, NOT_NEEDED, CACHED)


def boxes_of_entries(plan: Plan, statuses: Mapping[str, RunStatus]) -> list[Box]:
    """Make one box for each entry of the workflow; its state is the most pressing of its runs'."""
    states = {key: status.state for key, status in statuses.items()}
    runs = (
        (run.entry, run.stage.name, [plan.runs[up].entry for up in run.upstream], states.get(key, ""))
        for key, run in plan.runs.items()
    )
    return gathered(runs, _URGENCY)


def gathered(runs: Iterable[tuple[str, str, Sequence[str], str]], urgency: Sequence[str]) -> list[Box]:
    """Make one box for each entry of stage runs: entry, stage, entries upstream and state.

    `urgency` has the states, the most pressing first: that is the state of an entry.
    """
    members: dict[str, list[tuple[str, Sequence[str], str]]] = {}
    for entry, stage, upstream, state in runs:
        members.setdefault(entry, []).append((stage, upstream, state))
    boxes = []
    for entry, found in members.items():
        feeds = dict.fromkeys(name for _, upstream, _ in found for name in upstream if name != entry)
        counted = Counter(state for _, _, state in found)
        present = [state for state in urgency if counted[state]]
        counts = ", ".join(f"{counted[state]} {state}" for state in present)
        note = f"{len(found)} runs{f': {counts}' if counts else ''}" if len(found) > 1 else ""
        boxes.append(Box(entry, found[0][0], tuple(feeds), present[0] if present else "", note))
    return boxes


COLOURS = {
    "cached": ("#cdeac0", "#25462b"),
    "computed": ("#cfe3f7", "#1f3f5e"),
    "interrupted": ("#f9d7b5", "#553517"),
    **dict.fromkeys(("will run", "running"), ("#ffe5a0", "#57450f")),
    **dict.fromkeys(("waits", "waiting"), ("#fff4d6", "#3d361d")),
    **dict.fromkeys(("cannot run", "failed"), ("#f7b5b0", "#5d2623")),
    **dict.fromkeys(("not needed", "not run", "skipped"), ("#eeeeee", "#24282e")),
}
"""Colours of a box by its state, by day and by night; on paper it is always day."""

HEIGHT, GAP, BETWEEN, MARGIN = 36, 14, 70, 16
PLAIN, SOFT = ' fill="#111" class="dag-text"', ' fill="#555" class="dag-soft"'
LETTER = 7.2  # width of a letter of 12 px monospace


def colours_of(state: str) -> tuple[str, str]:
    """Return the colours of a state, by day and by night."""
    return COLOURS.get(state, ("#f2f2f2", "#2a2f37"))


def draw_svg(boxes: Sequence[Box], title: str) -> str:
    """Draw boxes as one SVG document, from left to right.

    A line that follows from others is left out, such as that from a graph to a check beside the way over the
    search: it would run behind the boxes between.
    """
    depth: dict[str, int] = {}
    for box in boxes:
        depth[box.name] = 1 + max((depth[feed] for feed in box.feeds), default=-1)
    columns: list[list[Box]] = [[] for _ in range(1 + max(depth.values(), default=-1))]
    for box in boxes:
        columns[depth[box.name]].append(box)
    rows: dict[str, float] = {}
    for column in columns:
        # The mean row of what feeds a box is where its lines are shortest (the barycentre rule of Sugiyama).
        column.sort(key=lambda box: sum(rows[feed] for feed in box.feeds) / max(1, len(box.feeds)))
        rows.update({box.name: float(position) for position, box in enumerate(column)})
    tallest = max(map(len, columns), default=0)
    places: dict[str, tuple[float, float, float]] = {}
    left = float(MARGIN)
    for column in columns:
        width = max(LETTER * max(len(line) for line in _lines(box)) + 20 for box in column)
        top = MARGIN + (tallest - len(column)) * (HEIGHT + GAP) / 2
        for position, box in enumerate(column):
            places[box.name] = (left, top + position * (HEIGHT + GAP), width)
        left += width + BETWEEN
    full_width = max(left - BETWEEN, 0) + MARGIN
    full_height = 2 * MARGIN + max(0, tallest * (HEIGHT + GAP) - GAP)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{full_width:.0f}" height="{full_height:.0f}" '
        f'viewBox="0 0 {full_width:.0f} {full_height:.0f}" font-family="monospace" font-size="12" '
        'style="color-scheme:light dark">',
        f"<title>{escape(title)}</title>",
        _style({box.state for box in boxes}),
    ]
    drawn = _direct_feeds(boxes)
    parts += [_line(places[feed], places[box.name]) for box in boxes for feed in drawn[box.name]]
    parts += [_box(box, places[box.name]) for box in boxes]
    return "\n".join([*parts, "</svg>"]) + "\n"


def _direct_feeds(boxes: Sequence[Box]) -> dict[str, list[str]]:
    """Return for each box those of its feeders that feed none of the others, not even by a long way."""
    place = {box.name: position for position, box in enumerate(boxes)}
    above: dict[str, int] = {}  # a bit for each box that feeds this one by any way
    found = {}
    for box in boxes:
        over = 0
        for feed in box.feeds:
            over |= above[feed]
        found[box.name] = [feed for feed in box.feeds if not over >> place[feed] & 1]
        above[box.name] = over | sum(1 << place[feed] for feed in set(box.feeds))
    return found


def _style(states: set[str]) -> str:
    """Attributes hold the colours of the day, so that what reads no style sheet has them."""
    fills = " ".join(f".{_class(state)}{{fill:{colours_of(state)[1]}}}" for state in sorted(states))
    rest = ".dag-text{fill:#e6e9ee} .dag-soft{fill:#a8b2bf} .dag-line,.dag-box{stroke:#7b8490}"
    return f"<style>@media screen and (prefers-color-scheme:dark){{{fills} {rest}}}</style>"


def _class(state: str) -> str:
    # A record of somebody else may hold any text; as a class it must not end the attribute.
    return f"dag-{re.sub(r'[^a-z]+', '-', state) or 'unknown'}"


def _lines(box: Box) -> list[str]:
    state = "" if ":" in box.note else box.state  # such a note counts the states
    under = ", ".join(filter(None, (box.stage if box.stage != box.name else "", box.note, state)))
    return [box.name, under] if under else [box.name]


def _line(start: tuple[float, float, float], end: tuple[float, float, float]) -> str:
    x1, y1 = start[0] + start[2], start[1] + HEIGHT / 2
    x2, y2 = end[0], end[1] + HEIGHT / 2
    bend = min(BETWEEN, (x2 - x1) / 2)
    return (
        f'<path d="M{x1:.1f} {y1:.1f} C{x1 + bend:.1f} {y1:.1f} {x2 - bend:.1f} {y2:.1f} {x2:.1f} {y2:.1f}" '
        'fill="none" stroke="#888" class="dag-line"/>'
    )


def _box(box: Box, place: tuple[float, float, float]) -> str:
    x, y, width = place
    lines = _lines(box)
    text = "".join(
        f'<text x="{x + 10:.1f}" y="{y + (15 if len(lines) > 1 else 22) + 14 * row:.1f}"'
        f"{SOFT if row else PLAIN}>{escape(line)}</text>"
        for row, line in enumerate(lines)
    )
    rectangle = (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{HEIGHT}" rx="6" '
        f'fill="{colours_of(box.state)[0]}" stroke="#666" class="dag-box {_class(box.state)}"/>'
    )
    return f"<g>{rectangle}{text}</g>"


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
    head = f"digraph {json.dumps(title)} {{"
    lines = [head, "  rankdir=LR;", '  node [shape=box, style="rounded,filled"];']
    for box in boxes:
        stage = f"({box.stage})" if box.stage != box.name else ""
        label = "\n".join(filter(None, (box.name, stage, box.note)))
        colour, _ = colours_of(box.state)
        lines.append(f'  {json.dumps(box.name)} [label={json.dumps(label)}, fillcolor="{colour}"];')
    for box in boxes:
        lines += [f"  {json.dumps(feed)} -> {json.dumps(box.name)};" for feed in box.feeds]
    return "\n".join([*lines, "}"]) + "\n"
