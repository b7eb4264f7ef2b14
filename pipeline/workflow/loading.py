"""From a workflow file to a `Workflow`, or to every fault in it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pipeline.workflow.model import Workflow
from stages.stage import Stage


def load_workflow(
    path: str | Path, overrides: Mapping[str, str] | None = None, *, stages: Mapping[str, Stage] | None = None
) -> Workflow:
    """Read a workflow file.

    Parameters
    ----------
    path : the file.
    overrides : texts of `--set NAME=VALUE`, each read as a YAML value.
    stages : the stages that may be named; all registered ones if left out.

    Raises
    ------
    WorkflowError : the file, or a value of `overrides`, has faults; all that could be found are told.

    """
    raise RuntimeError("being written")
