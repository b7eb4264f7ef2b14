"""Messages of stages, own ones included, as a terminal, a page and a record can hold them."""

from __future__ import annotations

from gravel.stages.urls import visible

MAX_MESSAGE = 4_000
"""Characters of a message that are shown and kept in a run's record; the log has all."""

MAX_LINE = 200
"""Characters of a message on the line that says that a stage failed; the whole one follows at the end."""


def shown(text: str) -> str:
    """Return a readable text, cut where it is very long."""
    if len(text) <= MAX_MESSAGE:
        return visible(text)
    return f"{visible(text[:MAX_MESSAGE])}... ({len(text):,} characters; the log has all)"


def on_one_line(text: str) -> str:
    """Return how a text begins, if it is no short line."""
    line = text.partition("\n")[0]
    return text if line == text and len(text) <= MAX_LINE else f"{line[:MAX_LINE]}..."
