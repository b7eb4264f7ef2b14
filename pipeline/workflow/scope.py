"""One file of a workflow while it is read."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from gravel.pipeline.workflow.nodes import MapNode, Text
from gravel.pipeline.workflow.values import Values

__all__ = ["Scope"]


@dataclass
class Scope:
    """One file being read; `chain` holds the files that use each other, this one last."""

    source: Text
    path: Path
    top: MapNode
    prefix: str = ""
    chain: tuple[Path, ...] = ()
    values: Values = field(default_factory=Values)
