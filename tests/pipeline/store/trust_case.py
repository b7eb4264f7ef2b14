"""People who exchange results through a folder or a store."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from gravel.pipeline.cli import main
from gravel.pipeline.store.objects import Bucket, Folder

URL = "s3://bucket/shared"

WORKFLOW = """\
workflow: small
stages:
  edges:  {stage: ingest, source: {rmat: {scale: 6, seed: 1}}}
  graph:  {stage: symmetrize, input: edges}
  bfs:    {stage: traverse, input: graph, sources: {random: 2, seed: 7}}
  other:  {stage: traverse, input: graph, sources: {random: 2, seed: 8}}
"""


@pytest.fixture(params=["folder", "store"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where results are exchanged: a folder, or a prefix of a bucket."""
    if request.param == "folder":
        return str(tmp_path / "disk")
    request.getfixturevalue("line")
    return URL


class World:
    """Users with configuration folders of their own, and caches on one machine."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self._monkeypatch = monkeypatch
        self.file = folder / "small.yaml"
        self.file.write_text(WORKFLOW)

    def be(self, user: str) -> None:
        self._monkeypatch.setenv("XDG_CONFIG_HOME", str(self.config(user)))

    def config(self, user: str) -> Path:
        return self.folder / "homes" / user

    def cache(self, name: str) -> str:
        return str(self.folder / name)

    def call(self, *arguments: str) -> Result:
        result = CliRunner().invoke(main, list(arguments))
        assert "Traceback" not in result.output + result.stderr
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
        return result

    def run(self, cache: str, *options: str) -> dict[str, Any]:
        """Run the workflow; return its stages' states, what was said, and its record."""
        here = ("--cluster", "inline", "--backend", "cpu")
        result = self.call("run", str(self.file), "--cache", cache, *here, *options)
        assert result.exit_code == 0, result.output
        root = Path(cache) if "://" not in cache else next((self.folder / "tiers").iterdir())
        newest = max((root / "runs").iterdir(), key=lambda run: run.stat().st_mtime_ns)
        record = json.loads((newest / "run.json").read_text())
        found: dict[str, Any] = {"said": result.output, "record": record}
        for name in ("state", "output", "recipe"):
            field = "outputs" if name == "output" else name
            found[f"{name}s"] = {stage["key"]: stage[field] for stage in record["stages"]}
        return found


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    world = World(tmp_path, monkeypatch)
    world.be("me")
    return world


def read(place: str, name: str) -> bytes:
    source = Bucket(place) if place == URL else Folder(Path(place))
    text = source.get(name)
    assert text is not None
    return text


def names(place: str, folder: str) -> list[str]:
    source = Bucket(place) if place == URL else Folder(Path(place))
    return source.names(folder)


ALL = {"edges", "graph", "bfs", "other"}


def keys_in(states: dict[str, str], state: str) -> set[str]:
    return {key for key, found in states.items() if found == state}
