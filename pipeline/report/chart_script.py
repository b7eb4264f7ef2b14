"""The script that draws the charts of a page: uPlot as it was released, and gravel's own parts after it."""

from __future__ import annotations

from functools import cache
from pathlib import Path

_HERE = Path(__file__).parent
UPLOT = _HERE / "uplot"

PARTS = ("axes", "reading", "plots", "curves", "rows", "cells", "drawing")
"""The parts, of which each uses those before it."""


@cache
def chart_script() -> str:
    """Return the whole script, with the licence of uPlot before its code."""
    licence = (UPLOT / "LICENSE").read_text(encoding="utf-8").strip()
    library = (UPLOT / "uPlot.iife.min.js").read_text(encoding="utf-8").strip()
    own = "\n".join((_HERE / "charts" / f"{name}.js").read_text(encoding="utf-8") for name in PARTS)
    return f"/*!\n{licence}\n*/\n{library}\n(() => {{\n{own}}})();\n"


@cache
def chart_style() -> str:
    """Return the style sheet of uPlot."""
    return (UPLOT / "uPlot.min.css").read_text(encoding="utf-8").strip()
