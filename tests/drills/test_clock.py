"""A clock that is set back and forth by seconds to years: right answers, and gc spares what is in use."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.drills.gravel import LIMIT, PROGRAM, environment
from tests.drills.outcomes import Tally, fault
from tests.drills.preloaded import preloaded
from tests.drills.small import STAGES, Small, Trial, copies

pytestmark = [pytest.mark.slow, pytest.mark.timeout(0)]

HOUR, DAY = 3600, 86400
OFFSETS = (-400 * DAY, -30 * DAY, -DAY, -HOUR, -3, 0, 3, HOUR, DAY, 30 * DAY, 400 * DAY, 7000 * DAY)
STEPS = 5


@contextmanager
def clock(offset: float) -> Iterator[None]:
    """Shift the time of day for Python code of this process; files keep the kernel's time."""
    now, now_ns = time.time, time.time_ns
    time.time = lambda: now() + offset
    time.time_ns = lambda: now_ns() + int(offset * 1e9)
    try:
        yield
    finally:
        time.time, time.time_ns = now, now_ns


def states(cache: Path) -> set[str]:
    """Return the states of the stages of the newest run on record."""
    paths = sorted(cache.glob("runs/*/run.json"), key=lambda path: path.stat().st_mtime_ns)
    return {stage["state"] for stage in json.loads(paths[-1].read_text())["stages"]}


def test_a_clock_that_jumps(small: Small, tmp_path: Path, tries: Callable[[str], int], seed: int) -> None:
    tally, dice = Tally(), random.Random(f"clock {seed}")
    caches = copies(small, tmp_path)
    for _ in range(tries("clock")):
        tally.counts["tries"] += 1
        cache, told = next(caches), ""
        for _ in range(STEPS):
            offset = dice.choice(OFFSETS)
            what = dice.choice(["run", "force", "gc", "gc", "verify", "export", "runs", "status", "ls"])
            told += f"{what} at {offset:+d} s; "
            trial = Trial(small, cache, tally, told)
            with clock(offset):
                if what in ("run", "force"):
                    trial.run(*(["--force", dice.choice(STAGES)] if what == "force" else []))
                elif what == "gc":
                    trial.ask("cache", "gc", "--yes")
                elif what in ("verify", "ls"):
                    trial.ask("cache", what)
                elif what != "export":
                    trial.ask(what)
                trial.compare()
            trial.run()
            if what != "force" and states(cache) != {"cached"}:
                tally.fail(f"{what} lost something: {states(cache)}", told)
    tally.tell("clock set back and forth")


def test_gc_of_another_time_spares_a_run_at_work(small, tmp_path, tries, seed) -> None:
    """One in ten of the tries: gc with `--older-than` believes that it is another year."""
    tally, dice = Tally(), random.Random(f"gc {seed}")
    for number in range(max(1, tries("clock") // 10)):
        cache, offset = tmp_path / "cache", OFFSETS[number % len(OFFSETS)] or -DAY
        shutil.rmtree(cache, ignore_errors=True)
        words = ["--cluster", dice.choice(["inline", "local"]), "--quiet", "--cache", str(cache)]
        command = [*PROGRAM, "run", str(small.folder / "small.yaml"), *words]
        process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment())
        trial = Trial(small, cache, tally, f"gc at {offset:+d} s beside a run {words[1]}")
        limit = time.monotonic() + LIMIT
        while process.poll() is None and time.monotonic() < limit:
            with clock(offset):
                trial.ask("cache", "gc", "--yes", "--older-than", "1h")
            tally.counts["gc"] += 1
        said = process.communicate(timeout=10)[1]
        if process.returncode:
            tally.fail(f"the run ended with {process.returncode}: {said[-500:]}", trial.harm)
        trial.run()
        if states(cache) != {"cached"}:
            tally.fail(f"something was lost: {states(cache)}", trial.harm)
        trial.compare()
    tally.tell("gc of another time")


@pytest.mark.parametrize("cluster", ["inline", "local"])
def test_whole_processes_at_another_time(small: Small, tmp_path: Path, cluster: str) -> None:
    """Runs of processes whose clock is set back, or was ahead when the cache was filled."""
    library = preloaded("other_time.c", tmp_path)
    for first, second in ((400 * DAY, -DAY), (-400 * DAY, DAY), (2 * HOUR, 0), (0, -2 * HOUR)):
        cache = tmp_path / f"cache {first} {second}"
        gravel = small.gravel(cache)
        for offset, expected in ((first, "computed"), (second, "cached"), (0, "cached")):
            shifted = environment() | {"LD_PRELOAD": str(library), "CLOCK_OFFSET": str(offset)}
            command = gravel.words("run", "--cluster", cluster, "--quiet")
            done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, env=shifted)
            assert done.returncode == 0, done.stderr
            assert fault(done) is None, done.stderr
            assert states(cache) == {expected}, offset
            gravel.export("bfs", tmp_path / "bfs.csv")
            assert (tmp_path / "bfs.csv").read_bytes() == small.answers["bfs"]
        assert gravel.verify()["damaged"] == {}
