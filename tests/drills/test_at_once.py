"""Twenty-four runs at once on one cache, with `gc` in a loop beside them, round after round."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from tests.drills.gravel import LIMIT, PROGRAM, environment
from tests.drills.outcomes import MAX_SILENCE, Tally
from tests.drills.small import STAGES, Small, Trial, prepare

pytestmark = [pytest.mark.slow, pytest.mark.timeout(0)]

AT_ONCE = 24
LOCAL = 2
"""Of these, how many start workers."""


WORK = 1.0
"""Seconds of processor time that all runs together take in `MAX_SILENCE` unless all of them wait."""


class Progress:
    """When any of the runs last said something or they computed; each has a thread that listens."""

    def __init__(self, started: int) -> None:
        self.last = time.monotonic()
        self.silence = 0.0
        self.said: list[list[str]] = [[] for _ in range(started)]
        self._lock = threading.Lock()
        self._taken = 0.0

    def listen(self, number: int, process: subprocess.Popen[str]) -> threading.Thread:
        thread = threading.Thread(target=self._listen, args=(number, process))
        thread.start()
        return thread

    def _listen(self, number: int, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        for line in process.stdout:
            self.said[number].append(line)
            self._note()

    def _note(self) -> None:
        with self._lock:
            now = time.monotonic()
            self.silence = max(self.silence, now - self.last)
            self.last = now

    def measure(self, processes: list[subprocess.Popen[str]]) -> None:
        """Note it when they have computed: a busy machine may leave them little to say."""
        taken = 0.0
        for process in processes:
            with suppress(psutil.Error):
                times = psutil.Process(process.pid).cpu_times()
                taken += times.user + times.system
        if taken < self._taken or taken - self._taken > WORK:  # less when one has ended
            self._taken = taken
            self._note()


def start(small: Small, cache: Path, dice: random.Random, number: int) -> subprocess.Popen[str]:
    words = ["--cluster", "local", "--workers", "1"] if number < LOCAL else ["--cluster", "inline"]
    if dice.random() < 0.5:
        words += ["--force", dice.choice(STAGES)]
    command = [*PROGRAM, "run", str(small.folder / "small.yaml"), *words, "--json", "--cache", str(cache)]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment()
    )


def test_runs_at_once_beside_gc(tmp_path: Path, tries: Callable[[str], int], seed: int) -> None:
    small = prepare(tmp_path / "small")
    tally, dice = Tally(), random.Random(f"at once {seed}")
    cache, total, longest = tmp_path / "cache", tries("at_once"), 0.0
    for number in range(-(-total // AT_ONCE)):
        if number % 2 == 0:  # every other round goes on in the cache of the one before
            shutil.rmtree(cache, ignore_errors=True)
        runs = min(AT_ONCE, total - number * AT_ONCE)
        trial = Trial(small, cache, tally, f"round {number}")
        progress = Progress(runs)
        processes = [start(small, cache, dice, each) for each in range(runs)]
        threads = [progress.listen(each, process) for each, process in enumerate(processes)]
        limit = time.monotonic() + LIMIT
        while any(process.poll() is None for process in processes) and time.monotonic() < limit:
            trial.ask("cache", "gc", "--yes")
            tally.counts["gc"] += 1
            progress.measure(processes)
            time.sleep(0.05)
        for process in processes:
            if process.poll() is None:
                process.kill()
                tally.fail("a run did not end", trial.harm)
        for thread in threads:
            thread.join()
        longest = max(longest, progress.silence)
        if progress.silence > MAX_SILENCE:
            tally.fail(f"{progress.silence:.1f} s in which all runs waited", trial.harm)
        for process, said in zip(processes, progress.said, strict=True):
            tally.counts["runs"] += 1
            done = subprocess.CompletedProcess([], process.wait(), "".join(said), "".join(said))
            assert process.stdout is not None
            process.stdout.close()
            if not tally.check(done, "run", trial.harm):
                tally.fail(f"a run failed: {''.join(said)[-600:]}", trial.harm)
        check_round(trial, cache, tally)
    print(f"longest silence {longest:.1f} s")
    tally.tell("runs at once")


def check_round(trial: Trial, cache: Path, tally: Tally) -> None:
    """Expect right answers, all of them cached, and nothing damaged."""
    trial.run()
    records = sorted(cache.glob("runs/*/run.json"), key=lambda path: path.stat().st_mtime_ns)
    states = {stage["state"] for stage in json.loads(records[-1].read_text())["stages"]}
    if states != {"cached"}:
        tally.fail(f"something was lost: {states}", trial.harm)
    trial.compare()
    done = trial.do("cache", "verify", "--json")
    if done is None or done.returncode or json.loads(done.stdout)["damaged"]:
        tally.fail(f"damage: {done and done.stdout}", trial.harm)
    if left := [*cache.glob("data/*.lock"), *cache.rglob("*.part")]:
        tally.fail(f"left behind: {left}", trial.harm)
