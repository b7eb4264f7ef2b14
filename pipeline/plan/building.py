"""Expand a workflow over its matrix into stage runs."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from pipeline.plan.model import Plan
from pipeline.workflow.model import Workflow


def build_plan(
    workflow: Workflow,
    *,
    where: Mapping[str, Collection[str]] | None = None,
    only: Collection[str] = (),
    force: Collection[str] = (),
) -> Plan:
    """Expand a workflow.

    Parameters
    ----------
    where : values to keep of an axis, as texts of `--where AXIS=VALUE`.
    only : entries (or keys of runs) to plan, with what they need; everything if empty.
    force : entries (or keys) to compute even if they are cached.

    Raises
    ------
    RequestError : an axis, value, entry or key that does not exist.

    """
    raise RuntimeError("being written")
