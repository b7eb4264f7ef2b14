"""The content security policy of pages: nothing is loaded, and only gravel's own scripts run.

It stands in every page, for when that is opened as a file, and is sent with everything that is served.
"""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from pathlib import Path

HERE = Path(__file__).parent

PARTS = ("axes", "reading", "plots", "curves", "rows", "cells", "drawing")
"""The parts, of which each uses those before it."""


@cache
def chart_script() -> str:
    """Return the whole script, with the licence of uPlot before its code."""
    licence, library = _text("uplot/LICENSE").strip(), _text("uplot/uPlot.iife.min.js").strip()
    own = "\n".join(_text(f"charts/{name}.js") for name in PARTS)
    return f"/*!\n{licence}\n*/\n{library}\n(() => {{\n{own}}})();\n"


@cache
def chart_style() -> str:
    """Return the style sheet of uPlot."""
    return _text("uplot/uPlot.min.css").strip()


def _text(name: str) -> str:
    return (HERE / name).read_text(encoding="utf-8")


META = '<meta http-equiv="Content-Security-Policy"'
"""How the element begins that holds the policy of a page."""

SCRIPT = _text("follow.js")
"""What a served page runs, to follow its run."""

TABLES = _text("tables.js")
"""What every page runs, to sort and filter tables."""


def page_policy() -> str:
    """Return the policy for a page's `meta` element.

    Styles are attributes of the figures as well, which no hash can name; they cannot load anything. Data of
    charts is no script: it is of a type that no browser runs.
    """
    scripts = " ".join(
        f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"
        for script in (SCRIPT, TABLES, chart_script())
    )
    return (
        f"default-src 'none'; script-src {scripts}; style-src 'unsafe-inline'; img-src data:; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'"
    )


def served_headers() -> dict[str, str]:
    """Return the headers of everything that is served; some of the policy has effect only there."""
    return {
        "Content-Security-Policy": f"{page_policy()}; frame-ancestors 'none'",
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "no-referrer",
        "Cross-Origin-Resource-Policy": "same-origin",
    }
