"""Runs in which a result may be left unwritten, and what became of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gravel.pipeline.plan.model import Plan, StageRun
from gravel.pipeline.scheduler.executing import execute
from gravel.pipeline.scheduler.options import RunOptions, RunOutcome
from gravel.pipeline.store.cache import Cache
from tests.pipeline.memory_stages import AGAIN, LOOK, sized
from tests.pipeline.tiny_stages import plan_of

MIB = 1 << 17
"""Numbers of 8 bytes in a MiB."""


def run(plan: Plan, root: Path, cluster: str = "inline", **options: Any) -> RunOutcome:
    options = {"remake": "always", **options}
    return execute(plan, RunOptions(cache_root=root, cluster=cluster, backend="cpu", workers=2, **options))


def auto(key: str, stage: Any, *inputs: str, **parameters: Any) -> StageRun:
    return sized(key, stage, *inputs, keep="auto", **parameters)


def chain(marks: Path, *more: StageRun, **parameters: Any) -> Plan:
    """`a`, which may be left out, and `b`, which reads it and is what was asked for."""
    noted = {"marks": str(marks)}
    return plan_of(
        auto("a", AGAIN, value=1, count=MIB, **noted, **parameters),
        auto("b", LOOK, "a", value=2, **noted),
        *more,
    )


def states(outcome: RunOutcome) -> dict[str, str]:
    return {stage["key"]: stage["state"] for stage in outcome.record["stages"]}


def is_written(root: Path, outcome: RunOutcome, key: str) -> bool:
    return all(Cache(root).is_here(name) for name in outcome.outputs(key))


def of(outcome: RunOutcome, key: str) -> dict[str, Any]:
    found: dict[str, Any] = next(stage for stage in outcome.record["stages"] if stage["key"] == key)
    return found


def whole(root: Path) -> None:
    """All that is in the cache is what was computed, and nothing lies beside it that a sweep leaves."""
    Cache(root).sweep()
    assert not Cache(root).verify().damaged
    assert not list((root / "data").glob("*.lock"))
    assert not list((root / "locks").iterdir())
