"""What every test has: a configuration folder of its own, so that none touches the user's keys."""

from __future__ import annotations

import gc
from itertools import count
from pathlib import Path

import pytest


def pytest_collection_finish() -> None:
    """Keep the collector of garbage from visiting thousands of tests again and again."""
    gc.collect()
    gc.freeze()


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
