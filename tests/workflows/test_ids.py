"""Results of the quickstart have the same ids wherever they are made."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.drills.gravel import QUICKSTART, Gravel


def ids(folder: Path, *words: str) -> dict[str, list[str]]:
    """Return the ids of the quickstart's results, up to what is searched, made in a cache of their own."""
    gravel = Gravel(folder, QUICKSTART, ("--set", "scale=10", "--set", "sources=2"))
    gravel.run(*words)
    found = {stage["key"]: stage["outputs"] for stage in gravel.records()[-1]["stages"]}
    return {key: found[key] for key in ("edges", "graph", "ordered", "split", "packed")}


def test_ids_depend_on_no_process_or_thread(tmp_path: Path) -> None:
    here = ids(tmp_path / "here", "--backend", "cpu")
    workers = ids(tmp_path / "workers", "--backend", "cpu", "--cluster", "local", "--workers", "2")
    assert workers == here


@pytest.mark.gpu
def test_ids_depend_on_no_backend(tmp_path: Path) -> None:
    assert ids(tmp_path / "cuda", "--backend", "cuda") == ids(tmp_path / "cpu", "--backend", "cpu")
