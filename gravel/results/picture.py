"""The display of a result in a notebook: a table of facts in HTML, and a bar chart in SVG."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray

WIDTH, HEIGHT, GAP = 360, 80, 2
MAX_BARS = 60
"""Upper bound of bars; in a deeper search neighbouring levels share one."""


def table(title: str, facts: Mapping[str, Any]) -> str:
    """Write facts as a table of two columns."""
    rows = "".join(
        f"<tr><th style='text-align:left'>{html.escape(str(name))}</th>"
        f"<td style='text-align:left'>{html.escape(_text(value))}</td></tr>"
        for name, value in facts.items()
    )
    return f"<b>{html.escape(title)}</b><table>{rows}</table>"


def bars(title: str, counts: Sequence[int]) -> str:
    """Draw counts as bars, with a caption that names the largest."""
    if not counts:
        return ""
    shown, each = _grouped(counts)
    most = max(1, *shown)
    step = WIDTH / len(shown)
    drawn = "".join(
        f"<rect x='{place * step:.1f}' y='{HEIGHT - HEIGHT * count / most:.1f}' "
        f"width='{max(1.0, step - GAP):.1f}' height='{max(0.5, HEIGHT * count / most):.1f}' fill='#4c78a8'>"
        f"<title>{_label(place, each)}: {count:,}</title></rect>"
        for place, count in enumerate(shown)
    )
    caption = f"{title}; at most {max(counts):,}"
    return (
        f"<svg xmlns='http://www.w3.org/2000/svg' width='{WIDTH}' height='{HEIGHT + 18}' role='img' "
        f"aria-label='{html.escape(caption)}'>{drawn}"
        f"<text x='0' y='{HEIGHT + 14}' font-size='11' fill='currentColor'>"
        f"{html.escape(caption)}</text></svg>"
    )


def histogram(title: str, values: NDArray[Any]) -> str:
    """Draw how many of some finite numbers lie in each of equal ranges, named by where they begin."""
    import numpy

    if not len(values):
        return ""
    whole = numpy.issubdtype(values.dtype, numpy.integer) and int(values.max()) - int(values.min()) < MAX_BARS
    ranges = numpy.arange(values.min(), values.max() + 2) if whole else min(MAX_BARS, 24)
    counts, edges = numpy.histogram(values, ranges)
    last = values.max().item()
    return bars(f"{title}, {_text(edges[0].item())} to {_text(last)}", [int(count) for count in counts])


def _grouped(counts: Sequence[int]) -> tuple[list[int], int]:
    each = -(-len(counts) // MAX_BARS)
    return [sum(counts[first : first + each]) for first in range(0, len(counts), each)], each


def _label(place: int, each: int) -> str:
    return str(place) if each == 1 else f"{place * each} to {place * each + each - 1}"


def _text(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
