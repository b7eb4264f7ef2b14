"""Axes of numbers in Matplotlib: scale, ends, and plain numbers beside them."""

from __future__ import annotations

from math import log10
from typing import Any

from gravel.stages.charts import Axis

FEW_DECADES = 2.5
"""Over so few decades an axis has room for the labels 1, 2 and 5 of each."""


MAX_POWERS = 6
"""Powers of two that are named: `256 KiB` is wide."""


def set_axis(axes: Any, which: str, axis: Axis, ends: tuple[float, float] | None = None) -> None:
    """Give the axis `which`, x or y, its scale, ends, label and marks; `ends` are those of its values."""
    from matplotlib.ticker import LogLocator

    drawn = getattr(axes, f"{which}axis")
    set_scale, set_limits = getattr(axes, f"set_{which}scale"), getattr(axes, f"set_{which}lim")
    if axis.scale in ("log2", "log10"):
        set_scale("log", base=2 if axis.scale == "log2" else 10)
    elif axis.scale == "symlog":
        set_scale("symlog", linthresh=1)
    if axis.low is not None or axis.high is not None:
        set_limits(axis.low, axis.high)
    getattr(axes, f"set_{which}label")(axis.label, fontsize=8.5)
    if axis.scale == "log2" and axis.ticks is None:
        drawn.set_major_locator(LogLocator(base=2, numticks=MAX_POWERS))
    if axis.unit == "bytes":
        drawn.set_major_formatter(_bytes)
    elif axis.scale == "log2":
        drawn.set_major_formatter(lambda value, _: f"{value:g}")
    elif axis.scale == "log10" and ends is not None:
        label_logarithmic(drawn, *ends)
    if axis.whole:
        drawn.get_major_locator().set_params(integer=True)
    if axis.ticks is not None:
        axes.minorticks_off()
        getattr(axes, f"set_{which}ticks")(axis.ticks, [f"{tick:g}" for tick in axis.ticks])


def label_logarithmic(axis: Any, low: float, high: float) -> None:
    """Label a logarithmic axis with plain numbers that do not overlap, where it spans few decades."""
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    decades = log10(high / low) if high > low > 0 else 0.0
    if decades < FEW_DECADES:
        axis.set_major_locator(LogLocator(base=10, subs=(1.0, 2.0, 5.0)))
        axis.set_major_formatter(StrMethodFormatter("{x:g}"))
        axis.set_minor_formatter(NullFormatter())


def _bytes(value: float, _: Any = None) -> str:
    for unit, size in (("MiB", 1 << 20), ("KiB", 1 << 10)):
        if value >= size:
            return f"{value / size:g} {unit}"
    return f"{value:g} B"
