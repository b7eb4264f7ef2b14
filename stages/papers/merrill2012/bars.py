"""Bars of parts of a search, side by side for each run."""

from __future__ import annotations

import re
from collections.abc import Sequence

from gravel.stages.charts import COLORS, Axis, Rows, RowSeries
from gravel.stages.sections.section import Made, figure


def bars(title: str, about: str, series: dict[str, dict[str, float | None]], unit: str) -> Made:
    """Draw a group of bars for each run; `series` leads from a bar's name to values by run."""
    runs = list(dict.fromkeys(run for values in series.values() for run in values))
    drawn = any(value for values in series.values() for value in values.values())
    panel = Rows(
        of="run",
        names=tuple(short_labels(runs)),
        axis=Axis(label=unit, scale="log10" if drawn else "linear"),
        series=tuple(
            RowSeries(name=name, values=tuple(values.get(run) for run in runs), color=place % COLORS)
            for place, (name, values) in enumerate(series.items())
        ),
    )
    data = {"run": runs} | {name: [values.get(run) for run in runs] for name, values in series.items()}
    return figure(title, about, [panel], data, alt=f"{title} by run")


def short_labels(runs: Sequence[str]) -> list[str]:
    """Leave out what the keys of all runs share: their entry and the name of their one axis."""
    found = [re.fullmatch(r"([^\[]+\[[^=,]+)=([^,]+)\]", run) for run in runs]
    if not all(found) or len({match[1] for match in found if match}) != 1:
        return list(runs)
    return [match[2] for match in found if match]
