"""The cache neither reads nor writes a pickle: what is read as one can run code."""

from __future__ import annotations

import ast
import json
import os
import pickle
import shutil
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy
import pytest
from blake3 import blake3

from gravel.pipeline.store import checkpoints
from gravel.pipeline.store.cache import Cache
from gravel.pipeline.store.checkpoints import StoredCheckpoint
from tests.pipeline.samples import each_kind, provenance, recipe
from tests.pipeline.store.trust_case import World, world

__all__ = ["world"]

ROOT = Path(__file__).parents[3]

ROOMS = ("core", "store", "records", "trust", "gc", "datasets", "report", "schedule", "export", "plan")
"""Of the pipeline: all that open files of a cache. Workers send results to each other in other ways."""

PICKLES = {"pickle", "_pickle", "cloudpickle", "dill", "joblib", "shelve", "marshal"}


def test_nothing_that_opens_a_cache_knows_pickles() -> None:
    found = []
    for room in ROOMS:
        for path in sorted((ROOT / "pipeline" / room).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
                names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
                if {name.partition(".")[0] for name in names} & PICKLES:
                    found.append(path)
                if isinstance(node, ast.keyword) and node.arg == "allow_pickle":
                    assert isinstance(node.value, ast.Constant), path
                    assert node.value.value is False, path
    assert found == []


class Bomb:
    """Makes a file when it is unpickled."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (os.fspath(self.mark),)


def test_the_bomb_goes_off(tmp_path: Path) -> None:
    pickle.loads(pickle.dumps(Bomb(tmp_path / "mark")))
    assert (tmp_path / "mark").is_dir()


def test_pickles_in_place_of_all_that_a_cache_holds_are_never_loaded(world: World, tmp_path: Path) -> None:
    cache, mark = world.cache("one"), tmp_path / "mark"
    world.run(cache)
    whole = tmp_path / "whole"
    shutil.copytree(cache, whole)
    bombs = cycle([pickle.dumps(Bomb(mark), protocol) for protocol in (0, 2, pickle.HIGHEST_PROTOCOL)])
    files = [path for path in Path(cache).rglob("*") if path.is_file() and path.suffix != ".lock"]
    assert len(files) > 30
    groups = sorted({path.relative_to(cache).parts[0] for path in files})
    for group in (*groups, ""):
        shutil.rmtree(cache)
        shutil.copytree(whole, cache)
        for path in (Path(cache) / group).rglob("*") if (Path(cache) / group).is_dir() else []:
            if path.is_file():
                path.write_bytes(next(bombs))
        for words in (
            ("runs",),
            ("cache", "ls"),
            ("cache", "verify"),
            ("cache", "pull", cache),
            ("run", str(world.file), "--cluster", "inline"),
            ("report", "--rebuild"),
            ("cache", "gc"),
        ):
            into = world.cache("two") if "pull" in words else cache
            world.call(*words, "--cache", into)
            assert not mark.exists(), (group, words)


def test_nothing_that_is_written_is_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor can what holds an object be written: attributes are plain data, arrays numbers."""
    monkeypatch.setattr(checkpoints, "INTERVAL", 0.0)
    cache = Cache(tmp_path, pytest.fail)
    with cache.writer() as writer:
        records = [writer.publish(artifact) for artifact in each_kind()]
    cache.remember(recipe("one"), [record.id for record in records], provenance())
    StoredCheckpoint(cache.files, "a" * 64, pytest.fail).save(lambda: {"values": numpy.arange(9)})
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(files) > 50
    for path in files:
        text = path.read_bytes()
        if text[:1] == b"\x80":
            with pytest.raises((pickle.UnpicklingError, EOFError, ValueError)):
                pickle.loads(text)


def test_a_checkpoint_of_objects_is_none(tmp_path: Path) -> None:
    log: list[str] = []
    cache, mark = Cache(tmp_path / "cache", pytest.fail), tmp_path / "mark"
    bomb = pickle.dumps(Bomb(mark))
    head = {"format": checkpoints.FORMAT, "recipe": "a" * 64, "stage": "", "arrays": {"x": ["|O", [1]]}}
    text = json.dumps(head).encode() + b"\n" + bomb
    cache.files.replace(f"{checkpoints.FOLDER}/{'a' * 64}", blake3(text).hexdigest().encode() + text)
    assert StoredCheckpoint(cache.files, "a" * 64, log.append).load() is None
    assert "is damaged" in log[0]
    assert not mark.exists()
