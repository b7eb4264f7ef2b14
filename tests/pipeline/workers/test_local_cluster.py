"""Clusters of worker processes. Each start costs seconds, so every run here shows several things."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import dask
import psutil
import pytest

from gravel.kernels.cuda.room import usable_bytes
from gravel.pipeline.core.errors import RequestError, WorkflowError
from gravel.pipeline.core.hardware import FAKE, fake_devices, rotation
from gravel.pipeline.plan.model import Plan
from gravel.pipeline.records.past_runs import find_run
from gravel.pipeline.scheduler.execution import execute
from gravel.pipeline.scheduler.machine import RunOptions
from gravel.pipeline.scheduler.outcome import RunOutcome
from gravel.pipeline.workers.existing_cluster import connect
from gravel.pipeline.workers.local_cluster import local_worker_count
from tests.drills.gravel import wait_until_gone
from tests.pipeline.run_case import Kept, by_key, searches, states, total, until
from tests.pipeline.tiny_stages import ADD, DEVICES, MAKE, MEASURE, begun, count, plan_of, stage_run

CHECKOUT = Path(__file__).resolve().parents[3]


def run(plan: Plan, root: Path, cluster: str = "local", **options: Any) -> RunOutcome:
    return execute(plan, RunOptions(cache_root=root, cluster=cluster, workers=2, **options))


def children() -> list[psutil.Process]:
    return [
        child for child in psutil.Process().children(recursive=True) if "spawn_main" in str(child.cmdline())
    ]


def span(stage: dict[str, Any]) -> tuple[float, float]:
    return stage["started"], stage["started"] + stage["seconds"]


def test_stages_run_at_once_and_measurements_alone(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    root, marks = tmp_path / "cache", tmp_path / "marks"
    plan = plan_of(
        stage_run("a", MAKE, value=1, marks=str(marks)),
        stage_run("held", ADD, "a", value=7, keep=False, marks=str(marks)),
        stage_run("left", ADD, "a", value=2, awaits=begun(marks, 3), marks=str(marks)),
        stage_run("right", ADD, "a", value=3, awaits=begun(marks, 2), marks=str(marks)),
        stage_run("mapped", ADD, "held", value=4, items=9, marks=str(marks)),
        stage_run("group", ADD, "left", value=5, ranks=2, marks=str(marks)),
        stage_run("group2", ADD, "right", value=10, ranks=2, marks=str(marks)),
        stage_run("m1", MEASURE, "a", value=6, sleep=0.3),
        stage_run("m2", MEASURE, "a", value=8, sleep=0.3),
        stage_run("bad", ADD, "a", value=9, fail="bug"),
    )
    kept = Kept()
    outcome = run(plan, root, display=kept)
    found = states(outcome)
    assert found.pop("bad") == "failed"
    assert set(found.values()) == {"computed"}, found
    assert total(root, outcome, "mapped") == 4 + (7 + 6) + sum(i * i for i in range(9))
    assert total(root, outcome, "group") == 5 + (2 + 6) + 10
    assert total(root, outcome, "group2") == 10 + (3 + 6) + 10
    spans = [span(stage) for key, stage in by_key(outcome).items() if key not in ("m1", "m2", "bad")]
    for key in ("m1", "m2"):
        (seen,) = searches(root, outcome, key)
        assert seen["threads"] == outcome.record["machine"]["cores"]
        assert all(seen["ended"] <= start or end <= seen["began"] for start, end in spans)
    assert "stage_progress" in kept.kinds
    assert children() == []
    assert "".join(capfd.readouterr()) == ""
    assert "Traceback" in (outcome.folder / "logs" / "bad.log").read_text()


def test_lost_workers_are_replaced_and_their_stages_tried_again(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    root, marks = tmp_path / "cache", tmp_path / "marks"
    plan = plan_of(
        stage_run("a", MAKE, value=1, once="die", marks=str(marks)),
        stage_run("held", ADD, "a", value=2, keep=False, marks=str(marks)),
        stage_run("b", ADD, "held", value=3, once="die", marks=str(marks)),
        stage_run("group", ADD, "a", value=4, ranks=2, once="rank dies", marks=str(marks)),
        stage_run("hopeless", ADD, "a", value=5, fail="die", marks=str(marks)),
    )
    with dask.config.set({"distributed.deploy.lost-worker-timeout": "0s"}):  # which a busy machine comes to
        outcome = run(plan, root, retries=1)
    assert states(outcome) == dict.fromkeys(("a", "held", "b", "group"), "computed") | {"hopeless": "failed"}
    assert count(marks, 1) == 2
    assert count(marks, 2) == 2  # lost with the worker that held it, and made again
    assert total(root, outcome, "b") == 3 + 2 + 6
    error = outcome.record["stages"][4]["error"]
    assert "2 attempts" in error
    assert "about to die" in error
    assert "".join(capfd.readouterr()) == ""
    assert children() == []


def test_one_worker_per_pretended_gpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(FAKE, "2x4GiB")
    root, marks = tmp_path / "cache", tmp_path / "marks"
    beside = {"device": 3 << 30, "marks": str(marks)}
    plan = plan_of(
        stage_run("a", MAKE, value=1),
        stage_run("left", DEVICES, "a", value=2, awaits=begun(marks, 3), **beside),
        stage_run("right", DEVICES, "a", value=3, awaits=begun(marks, 2), **beside),
    )
    outcome = execute(plan, RunOptions(cache_root=root))
    assert states(outcome) == {"a": "computed", "left": "computed", "right": "computed"}
    wide = plan_of(stage_run("a", MAKE, value=1), stage_run("wide", ADD, "a", value=4, ranks=3))
    with pytest.raises(WorkflowError, match="wide needs 3 GPUs at the same time, and this machine has 2"):
        execute(wide, RunOptions(cache_root=root))
    (left,), (right,) = searches(root, outcome, "left"), searches(root, outcome, "right")
    assert {left["mask"], right["mask"]} == {"0,1", "1,0"}
    assert left["device_memory"] == usable_bytes(4 << 30)
    too_big = plan_of(stage_run("a", MAKE, value=1), stage_run("big", DEVICES, "a", value=5, device=5 << 30))
    with pytest.raises(RequestError, match="5 GiB of GPU memory"):
        execute(too_big, RunOptions(cache_root=root))


def test_fail_fast_does_not_wait_for_what_runs(tmp_path: Path) -> None:
    marks = tmp_path / "marks"
    plan = plan_of(
        stage_run("a", MAKE, value=1),
        stage_run("slow", ADD, "a", value=2, sleep=60.0, marks=str(marks)),
        stage_run("bad", ADD, "a", value=3, awaits=begun(marks, 2), fail="stage"),
    )
    outcome = run(plan, tmp_path / "cache", fail_fast=True)
    assert states(outcome) == {"a": "computed", "slow": "skipped", "bad": "failed"}
    assert children() == []


def test_masks_turn_so_that_each_worker_sees_its_own_first() -> None:
    devices = fake_devices("3x1GiB")
    assert [rotation(devices, place) for place in range(3)] == ["0,1,2", "1,2,0", "2,0,1"]
    assert local_worker_count(cores=2, ranks=0) == 2
    assert local_worker_count(cores=64, ranks=4) == 8
    assert local_worker_count(cores=2, ranks=4) == 4


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ("tcp://127.0.0.1", "no host with a port number"),
        ("tcp://127.0.0.1:port", "no host with a port number"),
        ("tcp://:8786", "no host with a port number"),
        ("http://127.0.0.1:8786", "no address of a scheduler"),
        ("inproc://1", "no address of a scheduler"),
        ("tls://127.0.0.1:8786", "needs certificates"),
        ("nothing.json", r"no scheduler file nothing\.json"),
        ("{", "is no scheduler file"),
        ('{"id": 3}', "is no scheduler file"),
        ('{"address": "there"}', r"there \(in .*\.json\) is no address"),
    ],
)
def test_a_malformed_address_is_said_at_once(tmp_path: Path, where: str, message: str) -> None:
    if where.startswith("{"):
        (tmp_path / "file.json").write_text(where)
        where = str(tmp_path / "file.json")
    with pytest.raises(RequestError, match=message):
        connect("run", where, tmp_path)
    gc.collect()  # a client of Dask's that never connected would warn here


SLOW = """
import sys
from pathlib import Path
from gravel.pipeline.scheduler.machine import RunOptions
from gravel.pipeline.scheduler.execution import execute
from gravel.pipeline.progress.events import PlainDisplay
from tests.pipeline.tiny_stages import ADD, MAKE, plan_of, stage_run

