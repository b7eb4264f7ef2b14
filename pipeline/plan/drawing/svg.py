"""SVG without any library: boxes in columns by depth, ordered so that few lines cross."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape

from gravel.pipeline.plan.drawing.graph import Box

COLOURS = {
    "": ("#f2f2f2", "#2a2f37"),
    "cached": ("#cdeac0", "#25462b"),
    "will run": ("#ffe5a0", "#57450f"),
    "waits": ("#fff4d6", "#3d361d"),
    "not needed": ("#eeeeee", "#24282e"),
    "not run": ("#eeeeee", "#24282e"),
    "cannot run": ("#f7b5b0", "#5d2623"),
    "computed": ("#cfe3f7", "#1f3f5e"),
    "running": ("#ffe5a0", "#57450f"),
    "waiting": ("#fff4d6", "#3d361d"),
    "failed": ("#f7b5b0", "#5d2623"),
    "skipped": ("#eeeeee", "#24282e"),
    "interrupted": ("#f9d7b5", "#553517"),
}
"""Colours of a box by its state, by day and by night; on paper it is always day."""

HEIGHT, GAP, BETWEEN, MARGIN = 36, 14, 70, 16
PLAIN, SOFT = ' fill="#111" class="dag-text"', ' fill="#555" class="dag-soft"'
LETTER = 7.2  # width of a letter of 12 px monospace


def colours_of(state: str) -> tuple[str, str]:
    """Return the colours of a state, by day and by night."""
    return COLOURS.get(state, COLOURS[""])


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
