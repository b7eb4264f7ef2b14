"""A cache whose path holds control characters is refused before anything is made there."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from click.testing import CliRunner

import gravel
from gravel.pipeline.cli import main
from gravel.pipeline.core.errors import RequestError
from gravel.pipeline.store.location import find_cache

ODD = ["a\x1b[31mred", "a\nb", "a\tb", "a\x7f", "a\u2028b", "a\x9b"]
SAID = "holds control characters"


@pytest.mark.parametrize("name", ODD)
@pytest.mark.parametrize("words", [("runs",), ("cache", "ls"), ("cache", "pull", "other"), ("status",)])
def test_it_is_refused_with_its_path_in_ascii(tmp_path: Path, name: str, words: tuple[str, ...]) -> None:
    found = CliRunner().invoke(main, [*words, "--cache", os.fspath(tmp_path / name)])
    assert found.exit_code == 2
    said = found.output + found.stderr
    assert f"error: the path of the cache {SAID}: {os.fspath(tmp_path / name)!a}\n" in said
    assert said.isascii()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ODD)
def test_so_is_another_one_a_variable_and_that_of_the_folder(tmp_path, name, monkeypatch) -> None:
    odd = tmp_path / name
    for verb in ("push", "pull"):
        words = ["cache", verb, os.fspath(odd), "--cache", os.fspath(tmp_path / "c")]
        found = CliRunner().invoke(main, words)
        assert found.exit_code == 2
        assert SAID in found.output + found.stderr
    monkeypatch.setenv("GRAVEL_CACHE", os.fspath(odd))
    with pytest.raises(RequestError, match=SAID):
        find_cache()
    monkeypatch.delenv("GRAVEL_CACHE")
    odd.mkdir()
    monkeypatch.chdir(odd)
    with pytest.raises(RequestError, match=SAID):
        find_cache()
    with pytest.raises(RequestError, match=SAID):
        gravel.run("w.yaml", cache=odd)


@pytest.mark.parametrize("name", ["caché", "\udcff", "a b", "日本", "😀", "a\u00a0b", "e\u0301"])
def test_other_names_are_used(tmp_path: Path, name: str) -> None:
    assert find_cache(os.fspath(tmp_path / name)) == tmp_path / name
