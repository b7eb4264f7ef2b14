"""What the planner gets where the content of an input is not known yet."""

from __future__ import annotations

__all__ = ["NeedsContent"]


class NeedsContent(LookupError):
    """What a URL holds is known when it has been fetched; the message says so to a person."""
