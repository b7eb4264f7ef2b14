"""Frozen plans in processes of their own, and all that a process that plans looks at."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from gravel.pipeline.cli.forecast import forecast
from gravel.pipeline.cli.options import load_plan
from gravel.pipeline.core.trace import traced
from gravel.pipeline.plan.cache import process_state as process_state
from tests.pipeline.plan_cache_bench import PlanCacheBench


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PlanCacheBench:
    bench = PlanCacheBench(tmp_path, monkeypatch)
    bench.fill()
    return bench


ROOT = Path(__file__).resolve().parents[2]

ASK = f"""\
import sys
sys.path.insert(0, {str(ROOT)!r})
from gravel.pipeline.cli import main
try:
    main(sys.argv[1:])
finally:
    print(*sorted({{"click", "pydantic", "ruamel.yaml", "gravel.stages.stage", "zarr"}} & set(sys.modules)))
"""


def is_edited(root: Path, since: float) -> bool:
    """Say whether somebody writes to the checkout while its tests run."""
    paths = [path for name in process_state.OWN for path in (root / name).rglob("*")]
    latest = since - process_state.RACY_SECONDS
    return any(path.stat().st_ctime > latest for path in paths if "__pycache__" not in path.parts)


def test_a_process_that_thaws_imports_no_planner(bench: PlanCacheBench) -> None:
    began, answers = time.time(), []
    for verb in ("plan", "run"):
        for _ in range(4):
            words = [sys.executable, "-c", ASK, verb, "outer.yaml", "--backend", "cpu", "--cluster", "inline"]
            ended = subprocess.run(words, capture_output=True, text=True, check=True, cwd=bench.folder)
            *told, modules = ended.stdout.splitlines()
            answers.append((told, ended.returncode, modules))
            if modules == "click":
                break
            # The first finds nothing frozen; code or caches of it may have been written just now.
            time.sleep(process_state.RACY_SECONDS if len(answers) > 2 else 0)
        if modules != "click" and is_edited(ROOT, since=began):
            pytest.skip("gravel's code changed meanwhile")
        assert modules == "click"
    plans = [told for told, _, _ in answers if told]
    assert len(plans) >= 2
    assert all(told == plans[0] for told in plans)


def test_planning_opens_nothing_that_is_not_noted(bench: PlanCacheBench) -> None:
    bench.plan()  # whatever is imported, is
    opened: list[str] = []
    listening = True

    def hear(event: str, arguments: tuple[object, ...]) -> None:
        if (
            listening
            and event in ("open", "os.listdir", "os.scandir")
            and isinstance(arguments[0], str | Path)
            # Any other name is below a folder that is open, of the cache.
            and Path(arguments[0]).exists()
        ):
            opened.append(str(Path(arguments[0]).absolute()))

    sys.addaudithook(hear)  # for good, so it must be cheap
    with traced() as trace:
        forecast(load_plan("outer.yaml"), None, backend="cpu", cluster="inline")
    listening = False
    assert not trace.doubts
    known = {*trace.texts, *trace.inputs}
    own = (str(bench.root), "/proc/", "/sys/", str(ROOT), sys.prefix, sys.base_prefix)
    assert known <= {*opened, *trace.inputs}
    assert [path for path in opened if path not in known and not path.startswith(own)] == []
    assert {Path(path).name for path in known} == {"outer.yaml", "inner.yaml", "edges.txt", "sources.py"}
    assert {f"{path.parent.name}/{path.name}" for path in bench.root.glob("resolved/*")} < trace.memos
