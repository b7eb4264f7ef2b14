"""kill -9 of a run's driver at random moments, then the same command again."""

from __future__ import annotations

import os
import random
import shutil
import time
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

import pytest

from tests.drills.conftest import share
from tests.drills.gravel import PROGRAM, Gravel, session, wait_until_gone
from tests.drills.outcomes import MAX_SILENCE, limited

WORKERS_END = MAX_SILENCE
"""Seconds within which workers must notice that their driver died; they take well under one when idle."""

PARTS = 4
"""Tests of the drill on each kind of cluster."""


@dataclass(frozen=True)
class Reference:
    """An undisturbed run: its export, its duration, and how much of that was after the first stage began."""

    export: bytes
    seconds: float
    stages: float


def undisturbed(
    folder: Path, arguments: tuple[str, ...], *words: str, program: tuple[str, ...] = tuple(PROGRAM)
) -> Reference:
    for number in range(2):  # the first run may compile kernels
        gravel = Gravel(folder / f"cache{number}", arguments=arguments, program=program)
        gravel.run("--quiet", *words)
    # What follows a kill is done in this process, which has to compile kernels, too.
    only = words if "--only" in words else ()
    Gravel(folder / "inside", arguments=arguments, inside=True).run("--quiet", *only)
    record = gravel.records()[-1]
    began = min(stage["started"] for stage in record["stages"] if stage["started"])
    stages = datetime.fromisoformat(record["ended"]).timestamp() - began
    target = folder / "bfs.csv"
    gravel.export("bfs", target)
    return Reference(target.read_bytes(), record["seconds"], max(stages, 0.5))


RUN = "runs/*/run.json"
STAGE = "data/*"


def kill_at(gravel: Gravel, moment: float, *words: str, after: str = RUN) -> tuple[bool, int, float]:
    """Kill the driver `moment` seconds after another file of the pattern `after` is in the cache.

    Returns whether it still ran, how many processes it had, and how long they outlived it, in seconds.
    """
    before = len(list(gravel.cache.glob(after)))
    process = gravel.start("--quiet", *words)
    while len(list(gravel.cache.glob(after))) <= before and process.poll() is None:
        time.sleep(0.005)
    time.sleep(moment)
    running = process.poll() is None
    alive = len(session(process.pid))
    process.kill()
    process.communicate()
    return running, alive, wait_until_gone(process.pid, WORKERS_END)


def check_after_kill(gravel: Gravel, reference: Reference, target: Path, *words: str) -> tuple[int, int]:
    """Verify the cache, run again and compare; return how many stages were reused and how many computed."""
    gravel = replace(gravel, inside=True)
    with limited():
        assert gravel.verify()["damaged"] == {}
    whole = gravel.recipes()
    with limited():
        gravel.run("--quiet", *words)
    last = gravel.records()[-1]
    assert last["state"] == "done"
    reused = {stage["recipe"] for stage in last["stages"] if stage["state"] == "cached"}
    assert reused == whole, "what was whole is reused, and nothing else is"
    gravel.export("bfs", target)
    assert target.read_bytes() == reference.export
    assert gravel.verify()["damaged"] == {}
    assert not list(gravel.cache.glob("data/*.lock")), "what the dead left is swept"
    return len(reused), len(last["stages"]) - len(reused)


def drill(
    folder: Path, kills: int, seed: str, cluster: str, program: tuple[str, ...] = tuple(PROGRAM)
) -> None:
    arguments, words = ("--set", "scale=12"), ("--cluster", cluster)
    reference = undisturbed(folder, arguments, *words, program=program)
    within = {RUN: reference.seconds, STAGE: reference.stages}
    moments = random.Random(seed)
    done = early = 0
    while done < kills:
        # A cluster takes its time to start, and what is written deserves more of the moments.
        after = STAGE if (done + early) % 3 else RUN
        moment = moments.uniform(0, within[after])
        cache = folder / "killed"
        gravel = Gravel(cache, arguments=arguments, program=program)
        running, alive, outlived = kill_at(gravel, moment, *words, after=after)
        # The second run is inline, whatever the first was on: they share the cache.
        reused, computed = check_after_kill(gravel, reference, folder / "again.csv")
        print(
            f"{cluster} {done}: killed {moment:.2f} s after the first of {after}"
            f" ({'running' if running else 'ended'}, {alive} processes, gone after {outlived:.2f} s):"
            f" {reused} reused, {computed} computed",
            flush=True,
        )
        shutil.rmtree(cache)
        if running:
            done += 1
        else:  # it takes less long than the reference did
            early += 1
            within[after] = max(moment, 0.1)


@pytest.mark.slow
@pytest.mark.timeout(0)
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("cluster", ["inline", "local"])
def test_kills_never_harm(tmp_path, tries, seed, cluster, part) -> None:
    number = part + PARTS * (cluster == "local")
    drill(tmp_path, share(tries("kills"), number, 2 * PARTS), f"kills {seed} {number}", cluster)


@pytest.mark.timeout(0)
@pytest.mark.parametrize("cluster", [pytest.param("inline", marks=pytest.mark.slow), "local"])
def test_a_killed_run_goes_on(tmp_path: Path, cluster: str):
    """Killed again and again in one cache, then run to its end."""
    arguments, only = ("--set", "scale=7"), ("--only", "check")
    reference = undisturbed(tmp_path, arguments, *only)
    gravel = Gravel(tmp_path / "killed", arguments=arguments)
    moments = random.Random(os.getpid())
    for _ in range(3 if cluster == "inline" else 1):
        kill_at(gravel, moments.uniform(0, reference.seconds), "--cluster", cluster, *only)
        assert gravel.verify()["damaged"] == {}
    check_after_kill(gravel, reference, tmp_path / "again.csv", *only)
