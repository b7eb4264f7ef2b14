"""Carrying out a plan: what is cached is used, the rest runs on a cluster that starts when it is needed."""

from pipeline.executor.execute import execute
from pipeline.executor.options import RunOptions, RunOutcome

__all__ = ["RunOptions", "RunOutcome", "execute"]
