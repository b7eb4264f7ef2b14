"""kill -9 of drivers and workers while results are in memory only: nothing of the answers may change."""

from __future__ import annotations

import random
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from tests.drills.conftest import share
from tests.drills.gravel import IN_MEMORY, Gravel
from tests.drills.test_killed import PARTS, drill, undisturbed


@pytest.mark.slow
@pytest.mark.timeout(0)
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("cluster", ["inline", "local"])
def test_killed_drivers(tmp_path, tries, seed, cluster, part) -> None:
    number = part + PARTS * (cluster == "local")
    kills = share(tries("kills"), number, 2 * PARTS)
    drill(tmp_path, kills, f"in memory {seed} {number}", cluster, IN_MEMORY)


def workers_of(process: int) -> list[psutil.Process]:
    """Return the workers of a run, without the processes that watch over them."""
    try:
        children = psutil.Process(process).children(recursive=True)
        return [
            child for child in children if not child.children() and "spawn_main" in " ".join(child.cmdline())
        ]
    except psutil.NoSuchProcess:
        return []


@pytest.mark.slow
@pytest.mark.timeout(0)
def test_killed_workers(tmp_path: Path, tries: Callable[[str], int], seed: int) -> None:
    """A worker dies at a random moment: its results are made again, and the answer is the same."""
    arguments, words = ("--set", "scale=14"), ("--cluster", "local")
    reference = undisturbed(tmp_path, arguments, *words, program=IN_MEMORY)
    moments = random.Random(f"workers {seed}")
    hit = 0
    while hit < tries("kills") // 5:
        cache = tmp_path / "killed"
        gravel = Gravel(cache, arguments=arguments, program=IN_MEMORY)
        process = gravel.start("--quiet", *words)
        while not list(cache.glob("data/*")) and process.poll() is None:
            time.sleep(0.005)
        time.sleep(moments.uniform(0, reference.stages))
        alive = workers_of(process.pid)
        if alive and process.poll() is None:
            moments.choice(alive).kill()
            hit += 1
        said = "".join(process.communicate(timeout=240))
        assert process.returncode == 0, said
        assert gravel.verify()["damaged"] == {}
        gravel.export("bfs", tmp_path / "again.csv")
        assert (tmp_path / "again.csv").read_bytes() == reference.export
        assert not list(cache.glob("data/*.lock")) or Gravel(cache, inside=True).verify()["damaged"] == {}
        shutil.rmtree(cache)
