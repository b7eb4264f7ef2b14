"""Whole runs of the command line on a store whose line is cut while they push, and that are killed then."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from gravel.pipeline.store.cache import Cache
from gravel.pipeline.store.location import find_cache
from tests.drills.gravel import Gravel
from tests.pipeline.store.s3_server import Line, ask, assert_whole, line_to_bucket, s3_server

URL = "s3://bucket/drill"

ARGUMENTS = ("--set", "scale=9", "--set", "sources=2")


@pytest.fixture
def line(monkeypatch: pytest.MonkeyPatch) -> Iterator[Line]:
    with s3_server() as address, line_to_bucket(address, monkeypatch) as line:
        yield line


def machine(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Gravel:
    """One machine's commands: its tier is its own."""
    monkeypatch.setenv("GRAVEL_LOCAL_TIER", str(folder))
    return Gravel(find_cache(URL), arguments=ARGUMENTS)


@pytest.mark.slow
def test_a_run_killed_while_its_line_is_cut_goes_on(tmp_path, line, monkeypatch):
    moments = random.Random(11)
    for turn in range(5):
        ask(f"http://{line.behind}", "moto-api/reset", method="POST")
        ask(f"http://{line.behind}", "bucket")
        gravel = machine(tmp_path / f"gpu {turn}", monkeypatch)
        line.cut(after=moments.randrange(2_000, 90_000))
        with gravel.start("--cluster", "inline") as process:
            while not line.is_cut and process.poll() is None:
                time.sleep(0.01)
            time.sleep(moments.uniform(0, 0.5))
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
        line.mend()
        assert_whole(URL)

        gravel.run()
        assert set(gravel.states().values()) <= {"cached", "computed"}
        pushes = Cache(gravel.cache).pushes
        assert pushes is not None
        assert pushes.pending() == []
        assert_whole(URL)
        assert gravel.verify()["damaged"] == {}

        laptop = machine(tmp_path / f"laptop {turn}", monkeypatch)
        laptop.run()
        assert set(laptop.states().values()) == {"cached"}
        laptop.export("bfs", tmp_path / f"laptop {turn}.csv")
        gravel.export("bfs", tmp_path / f"gpu {turn}.csv")
        assert (tmp_path / f"laptop {turn}.csv").read_text() == (tmp_path / f"gpu {turn}.csv").read_text()
        assert laptop.verify()["damaged"] == {}


@pytest.mark.slow
def test_a_run_goes_through_a_dead_line_on_workers(tmp_path, line, monkeypatch):
    gravel = machine(tmp_path / "gpu", monkeypatch)
    line.cut(after=20_000)
    said = gravel.run("--cluster", "local", "--workers", "2")
    assert "cannot be reached" in said.stderr + said.stdout
    assert "but kept here" in said.stderr + said.stdout
    assert set(gravel.states().values()) == {"computed"}
    line.mend()
    gravel.run()
    assert_whole(URL)
    laptop = machine(tmp_path / "laptop", monkeypatch)
    laptop.run("--cluster", "local", "--workers", "2")
    assert set(laptop.states().values()) == {"cached"}
