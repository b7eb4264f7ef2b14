"""Carrying out a plan: what is cached is used, the rest runs on a cluster that starts when it is needed."""

from typing import TYPE_CHECKING, Any

from gravel.pipeline.scheduler.options import RunOptions, RunOutcome

if TYPE_CHECKING:
    from gravel.pipeline.scheduler.executing import execute

__all__ = ["RunOptions", "RunOutcome", "execute"]


def __getattr__(name: str) -> Any:
    """Import `execute` when it is asked for: a run known to find everything cached does without."""
    if name == "execute":
        from gravel.pipeline.scheduler.executing import execute

        return execute
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
