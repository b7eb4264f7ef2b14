"""Existing clusters: scheduler and workers that were started apart, and what is refused of them."""

from __future__ import annotations

import importlib
import os
import re
import signal
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest

from gravel.pipeline.core.errors import GravelError, RequestError
from gravel.pipeline.core.hardware import FAKE
from gravel.pipeline.plan.model import Plan
from gravel.pipeline.records.past_runs import find_run
from gravel.pipeline.scheduler.execution import execute
from gravel.pipeline.scheduler.machine import RunOptions
from gravel.pipeline.scheduler.outcome import RunOutcome
from gravel.pipeline.workers.existing_cluster import connect
from gravel.pipeline.workers.settings import Tls, security, tls_of
from gravel.pipeline.workers.worker_facts import refuse_other_versions
from tests.drills.gravel import PROGRAM, call_inside
from tests.kernels.tree_copy import TreeCopy
from tests.pipeline.run_case import states
from tests.pipeline.tiny_stages import ADD, DEVICES, MAKE, begun, count, plan_of, stage_run
from tests.pipeline.workers.certificates import make_certificates
from tests.pipeline.workers.dask_processes import DaskProcesses

CHECKOUT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaskProcesses]:
    """A scheduler with two workers that have nannies."""
    with DaskProcesses(tmp_path_factory.mktemp("dask")) as found:
        found.worker("one")
        found.worker("two")
        found.connected(2)
        yield found


def run(plan: Plan, root: Path, where: str, **options: Any) -> RunOutcome:
    return execute(plan, RunOptions(cache_root=root, cluster=where, backend="cpu", **options))


def one() -> Plan:
    return plan_of(stage_run("a", MAKE, value=1))


def test_a_run_by_address_and_by_scheduler_file_share_their_results(
    cluster: DaskProcesses, tmp_path: Path
) -> None:
    root = tmp_path / "cache"
    marks = tmp_path / "marks"
    dies = stage_run("b", ADD, "a", value=2, items=5, once="die", marks=str(marks))
    chain = plan_of(stage_run("a", MAKE, value=1), dies)
    assert states(run(chain, root, cluster.address)) == {"a": "computed", "b": "computed"}
    assert count(marks, 2) == 2
    more = plan_of(*chain.runs.values(), stage_run("group", ADD, "b", value=3, ranks=2))
    outcome = run(more, root, str(cluster.file))
    assert states(outcome) == {"a": "cached", "b": "cached", "group": "computed"}
    assert "2 workers" in outcome.record["cluster"]
    assert "not encrypted" in outcome.record["cluster"]
    assert not list((root / "scratch").iterdir())


def test_a_stage_that_workers_cannot_load_fails_at_once(
    cluster: DaskProcesses, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "only_here.py").write_text(
        "from tests.pipeline.tiny_stages import add as original\n"
        "def add(context, parameters, inputs):\n    return original(context, parameters, inputs)\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    here = importlib.import_module("only_here")
    plan = plan_of(stage_run("a", MAKE, value=1), stage_run("b", replace(ADD, run=here.add), "a", value=2))
    outcome = run(plan, tmp_path / "cache", cluster.address)
    assert states(outcome) == {"a": "computed", "b": "failed"}
    assert re.search(r"a worker could not take it: .*only_here", outcome.record["stages"][1]["error"])
    assert "same environment" in outcome.record["stages"][1]["hint"]


@pytest.mark.slow
def test_a_worker_without_a_nanny_is_given_up_when_its_stage_is_stopped(tmp_path: Path) -> None:
    with DaskProcesses(tmp_path / "dask") as dask:
        dask.worker("one", "--no-nanny")
        dask.connected(1)
        slow = replace(stage_run("slow", ADD, "a", value=2, sleep=60.0), time_limit=1.0)
        plan = plan_of(stage_run("a", MAKE, value=1), slow, stage_run("other", ADD, "a", value=4))
        outcome = run(plan, tmp_path / "cache", dask.address)
        assert states(outcome) == {"a": "computed", "slow": "failed", "other": "failed"}
        assert (
            "no worker is left: it cannot be started anew, since it has no nanny"
            in (outcome.record["stages"][2]["error"])
        )


@pytest.mark.slow
def test_a_scheduler_that_comes_back_serves_the_next_run(tmp_path: Path) -> None:
    root, marks = tmp_path / "cache", tmp_path / "marks"
    plan = plan_of(
        stage_run("a", MAKE, value=1, marks=str(marks)),
        stage_run("b", ADD, "a", value=2, sleep=8.0, marks=str(marks)),
    )
    with DaskProcesses(tmp_path / "dask") as dask:
        dask.worker("one")
        dask.connected(1)

        def restart() -> None:
            while count(marks, 2) == 0:
                time.sleep(0.02)
            dask.scheduler.kill()
            dask.scheduler.wait()

        killer = threading.Thread(target=restart, daemon=True)
        killer.start()
        with pytest.raises(GravelError, match="was lost"):
            run(plan, root, str(dask.file))
        killer.join(5)
        dask.restart()
        dask.worker("two")
        dask.connected(1)
        assert states(run(plan, root, str(dask.file))) == {"a": "cached", "b": "computed"}
    assert (count(marks, 1), count(marks, 2)) == (1, 2)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--scheduler-file", "nothing"], "there is no scheduler file nothing"),
        (["--scheduler-file", "s.json", "--cluster", "local"], "both name a cluster"),
        (["--cluster", "tls://127.0.0.1:9", "--tls-ca", "ca.pem"], "--tls-cert is missing"),
    ],
)
def test_options_that_do_not_go_together_are_said(tmp_path: Path, options: list[str], message: str) -> None:
    words = ["run", str(CHECKOUT / "workflows" / "quickstart.yaml"), "--set", "scale=5", "--backend", "cpu"]
    result = call_inside([*PROGRAM, *words, *options], tmp_path, GRAVEL_CACHE=str(tmp_path / "cache"))
    assert (result.returncode, message in result.stderr) == (2, True), result.stderr


