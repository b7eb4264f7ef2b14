"""A chart as a figure of Matplotlib, and that as SVG which follows the page's text colour, or as a file."""

from __future__ import annotations

import errno
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import ceil, floor, log
from pathlib import Path
from textwrap import fill
from typing import Any

from gravel.pipeline.core.errors import GravelError, RequestError
from gravel.pipeline.core.files import as_given
from gravel.pipeline.report.static.marks import GREY, INK, PALETTE, paint_curves, paint_rows, rows_height
from gravel.stages.charts import Cells, Chart, Curves, Rows

MANY_LETTERS = 36
"""Letters of all columns beyond which their names are turned."""


def paint_cells(axes: Any, panel: Cells) -> None:
    """Draw the cells of a panel, the first row on top."""
    import numpy

    digits = numpy.array([list(row) for row in panel.shades])
    shares = numpy.array([[int(digit, 16) if digit != " " else 0 for digit in row] for row in digits]) / 15
    rows, columns = shares.shape
    square = panel.values is None
    image = numpy.empty((rows, columns, 4))
    image[..., :3] = [int(PALETTE[0][at : at + 2], 16) / 255 for at in (1, 3, 5)]
    # A transparent shade keeps the page's own text readable on it, by day and by night.
    image[..., 3] = numpy.where(digits == " ", 0, shares if square else 0.08 + 0.57 * shares)
    aspect = "equal" if square else "auto"
    axes.imshow(image, interpolation="none", aspect=aspect, extent=(0, columns, rows, 0))
    axes.grid(visible=False)
    for spine in axes.spines.values():
        spine.set(visible=square, alpha=0.4)
    if square:
        axes.set(xticks=[], yticks=[])
    else:
        _numbers(axes, panel)


def _numbers(axes: Any, panel: Cells) -> None:
    from matplotlib.patches import Rectangle

    for row, values in enumerate(panel.values or ()):
        for column, value in enumerate(values):
            if value is not None:
                axes.text(column + 0.5, row + 0.5, f"{value:.3g}", ha="center", va="center", fontsize=8)
    for row, column in panel.framed:
        frame = Rectangle((column + 0.03, row + 0.06), 0.94, 0.88, fill=False, edgecolor=INK, lw=1.2)
        axes.add_patch(frame)
    axes.set_xticks([place + 0.5 for place in range(len(panel.columns))], panel.columns)
    axes.set_yticks([place + 0.5 for place in range(len(panel.rows))], panel.rows)
    if len(panel.columns) * max(map(len, panel.columns)) > MANY_LETTERS:
        axes.tick_params(axis="x", rotation=35)
    axes.tick_params(length=0)


WIDTH = 4.8
"""Inches of a picture that a phone shows whole with letters that can be read."""
WIDE = 6.8
"""Inches of several panels."""
LETTER = 4.6
"""Points that a letter of a legend takes in the mean."""
DPI = 200
"""Of PNG files."""

_STYLE = {
    **{"svg.hashsalt": "gravel", "font.family": "sans-serif", "font.size": 9, "legend.fontsize": 8},
    **dict.fromkeys(("text.color", "xtick.color", "ytick.color", "axes.edgecolor", "axes.labelcolor"), INK),
    **dict.fromkeys(("axes.spines.top", "axes.spines.right", "legend.frameon"), False),
    **{"axes.grid": True, "axes.axisbelow": True, "grid.alpha": 0.25, "grid.color": GREY},
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
    for size in ("width", "height"):
        svg = re.sub(rf'(<svg[^>]*?) {size}="[^"]*"', r"\1", svg, count=1)
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
        height = max(_height(panel, width / columns) for panel in chart.panels)
        # A browser's letters may be taller than those that Matplotlib measured.
        layout = ConstrainedLayoutEngine(w_pad=0.06, h_pad=0.07)
        figure = Figure(figsize=(width, height * rows + 0.2), layout=layout)
        (FigureCanvasSVG if style["svg.fonttype"] == "none" else FigureCanvasAgg)(figure)
        _paint(figure, chart, rows, columns, width)
        yield figure


def _height(panel: Curves | Rows | Cells, width: float) -> float:
    """Return the inches that a panel needs."""
    if isinstance(panel, Curves):
        return 2.7 if width > 4 else 2.3
    title = 0.2 if panel.title else 0.0
    if isinstance(panel, Rows):
        return rows_height(panel) + title
    return title + (min(2.25, width) if panel.values is None else 0.75 + 0.26 * len(panel.rows))


def _paint(figure: Any, chart: Chart, rows: int, columns: int, width: float) -> None:
    names = {panel.names if isinstance(panel, Rows) else None for panel in chart.panels}
    axes = figure.subplots(rows, columns, squeeze=False, sharey=len(names) == 1 and None not in names)
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
        # Where it hides no curve, in as many columns as fit.
        fit = int(72 * width / (36 + LETTER * max(map(len, legend))))
        ncols = max(1, min(fit, len(legend)))
        figure.legend(legend.values(), legend.keys(), loc="outside upper center", ncols=ncols)


def _keep_powers_alone(axis: Any, limits: tuple[float, float]) -> None:
    """Take the marks between the powers off a logarithmic axis.

    A small picture would consist of little else, and take two thirds of its time for them; only where fewer
    than two powers are in sight are they what the axis is read by.
    """
    from matplotlib.ticker import NullLocator

    if axis.get_scale() == "log":
        first, last = (log(limit, axis.get_transform().base) for limit in sorted(limits))
        if floor(last) > ceil(first):
            axis.set_minor_locator(NullLocator())


MAX_NAME = 80
"""Letters of a file's name."""


def write_figures(target: Path, reports: Sequence[Mapping[str, Any]], form: str) -> list[Path]:
    """Write every chart of a run's reports as `svg` or `png` into a folder; returns the files.

    Raises RequestError for a run without charts and for a place that takes no files, GravelError for a full
    disk.
    """
    sections = [(report, section) for report in reports for section in report["sections"]]
    charts = [each for each in sections if each[1]["kind"] == "figure" and each[1].get("chart")]
    if not charts:
        raise RequestError("no report of this run has a chart", hint="gravel show RUN lists what it made")
    found: list[Path] = []
    try:
        target.mkdir(parents=True, exist_ok=True)
        for report, section in charts:
            name = _name(section["title"])
            if len(reports) > 1:
                name = f"{_name(report['key'])}-{name}"[:MAX_NAME]
            path = _unused(target, name, form, found)
            there = path.exists()
            write_figure(Chart.model_validate(section["chart"]), path)
            if not there:
                as_given(path)
            found.append(path)
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise GravelError(f"could not write to {str(target)!r}: the disk is full") from error
        raise RequestError(
            f"could not write to {str(target)!r}: {(error.strerror or str(error)).lower()}",
            hint="choose another folder with --to",
        ) from error
    return found


def _unused(target: Path, name: str, form: str, found: Sequence[Path]) -> Path:
    """Number the name of a chart if another of the run has it."""
    path, number = target / f"{name}.{form}", 2
    while path in found:
        path, number = target / f"{name}-{number}.{form}", number + 1
    return path


def _name(title: str) -> str:
    """Make a file name that any system takes and that a paper's source can hold."""
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")[:MAX_NAME] or "figure"
