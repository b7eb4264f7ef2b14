"""gravel: workflows that traverse very large graphs on GPUs, cached, verified and reported.

`run` carries out a workflow as the command does, with the same cache.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gravel.running import Run, RunFailed, run

__all__ = ["Run", "RunFailed", "__version__", "run"]

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    """Import what runs workflows when it is asked for: the command needs nothing of it to start."""
    if name in ("Run", "RunFailed", "run"):
        from gravel import running

        return getattr(running, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
