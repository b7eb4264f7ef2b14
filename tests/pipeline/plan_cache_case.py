"""A cache with an answer in it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from gravel.pipeline.plan.cache import process_state as process_state
from tests.pipeline.plan_cache_bench import PlanCacheBench


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    with pytest.MonkeyPatch.context() as patch:
        bench = PlanCacheBench(tmp_path_factory.mktemp("filled"), patch)
        bench.fill()
    shutil.rmtree(bench.root / "digests")  # of this folder's input
    return bench.root


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, filled: Path) -> PlanCacheBench:
    return PlanCacheBench(tmp_path, monkeypatch, filled)


@pytest.fixture
def frozen(bench: PlanCacheBench) -> PlanCacheBench:
    bench.plan()
    # Only now was no file digested that might have changed while it was read.
    assert not (bench.root / "frozen").exists()
    bench.plan()
    assert len(list((bench.root / "frozen").iterdir())) == 1
    return bench