def test_a_stage_is_stopped_at_its_time_limit_and_the_rest_goes_on(
    cluster: DaskProcesses, tmp_path: Path
) -> None:
    marks = tmp_path / "marks"
    outcome = run(limited(marks, 2.0), tmp_path / "cache", cluster.address)
    assert states(outcome) == {"a": "computed", "slow": "failed", "rests": "skipped", "other": "computed"}
    error = outcome.record["stages"][1]["error"]
    assert "it was stopped at its time limit of 2 s" in error
    assert "ms were done" in error
    started = int(next(marks.glob("ran-2-*")).name.rsplit("-", 1)[1])
    assert not psutil.pid_exists(started)  # what it ran in is gone, not only forgotten
    cluster.connected(2)


def test_a_run_that_fails_fast_restarts_the_worker_that_still_works(
    cluster: DaskProcesses, tmp_path: Path
) -> None:
    from distributed import Client

    marks = tmp_path / "marks"
    plan = plan_of(
        stage_run("a", MAKE, value=1),
        stage_run("slow", ADD, "a", value=2, sleep=60.0, marks=str(marks)),
        stage_run("bad", ADD, "a", value=3, awaits=begun(marks, 2), fail="stage"),
    )
    with Client(cluster.address, set_as_default=False) as client:
        before = client.run(os.getpid)
        assert states(run(plan, tmp_path / "cache", cluster.address, fail_fast=True))["slow"] == "skipped"
        after = client.run(os.getpid)
    assert len(after) == 2  # they are not ours to end
    assert len(set(before.values()) & set(after.values())) == 1


def limited(marks: Path, limit: float) -> Plan:
    slow = stage_run("slow", ADD, "a", value=2, sleep=60.0, marks=str(marks))
    return plan_of(
        stage_run("a", MAKE, value=1),
        replace(slow, time_limit=limit),
        stage_run("rests", ADD, "slow", value=3),
        replace(stage_run("other", ADD, "a", value=4), time_limit=50.0),
    )


@pytest.mark.parametrize("aside", [False, True])
def test_a_stage_of_an_inline_run_is_stopped_too(tmp_path: Path, aside: bool) -> None:
    outcomes: list[RunOutcome] = []

    def carry_out() -> None:
        outcomes.append(run(limited(tmp_path / "marks", 0.3), tmp_path / "cache", "inline"))

    if aside:  # where no signal handler can be
        thread = threading.Thread(target=carry_out)
        thread.start()
        thread.join()
    else:
        carry_out()
    assert states(outcomes[0]) == {"a": "computed", "slow": "failed", "rests": "skipped", "other": "computed"}
    assert "its time limit of 0.3 s" in outcomes[0].record["stages"][1]["error"]


def test_who_refuses_or_says_nothing_is_no_scheduler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gravel.pipeline.workers.existing_cluster.CONNECT_LIMIT", 0.5)
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        port = silent.getsockname()[1]
        for listens, why in ((False, "ConnectionRefusedError"), (True, "TimeoutError")):
            if listens:
                silent.listen()
            with pytest.raises(RequestError, match=rf"no Dask scheduler answers at .* \({why}\)"):
                connect("run", f"tcp://127.0.0.1:{port}", tmp_path)


