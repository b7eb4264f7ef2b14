"""What makes a command that finds everything cached answer sooner."""

from __future__ import annotations

import gc
import os

ALLOCATIONS = 100_000
"""Objects between two collections. Imports make some 70,000, nearly all of which live on; at Python's own 700
the collector walks them again and again."""


def start_quickly() -> None:
    """Collect garbage rarely, and keep Pydantic from searching all packages for plugins of its own.

    Somebody who sets PYDANTIC_DISABLE_PLUGINS keeps what was set.
    """
    gc.set_threshold(ALLOCATIONS)
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