if __name__ == "__main__":
    root, marks, sleep = Path(sys.argv[1]), sys.argv[2], float(sys.argv[3])
    plan = plan_of(
        stage_run("a", MAKE, value=1, marks=marks),
        stage_run("b", ADD, "a", value=2, marks=marks, sleep=sleep),
    )
    options = RunOptions(cache_root=root, cluster="local", workers=2, display=PlainDisplay())
    sys.exit(execute(plan, options).exit_code)
"""


def start_slow(tmp_path: Path, sign: str = "marks/ran-2-*") -> subprocess.Popen[str]:
    """Start two stages, of which the second takes a minute, and wait until there is a file of this kind."""
    script = tmp_path / "slow.py"
    script.write_text(SLOW)
    command = [sys.executable, str(script), str(tmp_path / "cache"), str(tmp_path / "marks"), "60"]
    environment = {**os.environ, "PYTHONPATH": str(CHECKOUT)}
    process = subprocess.Popen(
        command, stderr=subprocess.PIPE, text=True, start_new_session=True, env=environment
    )
    limit = time.monotonic() + 60
    while not list(tmp_path.glob(sign)):
        assert process.poll() is None
        assert time.monotonic() < limit
        time.sleep(0.05)
    return process


def test_a_killed_driver_leaves_no_workers_and_the_next_run_goes_on(tmp_path: Path) -> None:
    process = start_slow(tmp_path)
    until(lambda: list(tmp_path.glob("cache/recipes/*.json")))  # results are published behind the driver
    process.kill()
    process.communicate()
    wait_until_gone(process.pid, 60)
    marks = tmp_path / "marks"
    _, record = find_run(tmp_path / "cache", "last")
    assert record["state"] == "interrupted"
    first = stage_run("a", MAKE, value=1, marks=str(marks))
    short = plan_of(first, stage_run("b", ADD, "a", value=2, marks=str(marks)))
    outcome = execute(short, RunOptions(cache_root=tmp_path / "cache", cluster="inline", backend="cpu"))
    assert states(outcome) == {"a": "cached", "b": "computed"}
    assert list((tmp_path / "cache" / "scratch").iterdir()) == []


@pytest.mark.parametrize("sign", ["marks/ran-2-*", "cache/runs/*/logs/dask.log"])
def test_ctrl_c_in_the_terminal_ends_driver_and_workers_quietly(tmp_path: Path, sign: str) -> None:
    """While a stage runs, and while the cluster starts."""
    process = start_slow(tmp_path, sign)
    os.killpg(process.pid, signal.SIGINT)  # a terminal sends it to everybody
    _, errors = process.communicate(timeout=100)
    assert process.returncode == 130
    assert "Traceback" not in errors
    assert "KeyboardInterrupt" not in errors
    assert "interrupted in" in errors or "dask" in sign
    wait_until_gone(process.pid, 60)