def test_workers_of_other_code_or_without_gravel_or_the_cache_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    other = TreeCopy(tmp_path / "other").folder
    with (other / "stages" / "symmetrize.py").open("a") as file:
        file.write("CHANGED = True\n")
    without = tmp_path / "without"
    without.mkdir()
    (without / "sitecustomize.py").write_text(
        "import sys\n"
        "class Hidden:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'gravel':\n"
        "            raise ModuleNotFoundError(\"No module named 'gravel'\", name=name)\n"
        "sys.meta_path.insert(0, Hidden())\n"
    )
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    with DaskProcesses(tmp_path / "dask") as dask:
        with pytest.raises(RequestError, match=r"the Dask cluster at tcp://.* has no workers"):
            run(one(), tmp_path / "cache", dask.address)
        refused = [
            ("other", r"tcp://.* has other code of gravel", {"PYTHONPATH": str(other)}, tmp_path / "cache"),
            ("without", r"has no gravel, or not all .* 'gravel'", {"PYTHONPATH": str(without)}, tmp_path),
            # Each process has its own folder behind this path, as machines without a shared disk have.
            ("elsewhere", r"does not see the cache /proc/self/cwd/cache", {}, Path("/proc/self/cwd/cache")),
        ]
        for name, message, environment, root in refused:
            worker = dask.worker(name, "--no-nanny", environment=environment, folder=elsewhere)
            dask.wait_for(1)
            with pytest.raises(RequestError, match=message) as told:
                run(one(), root, dask.address)
            assert told.value.exit_code == 2
            assert told.value.problems[0].hint
            worker.kill()
            dask.wait_for(0)


def test_gpus_of_a_cluster_are_used_from_a_machine_without(tmp_path: Path) -> None:
    plan = plan_of(stage_run("a", MAKE, value=1), stage_run("on", DEVICES, "a", value=2, device=3 << 30))
    given = {"cache_root": tmp_path / "cache", "backend": "cuda"}
    with DaskProcesses(tmp_path / "dask") as dask:
        dask.worker("one", "--no-nanny", environment={FAKE: "1x4GiB"})
        dask.connected(1)
        with pytest.raises(RequestError, match="how much memory each has is not said"):
            execute(plan, RunOptions(cluster=dask.address, **given))
        with pytest.raises(RequestError, match="3 GiB of GPU memory"):
            execute(plan, RunOptions(cluster=dask.address, device_memory="2GiB", **given))
        outcome = execute(plan, RunOptions(cluster=dask.address, device_memory="3.5GiB", **given))
    assert states(outcome) == {"a": "computed", "on": "computed"}
    assert "1 workers on pretended GPU at tcp://" in outcome.record["cluster"]


def test_a_lost_scheduler_ends_the_run_and_the_next_one_goes_on(tmp_path: Path) -> None:
    root, marks = tmp_path / "cache", tmp_path / "marks"
    with DaskProcesses(tmp_path / "dask") as dask:
        dask.worker("one", "--no-nanny")
        dask.connected(1)

        def kill() -> None:
            limit = time.monotonic() + 60
            while count(marks, 2) == 0 and time.monotonic() < limit:
                time.sleep(0.02)
            os.kill(dask.scheduler.pid, signal.SIGKILL)

        killer = threading.Thread(target=kill)
        killer.start()
        plan = plan_of(
            stage_run("a", MAKE, value=1, marks=str(marks)),
            stage_run("b", ADD, "a", value=2, sleep=60.0, marks=str(marks)),
        )
        with pytest.raises(GravelError, match=r"scheduler at tcp://.* was lost .*; 1 of 2 results are kept"):
            run(plan, root, dask.address)
        killer.join()
    _, record = find_run(root, "last")
    assert record["state"] == "failed"
    assert [stage["state"] for stage in record["stages"]] == ["computed", "interrupted"]
    again = plan_of(plan.runs["a"], stage_run("b", ADD, "a", value=2, marks=str(marks)))
    outcome = run(again, root, "inline")
    assert states(outcome) == {"a": "cached", "b": "computed"}


def versions(**other: str | None) -> dict[str, Any]:
    packages: dict[str, str | None] = {
        "python": "3.11.9.final.0",
        "dask": "2026.7.1",
        "distributed": "2026.7.1",
        "numpy": "2.3.1",
    }
    return {"packages": {**packages, **other}}


