"""The results of a cached plan, looked up as the planner and the scheduler look up theirs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gravel.pipeline.core.errors import GravelError
from gravel.pipeline.store.cache import Cache
from gravel.pipeline.store.records import BrokenRecord

if TYPE_CHECKING:
    from pathlib import Path

    from gravel.pipeline.store.records import ArtifactRecord, RecipeRecord
    from gravel.stages.artifact import Json

__all__ = ["Found", "find_all"]


@dataclass(frozen=True)
class Found:
    """A result that is there: what its recipe led to, and the records of its artifacts."""

    record: RecipeRecord
    artifacts: Sequence[ArtifactRecord]


class _Untouched(Cache):
    """A cache whose damage is left where it is, for the planner to find and tell."""

    def _set_aside(self, name: str, problem: str) -> None:
        raise BrokenRecord(problem)


def find_all(root: Path, stages: Sequence[Mapping[str, Json]]) -> dict[str, Found] | None:
    """Find the results of stage runs by key; None unless every one is there, whole, and the one known.

    Each of `stages` has `key`, `keep`, `recipe` and `outputs`; one that is not kept has nothing to find. With
    the same outputs each recipe further on is still the one that was kept.
    """
    cache = _Untouched(root)
    if cache.remote is not None:
        return None
    found = {}
    try:
        for stage in stages:
            if not stage["keep"]:
                continue
            record = cache.look_up(stage["recipe"])
            if record is None or list(record.outputs) != stage["outputs"]:
                return None
            if any(cache.check(name) is not None for name in record.outputs):
                return None
            found[stage["key"]] = Found(record, [cache.describe(name) for name in record.outputs])
    except (BrokenRecord, GravelError, OSError):
        return None
    return found
