"""Panels of lines and bars over numbers."""

from __future__ import annotations

from math import nan
from typing import Any

from gravel.pipeline.report.static.axes import set_axis
from gravel.pipeline.report.static.colors import LINES, color_of
from gravel.stages.charts import Curves, Line


def paint_curves(axes: Any, panel: Curves) -> None:
    """Draw all lines of a panel, what is shaded behind them, and the rules across."""
    for span in panel.spans:
        color = color_of(span.color)
        axes.axvspan(span.first, span.last, color=color, alpha=0.14, lw=0, label=span.name or None)
    below = [0.0] * (len(panel.lines[0].x) if panel.lines and panel.stacked else 0)
    for line in panel.lines:
        values = [nan if value is None else value for value in line.y]
        if panel.stacked:
            top = [start + (value or 0) for start, value in zip(below, line.y, strict=True)]
            if line.draw == "bars":
                axes.bar(line.x, values, bottom=below, color=color_of(line.color), width=0.8, label=line.name)
            else:
                axes.fill_between(
                    line.x, below, top, color=color_of(line.color), alpha=0.85, lw=0, label=line.name
                )
            below = top
        else:
            _line(axes, line, values)
    for rule in panel.rules:
        draw = axes.axvline if rule.axis == "x" else axes.axhline
        color, style = color_of(rule.color), LINES[rule.dash]
        draw(rule.at, color=color, lw=1, ls=style, alpha=0.8, label=rule.name or None)
    set_axis(axes, "x", panel.x, _ends([x for line in panel.lines for x in line.x]))
    set_axis(axes, "y", panel.y, _ends([y for line in panel.lines for y in line.y]))


def _ends(values: list[Any]) -> tuple[float, float] | None:
    above = [value for value in values if value is not None and value > 0]
    return (min(above), max(above)) if above else None


def _line(axes: Any, line: Line, values: list[float]) -> None:
    color = color_of(line.color)
    if line.draw == "bars":
        if line.until is None:
            axes.bar(line.x, values, width=0.8, color=color, label=line.name)
        else:
            width = [last - first for first, last in zip(line.x, line.until, strict=True)]
            axes.bar(line.x, values, width=width, align="edge", color=color, alpha=0.85, label=line.name)
        return
    axes.plot(
        line.x,
        values,
        color=color,
        label=line.name,
        lw=3.5 if line.broad else 1.2,
        alpha=0.35 if line.broad else 1,
        ls="" if line.draw == "points" else LINES[line.dash],
        marker=None if line.draw == "line" else "o",
        ms=4 if line.draw == "points" else 3,
        drawstyle="steps-post" if line.draw == "steps" else "default",
    )