@pytest.mark.parametrize(
    ("scheduler", "worker", "message"),
    [
        ({"distributed": "2026.6.0"}, {}, r"the scheduler has distributed 2026\.6\.0 \(here 2026\.7\.1\)$"),
        ({}, {"python": "3.12.1.final.0"}, r"worker tcp://w:1 has python 3\.12\.1 \(here 3\.11\.9\)$"),
        ({}, {"numpy": "1.26.4"}, r"worker tcp://w:1 has numpy 1\.26\.4 \(here 2\.3\.1\)$"),
        ({}, {"numpy": None}, r"worker tcp://w:1 has no numpy \(here 2\.3\.1\)$"),
        (
            {"dask": "2025.1.0"},
            {"dask": "2025.1.0", "distributed": "1", "numpy": "1", "python": "2"},
            r"1 more",
        ),
        ({"numpy": None}, {"python": "3.11.2.final.0", "numpy": "2.3.9"}, None),
    ],
)
def test_what_differs_in_software_is_listed(
    scheduler: dict[str, str], worker: dict[str, str], message: str | None
) -> None:
    found = {
        "client": versions(),
        "scheduler": versions(**scheduler),
        "workers": {"tcp://w:1": versions(**worker)},
    }
    if message is None:
        refuse_other_versions(found, "there")
    else:
        with pytest.raises(RequestError, match=message):
            refuse_other_versions(found, "there")


def test_tls_options_are_checked_before_anything_is_asked(tmp_path: Path) -> None:
    assert tls_of(None, None, None) is None
    with pytest.raises(RequestError, match="--tls-ca is missing"):
        tls_of(None, "c.pem", None)
    with pytest.raises(RequestError, match="--tls-cert is missing"):
        tls_of("ca.pem", None, "k.pem")
    tls = Tls(tmp_path / "ca.pem", tmp_path / "c.pem")
    with pytest.raises(RequestError, match="is not encrypted"):
        security(tls, "tcp://127.0.0.1:8786")
    with pytest.raises(RequestError, match=r"ca\.pem cannot be read"):
        security(tls, "tls://127.0.0.1:8786")
    with pytest.raises(RequestError, match="needs certificates, and none are given"):
        security(None, "tls://127.0.0.1:8786")
    for file in (tls.ca, tls.certificate):
        file.write_text("no certificate")
    with pytest.raises(RequestError, match="the TLS files cannot be used"):
        security(tls, "tls://127.0.0.1:8786")
    with pytest.raises(RequestError, match="gravel starts this cluster itself"):
        run(one(), tmp_path / "cache", "inline", tls=tls)


def test_an_encrypted_cluster_serves_those_whom_its_authority_signed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import dask

    ours, theirs = make_certificates(tmp_path, "ours"), make_certificates(tmp_path, "theirs")
    plan = plan_of(stage_run("a", MAKE, value=1), stage_run("group", ADD, "a", value=3, ranks=1, items=3))
    tls = Tls(ours.ca, ours.certificate, ours.key)
    with DaskProcesses(tmp_path / "dask", options=ours.options, protocol="tls") as encrypted:
        encrypted.worker("one", "--no-nanny")
        encrypted.connected(1, security=security(tls, encrypted.address))
        assert encrypted.address.startswith("tls://")
        outcome = run(plan, tmp_path / "cache", str(encrypted.file), tls=tls)
        assert states(outcome) == {"a": "computed", "group": "computed"}
        assert ", encrypted" in outcome.record["cluster"]
        configured = {
            "distributed.comm.tls.ca-file": str(ours.ca),
            "distributed.comm.tls.client.cert": str(ours.certificate),
            "distributed.comm.tls.client.key": str(ours.key),
        }
        with dask.config.set(configured):
            more = plan_of(*plan.runs.values(), stage_run("b", ADD, "a", value=4))
            outcome = run(more, tmp_path / "cache", encrypted.address)
            assert states(outcome) == {"a": "cached", "group": "cached", "b": "computed"}
        monkeypatch.setattr("gravel.pipeline.workers.existing_cluster.CONNECT_LIMIT", 2)
        for other in (
            Tls(theirs.ca, ours.certificate, ours.key),
            Tls(ours.ca, theirs.certificate, theirs.key),
        ):
            with pytest.raises(RequestError, match=r"do not trust each other \(TLS: "):
                run(plan_of(stage_run("c", MAKE, value=7)), tmp_path / "cache", encrypted.address, tls=other)
        with pytest.raises(RequestError, match="needs certificates"):
            run(plan_of(stage_run("c", MAKE, value=7)), tmp_path / "cache", encrypted.address)
