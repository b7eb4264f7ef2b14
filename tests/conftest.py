"""What every test has: a configuration folder of its own, so that none touches the user's keys."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

COLLECTED = pytest.StashKey[list[pytest.Item]]()
"""All tests that were found, those that `-m` leaves out too."""

_TESTS = Path(__file__).parent
_ROOMS = {"kernels": 0, "stages": 1, "pipeline": 2}

gc.disable()  # while tests are collected: nothing of them is garbage


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    config.stash[COLLECTED] = list(items)
    items[:] = _units_first(items, getattr(config, "workerinput", {}).get("workercount", 1))


def _units_first(items: list[pytest.Item], workers: int) -> list[pytest.Item]:
    """Put tests of units before those of whole runs, for each worker: one starts at its share of the list."""
    files: dict[Path, list[pytest.Item]] = {}
    for item in items:
        files.setdefault(item.path, []).append(item)
    ordered = sorted(files, key=lambda file: _ROOMS.get(file.relative_to(_TESTS).parts[0], len(_ROOMS)))
    shares = (ordered[first::workers] for first in range(workers))
    return [item for share in shares for file in share for item in files[file]]


def pytest_collection_finish() -> None:
    """Keep the collector of garbage from visiting thousands of tests again and again."""
    gc.collect()
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="session", autouse=True)
def no_waiting_for_the_disk() -> Iterator[None]:
    """Leave to the system when what this process wrote is safe from a power cut, which no test can make.

    Runs wait for it several milliseconds a hundred times. Processes of their own do; tests of what is synced,
    or fails to be, replace `os.fsync` themselves.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda file: os.fstat(file) and None)  # a closed file is still refused
        yield


@pytest.fixture(scope="session")
def config_homes(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, count[int]]:
    """Hold all of them: a folder from the factory costs a look at all that are there."""
    return tmp_path_factory.mktemp("config"), count()


@pytest.fixture(autouse=True)
def config_home(config_homes: tuple[Path, count[int]], monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make the folder, and name it to this process and those that it starts."""
    base, numbers = config_homes
    folder = base / str(next(numbers))
    folder.mkdir()
    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder))
    return folder
