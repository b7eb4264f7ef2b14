"""Panels of shaded cells: heat maps with their numbers, and pictures of matrices."""

from __future__ import annotations

from typing import Any

from gravel.pipeline.report.static.colors import INK, PALETTE
from gravel.stages.charts import Cells

MANY_LETTERS = 36
"""Letters of all columns beyond which their names are turned."""


def cells_size(panel: Cells, width: float) -> float:
    """Return the inches of height that a panel needs."""
    return 0.75 + 0.26 * len(panel.rows) if panel.values is not None else min(2.25, width)


def paint_cells(axes: Any, panel: Cells) -> None:
    """Draw the cells of a panel, the first row on top."""
    import numpy

    shares = (
        numpy.array([[0 if digit == " " else int(digit, 16) for digit in row] for row in panel.shades]) / 15
    )
    image = numpy.empty((*shares.shape, 4))
    image[..., :3] = [int(PALETTE[0][at : at + 2], 16) / 255 for at in (1, 3, 5)]
    # A transparent shade keeps the page's own text readable on it, by day and by night.
    image[..., 3] = shares if panel.values is None else 0.08 + 0.57 * shares
    for row, digits in enumerate(panel.shades):
        for column, digit in enumerate(digits):
            if digit == " ":
                image[row, column, 3] = 0
    rows, columns = shares.shape
    square = panel.values is None
    axes.imshow(
        image, interpolation="none", aspect="equal" if square else "auto", extent=(0, columns, rows, 0)
    )
    axes.grid(visible=False)
    for spine in axes.spines.values():
        spine.set(visible=square, alpha=0.4)
    if panel.values is None:
        axes.set_xticks([])
        axes.set_yticks([])
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
