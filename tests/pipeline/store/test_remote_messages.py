"""What is said of a store that does not answer, and of temporary files that others left."""

from __future__ import annotations

import os
import time
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from gravel.pipeline.core.errors import DamagedArtifact
from gravel.pipeline.store import remote
from gravel.pipeline.store.files import TEMPORARY_AGE, LocalFiles
from gravel.pipeline.store.objects import RemoteError


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def store(said: list[str]) -> Any:
    """A store of which nothing but the record of one artifact is known."""
    found: Any = object.__new__(remote.Remote)
    found._reported = set()
    found._cache = SimpleNamespace(
        say=said.append,
        is_here=lambda artifact_id: False,
        lock=lambda name: nullcontext(),
        files=SimpleNamespace(read=lambda name: (b"", 0.0)),
    )
    found.record = lambda artifact_id: SimpleNamespace(path=Path("data"))
    return found


def test_each_reason_is_said_once(store: Any, said: list[str]) -> None:
    for reason in ("no route", "no route", "refused"):
        store.failed(RemoteError(reason))
    assert [text.partition(";")[0] for text in said] == ["no route", "refused"]


def test_an_artifact_that_does_not_come_is_said_and_the_store_left_alone(
    store: Any, said: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def unreachable(*, patient: bool) -> None:
        raise RemoteError("no route")

    store._reach = unreachable
    with pytest.raises(DamagedArtifact, match="it is not here, and no route"):
        store.fetch("a" * 64)
    assert said[0].startswith("no route; going on with what is here")
    assert store._quiet_until > time.monotonic()


def test_temporary_files_of_living_writers_stay(tmp_path: Path) -> None:
    (tmp_path / "recipes").mkdir()
    for name, age in ((".young", 1.0), (".old", TEMPORARY_AGE + 60), ("record.json", TEMPORARY_AGE + 60)):
        path = tmp_path / "recipes" / name
        path.touch()
        os.utime(path, (time.time() - age,) * 2)
    assert LocalFiles(tmp_path).leavings("recipes") == ["recipes/.old"]


def test_marks_of_results_that_were_never_recorded_go_after_a_while(store: Any, tmp_path: Path) -> None:
    store._cache = SimpleNamespace(files=LocalFiles(tmp_path))
    for name in ("pending/recorded", "pending/young", "pending/old", "recipes/recorded.json"):
        store._cache.files.replace(name, b"")
    long_ago = time.time() - remote.UNWRITTEN_SECONDS - 60
    os.utime(tmp_path / "pending" / "old", (long_ago, long_ago))
    assert store.pending() == ["recorded"]
    assert store._cache.files.names("pending") == ["recorded", "young"]
