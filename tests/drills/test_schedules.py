"""Schedules with real ticks and runs: killed at any moment, two at once, clocks that jump."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import psutil
import pytest

from gravel.pipeline.schedule.job_run import find_record
from gravel.pipeline.schedule.job_store import Claim, JobStore
from gravel.pipeline.schedule.ticker import Ticker
from tests.drills.gravel import PROGRAM, QUICKSTART, environment, session

pytestmark = pytest.mark.slow
"""All together they take four minutes."""

CLOCK = """
import sys, time
from pathlib import Path
from gravel.pipeline.schedule.ticker import Ticker
root, offset = Path(sys.argv[1]), Path(sys.argv[2])
sys.exit(Ticker(root, clock=lambda: time.time() + float(offset.read_text())).serve())
"""
FORCED = ("--", "--cluster", "inline", "--only", "graph", "--force", "edges")
"""A run that always computes: two seconds and more."""


@dataclass
class Schedules:
    """The schedules of a cache and the services that a test started on it."""

    cache: Path
    services: list[subprocess.Popen[str]] = field(default_factory=list)

    @property
    def store(self) -> JobStore:
        return JobStore(self.cache)

    def gravel(self, *words: str) -> str:
        ended = subprocess.run(
            [*PROGRAM, "schedule", *words], capture_output=True, text=True, timeout=60, env=environment()
        )
        assert ended.returncode == 0, ended.stderr
        return ended.stdout

    def add(self, name: str, cron: str, *words: str, run: tuple[str, ...] = FORCED) -> None:
        place = ("--name", name, "--cron", cron, "--zone", "UTC", "--cache", str(self.cache))
        self.gravel("add", str(QUICKSTART), "--set", "scale=6", *place, *words, *run)

    def start(self, *program: str) -> subprocess.Popen[str]:
        words = program or (*PROGRAM, "schedule", "run", "--cache", str(self.cache))
        process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=environment())
        self.services.append(process)
        return process

    def stop(self) -> None:
        """Stop every service as Ctrl-C does and wait until nothing runs."""
        for process in self.services:
            process.send_signal(signal.SIGINT)
        for process in self.services:
            process.communicate(timeout=60)
        self.services.clear()
        for name in self.store.names():
            wait(lambda name=name: not self.store.running(name), 40, "its run ended")

    def claims(self, name: str) -> list[Claim]:
        return self.store.claims(name)

    def records(self) -> list[dict[str, Any]]:
        found = []
        for path in self.cache.glob("runs/*/run.json"):
            with suppress(ValueError):
                found.append(json.loads(path.read_text()))
        return found

    def going(self, name: str) -> Claim | None:
        """The claim whose run has begun to write its record."""
        for claim in self.claims(name):
            if claim.state == "running" and (record := find_record(self.cache, claim)) is not None:
                return replace(claim, run=record["run"])
        return None

    def check(self, name: str) -> None:
        """No due time twice, but for runs that were lost or interrupted; a record for each."""
        by_due: dict[int, list[Claim]] = {}
        for claim in self.claims(name):
            by_due.setdefault(claim.due, []).append(claim)
        for claims in by_due.values():
            assert [each.attempt for each in claims] == list(range(1, len(claims) + 1))
            assert all(each.state in ("lost", "interrupted") and each.again for each in claims[:-1]), claims
        runs = [claim.run for claim in self.claims(name) if claim.run]
        assert len(runs) == len(set(runs))


def wait(condition: Callable[[], Any], seconds: float, what: str) -> Any:
    limit = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < limit, f"not in {seconds} s: {what}"
        time.sleep(0.05)
    return found


@pytest.fixture
def schedules(tmp_path: Path) -> Iterator[Schedules]:
    made = Schedules(tmp_path / "cache")
    yield made
    for process in made.services:
        process.kill()
        process.communicate()
    for name in made.store.names():
        for claim in made.claims(name):
            if claim.state == "running":
                kill_all(claim)


def kill_all(claim: Claim) -> None:
    """Kill a run with its workers at the same instant, as a machine that goes down does."""
    with suppress(psutil.NoSuchProcess):
        run = psutil.Process(claim.pid)
        assert "gravel.pipeline.cli.scheduled_run" in " ".join(run.cmdline())
        family = [run, *run.children(recursive=True)]
        for process in family:
            process.suspend()
        for process in family:
            with suppress(psutil.NoSuchProcess):
                process.kill()


def test_a_killed_service_loses_nothing(schedules: Schedules):
    """Killed in the middle of a run: that goes on and is recorded, and the next service takes over."""
    schedules.add("job", "*/3 * * * * *")
    for _ in range(3):
        service = schedules.start()
        claim = wait(lambda: schedules.going("job"), 30, "a run has begun")
        service.kill()
        service.communicate()
        schedules.services.clear()
        ended = wait(lambda: not schedules.store.running("job"), 60, "the run ended without a service")
        assert ended
        after = schedules.store.find_claim("job", claim.name)
        assert after is not None
        assert (after.state, after.run) == ("done", claim.run)
    assert all(claim.state == "done" and claim.attempt == 1 for claim in schedules.claims("job"))
    assert len(schedules.records()) == len(schedules.claims("job"))
    schedules.check("job")


def test_a_machine_that_goes_down(schedules: Schedules):
    """Service and run are killed; the lease is dead, and the due time is run again."""
    heard = schedules.cache.parent / "heard.json"
    schedules.add("job", "*/20 * * * * *", "--on-failure", f"cat > {heard}")
    service = schedules.start()
    claim = wait(lambda: schedules.going("job"), 50, "a run has begun")
    service.kill()
    kill_all(claim)
    service.communicate()
    schedules.services.clear()
    wait(lambda: not schedules.store.running("job"), 10, "the lease is free")
    assert json.loads(schedules.store.log(claim).with_suffix(".json").read_text())["state"] == "running"
    schedules.start()
    states = ["lost", "done"]
    wait(lambda: [each.state for each in schedules.store.claims("job", claim.due)] == states, 60, str(states))
    schedules.stop()
    schedules.check("job")
    told = json.loads(heard.read_text())
    assert told["claim"]["state"] == "lost"
    assert (told["run"]["run"], told["run"]["state"]) == (claim.run, "interrupted")


def test_a_run_goes_on_without_its_tick(schedules: Schedules):
    """The tick is killed: the run ends, and the hook that is owed is called once, by it or the next tick."""
    heard = schedules.cache.parent / "heard"
    for name, dies in (("by-itself", False), ("by-the-next-tick", True)):
        heard.write_text("")
        schedules.add(name, "@yearly", "--set", "scale=17", "--on-success", f"cat >> {heard}")
        due = wait_for_due(schedules, name)
        tick = schedules.start(*PROGRAM, "schedule", "tick", "--cache", str(schedules.cache))
        claim = wait(lambda name=name: schedules.going(name), 60, "a run has begun")
        tick.kill()
        tick.communicate()
        schedules.services.clear()
        if dies:  # once its record says that it is done, before it could write the outcome
            wait(lambda claim=claim: ended(schedules, claim), 60, "its record")
            kill_all(claim)
        wait(lambda name=name: not schedules.store.running(name), 60, "the run ended without a tick")
        for _ in range(2):
            schedules.gravel("tick", "--cache", str(schedules.cache))
        (after,) = schedules.store.claims(name, due)
        assert (after.state, after.run, after.attempt) == ("done", claim.run, 1)
        told = json.loads(heard.read_text())  # of one call, not two
        assert (told["event"], told["run"]["run"]) == ("success", claim.run)
        schedules.check(name)


def wait_for_due(schedules: Schedules, name: str) -> int:
    """Have a job wait for its run, as if it had been due."""
    store, due = schedules.store, 1_700_000_000
    store.write_state(store.job(name), replace(store.state(store.job(name)), waiting=due))
    return due


def ended(schedules: Schedules, claim: Claim) -> bool:
    record = json.loads((schedules.cache / "runs" / str(claim.run) / "run.json").read_text())
    return bool(record["state"] == "done")


def test_two_services_that_are_killed_at_random(schedules: Schedules):
    """For half a minute two services serve three jobs; one or the other is killed and started anew."""
    schedules.add("a", "*/2 * * * * *")
    schedules.add("b", "*/3 * * * * *", run=("--", "--cluster", "inline", "--only", "edges"))
    schedules.add("c", "* * * * * *", run=("--", "--cluster", "inline", "--only", "edges"))
    moments = random.Random(6)
    services = [schedules.start(), schedules.start()]
    end = time.monotonic() + 30
    kills = 0
    while time.monotonic() < end:
        time.sleep(moments.uniform(0.1, 3))
        victim = moments.randrange(2)
        services[victim].kill()
        services[victim].communicate()
        schedules.services.remove(services[victim])
        services[victim] = schedules.start()
        kills += 1
    schedules.stop()
    ran = {name: schedules.claims(name) for name in "abc"}
    for name, claims in ran.items():
        schedules.check(name)
        assert len(claims) >= 4, name
        assert {claim.state for claim in claims} <= {"done", "interrupted"}, claims
    runs = {claim.run for claims in ran.values() for claim in claims if claim.run}
    assert runs == {record["run"] for record in schedules.records()}, "every run is that of one claim"
    print(f"{kills} kills; runs: { {name: len(claims) for name, claims in ran.items()} }")


def test_two_services_and_a_crowd_of_ticks(schedules: Schedules):
    """Ten passes at the same instant over a job that was missed: it is run once."""
    schedules.add("job", "0 0 1 1 *")
    job = schedules.store.job("job")
    path = schedules.cache / "schedules" / "job" / "job.json"
    path.write_text(path.read_text().replace(str(job.created), str(job.created - 2 * 366 * 86400)))
    for _ in range(2):
        schedules.start()
    ticks = [
        subprocess.Popen([*PROGRAM, "schedule", "tick", "--cache", str(schedules.cache)]) for _ in range(8)
    ]
    assert [tick.wait(90) for tick in ticks] == [0] * 8
    wait(lambda: not schedules.store.running("job"), 60, "the run ended")
    schedules.stop()
    assert [claim.state for claim in schedules.claims("job")] == ["done"]
    assert len(schedules.records()) == 1


def test_a_clock_that_jumps(schedules: Schedules, tmp_path: Path):
    """Ahead by ten days, back by an hour, back by ten days: no due time is run twice, none starves."""
    schedules.add("job", "*/5 * * * * *", run=("--", "--cluster", "inline", "--only", "edges"))
    offset = tmp_path / "offset"

    def jump(seconds: float) -> None:
        aside = tmp_path / "aside"
        aside.write_text(str(seconds))
        aside.replace(offset)

    def done() -> list[int]:
        return [claim.due for claim in schedules.claims("job") if claim.state == "done"]

    days = 10 * 86400
    jump(0)
    schedules.start(sys.executable, "-c", CLOCK, str(schedules.cache), str(offset))
    wait(lambda: len(done()) >= 2, 40, "two runs")
    now = time.time()
    jump(days)
    wait(lambda: max(done()) > now + days - 10, 40, "runs under the new time")
    assert sum(due > now + 60 for due in done()) <= 3, "one run stands for what was missed"
    before = done()
    jump(days - 3600)
    time.sleep(8)
    assert len(done()) <= len(before) + 1, "an hour back: it waits"
    state = schedules.store.state(schedules.store.job("job"))
    assert state.decided > time.time() + days - 60
    jump(days)
    wait(lambda: len(done()) >= len(before) + 2, 40, "it goes on where it was")
    jump(0)
    wait(lambda: sum(now + 10 < due < now + 3600 for due in done()) >= 2, 40, "ten days back: it counts anew")
    schedules.stop()
    schedules.check("job")
    dues = [claim.due for claim in schedules.claims("job") if claim.attempt == 1]
    assert len(dues) == len(set(dues))


def test_a_job_longer_than_its_period(schedules: Schedules):
    schedules.add("job", "* * * * * *")
    schedules.start()
    wait(lambda: len(schedules.claims("job")) >= 4, 60, "four runs")
    state = schedules.store.state(schedules.store.job("job"))
    schedules.stop()
    schedules.check("job")
    done = [claim for claim in schedules.claims("job") if claim.state == "done"]
    for one, other in pairwise(done):
        assert one.ended is not None
        assert one.ended <= other.began, "one after another"
        assert other.due - one.due >= 2, "what came meanwhile is left out"
    assert state.skipped >= 3


def test_the_time_limit(schedules: Schedules):
    """The run is interrupted as by Ctrl-C: its record says so, what it made is kept, a hook hears of it."""
    heard = schedules.cache.parent / "heard.json"
    words = ("--set", "scale=19", "--time-limit", "4s", "--on-failure", f"cat > {heard}")
    schedules.add("job", "*/30 * * * * *", *words, run=("--", "--cluster", "inline"))
    schedules.start()
    (claim, *_) = wait(
        lambda: [each for each in schedules.claims("job") if each.state != "running"], 90, "it ended"
    )
    wait(heard.exists, 10, "the hook")
    schedules.stop()
    assert (claim.state, claim.exit_code) == ("timed out", 130)
    assert "it was interrupted" in str(claim.problem)
    told = wait(lambda: heard.read_text() and json.loads(heard.read_text()), 5, "the JSON")
    assert told["event"] == "failure"
    assert told["run"]["state"] == "interrupted"
    assert told["run"]["run"] == claim.run
    took = datetime.fromisoformat(told["run"]["ended"]) - datetime.fromisoformat(told["run"]["started"])
    print(f"limit 4 s: ended after {claim.seconds} s; the record says {took.total_seconds()} s")
    assert [path.name for path in (schedules.cache / "scratch").glob("*")] == []


@pytest.mark.parametrize("cluster", ["inline", "local"])
def test_a_run_that_does_not_listen_is_killed_with_its_workers(schedules: Schedules, cluster: str):
    schedules.add(
        "job", "@yearly", "--set", "scale=19", "--time-limit", "6s", run=("--", "--cluster", cluster)
    )
    store = schedules.store
    wait_for_due(schedules, "job")
    found: list[psutil.Process] = []

    def save_entry() -> None:
        claim = wait(lambda: schedules.going("job"), 30, "a run has begun")
        time.sleep(3)
        run = psutil.Process(claim.pid)
        found.extend(session(run.pid))
        run.suspend()

    thread = threading.Thread(target=save_entry)
    thread.start()
    assert Ticker(schedules.cache, grace=1.0).tick() == 1
    thread.join()
    (claim,) = schedules.claims("job")
    assert (claim.state, claim.exit_code) == ("timed out", -9)
    assert "it was killed" in str(claim.problem)
    assert found
    _, alive = psutil.wait_procs(found, timeout=10)
    assert alive == []
    assert not store.running("job")
