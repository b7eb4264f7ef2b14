"""A section of a report that is a chart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gravel.stages.charts.model import Cells, Chart, Curves, Rows


def figure(
    title: str,
    about: str,
    panels: Sequence[Curves | Rows | Cells],
    data: Any,
    *,
    alt: str,
    columns: int = 3,
) -> dict[str, Any]:
    """Make the section of a figure.

    Parameters
    ----------
    title, about : its heading and its caption.
    panels : what is drawn.
    data : the same for a program to read, in the words of the section.
    alt : what it shows, for people who do not see it.
    columns : panels side by side at most.
    """
    chart = Chart(about=alt, panels=tuple(panels), columns=columns)
    return {
        "kind": "figure",
        "title": title,
        "about": about,
        "chart": chart.model_dump(mode="json", exclude_defaults=True),
        "data": data,
    }
