"""The display of a result in a notebook: a table of facts in HTML, and a bar chart in SVG."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from itertools import pairwise
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


def bars(title: str, counts: Sequence[int], names: Sequence[str] = ()) -> str:
    """Draw counts as bars with these names, and a caption with the largest; nothing for one count alone."""
    if len(counts) < 2:
        return ""
    shown, each = _grouped(counts)
    most = max(1, *shown)
    step = min(WIDTH / len(shown), WIDTH / 8)
    drawn = "".join(
        f"<rect x='{place * step:.1f}' y='{HEIGHT - HEIGHT * count / most:.1f}' "
        f"width='{max(1.0, step - GAP):.1f}' height='{max(0.5, HEIGHT * count / most):.1f}' fill='#4c78a8'>"
        f"<title>{names[place] if names else _label(place, each)}: {count:,}</title></rect>"
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
    """Draw how many of some finite numbers lie in each of up to 24 ranges.

    Ranges are equal, or each twice as wide as the one before where most numbers are far below the largest.
    """
    import numpy

    if not len(values) or values.min() == values.max():
        return ""
    low, high = values.min().item(), values.max().item()
    whole = numpy.issubdtype(values.dtype, numpy.integer)
    if low >= 0 and high > MAX_BARS * max(numpy.median(values), 1 if whole else 0):
        last = int(numpy.ceil(numpy.log2(high))) + 1
        least = values[values > 0].min()
        first = max(last - MAX_BARS, 0 if whole else int(numpy.floor(numpy.log2(least))))
        ranges: Any = [*([0.0] if low < 2.0**first else []), *(2.0 ** numpy.arange(first, last + 1))]
        title += " (ranges double)"
    elif whole and high - low < MAX_BARS:
        ranges = numpy.arange(low, high + 2)
    else:
        ranges = 24
    counts, edges = numpy.histogram(values, ranges)
    names = [f"{_text(first)} to {_text(last)}" for first, last in pairwise(edges.tolist())]
    return bars(f"{title}, {_text(low)} to {_text(high)}", counts.tolist(), names)


def _grouped(counts: Sequence[int]) -> tuple[list[int], int]:
    each = -(-len(counts) // MAX_BARS)
    return [sum(counts[first : first + each]) for first in range(0, len(counts), each)], each


def _label(place: int, each: int) -> str:
    return str(place) if each == 1 else f"{place * each} to {place * each + each - 1}"


def _text(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
