"""A chart as a figure of Matplotlib, and that as SVG which follows the page's text colour, or as a file."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from math import ceil, floor, log
from pathlib import Path
from textwrap import fill
from typing import Any

from gravel.pipeline.core.errors import RequestError
from gravel.pipeline.report.static.cells import cells_size, paint_cells
from gravel.pipeline.report.static.colors import INK
from gravel.pipeline.report.static.curves import paint_curves
from gravel.pipeline.report.static.rows import paint_rows, rows_height
from gravel.stages.charts import Cells, Chart, Curves, Rows

WIDTH = 4.8
"""Inches of a picture that a phone shows whole with letters that can be read."""
WIDE = 6.8
"""Inches of several panels."""
LETTER = 4.6
"""Points that a letter of a legend takes in the mean."""
DPI = 200
"""Of PNG files."""

_STYLE = {
    "svg.hashsalt": "gravel",
    "font.family": "sans-serif",
    "font.size": 9,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.alpha": 0.25,
    "grid.color": "#888888",
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "legend.frameon": False,
    "legend.fontsize": 8,
}


def inline_svg(chart: Chart) -> str:
    """Return a chart as an SVG element whose text is text, in the colour of the page's."""
    buffer = io.StringIO()
    with _figure(chart, {"svg.fonttype": "none"}) as figure:
        figure.patch.set_visible(False)
        # `savefig` would lay out and draw all of it once before, to no effect on what is written.
        figure.canvas.print_svg(buffer, metadata={"Date": None, "Creator": None})
    svg = buffer.getvalue()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r'(<svg[^>]*?) width="[^"]*"', r"\1", svg, count=1)
    svg = re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", svg, count=1)
    svg = svg.replace(INK, "currentColor").replace("\n", " ")
    label = chart.about.replace("&", "and").replace('"', "'").replace("<", "").replace(">", "")
    return svg.replace("<svg", f'<svg role="img" aria-label="{label}"', 1).strip()


def write_figure(chart: Chart, path: Path) -> None:
    """Write a chart as SVG or PNG, by the ending of the path: black on white, letters as shapes."""
    with _figure(chart, {"svg.fonttype": "path", "savefig.dpi": DPI}) as figure:
        figure.savefig(path, facecolor="white", metadata={"Date": None} if path.suffix == ".svg" else {})


@contextmanager
def _figure(chart: Chart, style: dict[str, Any]) -> Iterator[Any]:
    try:
        import matplotlib
    except ImportError as error:
        raise RequestError(
            "charts are drawn by Matplotlib, which is not installed",
            hint="pip install 'gravel[plots]', or -e '.[plots]' in a checkout",
        ) from error
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    with matplotlib.rc_context({**_STYLE, **style}):
        columns = min(chart.columns, len(chart.panels))
        width = WIDE if columns > 1 else WIDTH
        rows = -(-len(chart.panels) // columns)
        height = max(_height(panel, width / columns, bool(panel.title)) for panel in chart.panels)
        # A browser's letters may be taller than those that Matplotlib measured.
        layout = ConstrainedLayoutEngine(w_pad=0.06, h_pad=0.07)
        figure = Figure(figsize=(width, height * rows + 0.2), layout=layout)
        (FigureCanvasSVG if style["svg.fonttype"] == "none" else FigureCanvasAgg)(figure)
        _paint(figure, chart, rows, columns, width)
        yield figure


def _height(panel: Curves | Rows | Cells, width: float, titled: bool) -> float:
    if isinstance(panel, Rows):
        return rows_height(panel) + 0.2 * titled
    if isinstance(panel, Cells):
        return cells_size(panel, width) + 0.2 * titled
    return 2.7 if width > 4 else 2.3


def _paint(figure: Any, chart: Chart, rows: int, columns: int, width: float) -> None:
    same = len({panel.names if isinstance(panel, Rows) else None for panel in chart.panels}) == 1
    named = same and isinstance(chart.panels[0], Rows)
    axes = figure.subplots(rows, columns, squeeze=False, sharey=named)
    legend: dict[str, Any] = {}
    for place, each in enumerate(axes.flat):
        if place >= len(chart.panels):
            each.set_axis_off()
            continue
        panel = chart.panels[place]
        if panel.title:
            each.set_title(fill(panel.title, int(72 * width / columns / 6)), fontsize=8.5, color=INK)
        if isinstance(panel, Curves):
            paint_curves(each, panel)
        elif isinstance(panel, Rows):
            paint_rows(each, panel, letters=8 if columns == 1 else 7)
        else:
            paint_cells(each, panel)
        each.patch.set_visible(False)
        each.tick_params(which="both", labelsize=7 if columns > 1 else 8.5)
        _keep_powers_alone(each.xaxis, each.get_xlim())
        _keep_powers_alone(each.yaxis, each.get_ylim())
        handles, labels = each.get_legend_handles_labels()
        legend.update(zip(labels, handles, strict=True))
    if len(legend) > 1:
        _legend_above(figure, list(legend.values()), list(legend))


def _legend_above(figure: Any, handles: list[Any], labels: list[str]) -> None:
    """Put the legend where it hides no curve, in as many columns as fit."""
    columns = int(72 * figure.get_figwidth() / (36 + LETTER * max(map(len, labels))))
    columns = max(1, min(columns, len(labels)))
    figure.legend(handles, labels, loc="outside upper center", ncols=columns)


def _keep_powers_alone(axis: Any, limits: tuple[float, float]) -> None:
    """Take the marks between the powers off a logarithmic axis.

    A small picture would consist of little else, and take two thirds of its time for them; only where fewer
    than two powers are in sight are they what the axis is read by.
    """
    from matplotlib.ticker import NullLocator

    if axis.get_scale() != "log":
        return
    first, last = (log(limit, axis.get_transform().base) for limit in sorted(limits))
    if floor(last) > ceil(first):
        axis.set_minor_locator(NullLocator())
