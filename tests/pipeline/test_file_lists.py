"""What folders and patterns stand for, here and elsewhere."""

from __future__ import annotations

from pathlib import Path

import fsspec
import pytest

from gravel.pipeline.datasets.file_lists import expanded
from gravel.stages.errors import StageError


def test_a_folder_leaves_out_what_writers_leave_beside_parts(tmp_path):
    names = [str(tmp_path / "parts" / name) for name in ("part-0.txt", "part-1.txt")]
    (tmp_path / "parts").mkdir()
    for name in names:
        Path(name).write_text("1 2\n")
    inner = tmp_path / "parts" / "day=1"
    inner.mkdir()
    (inner / "part-7.txt.gz").touch()
    for name in ("_SUCCESS", ".part-0.txt.crc", "_delta/0.json"):
        (tmp_path / "parts" / name).parent.mkdir(exist_ok=True)
        (tmp_path / "parts" / name).write_text("no edges")
    every = [str(inner / "part-7.txt.gz"), *names]
    assert list(expanded([str(tmp_path / "parts")])) == every
    assert list(expanded([str(tmp_path / "parts" / "*.txt")])) == names
    assert list(expanded([str(tmp_path / "parts" / "**" / "*.gz")])) == every[:1]
    assert list(expanded([str(tmp_path / "parts" / "day=*")])) == every[:1]


@pytest.mark.parametrize("name", ["", "*.csv"])
def test_a_folder_and_a_pattern_without_files_are_refused(tmp_path, name):
    with pytest.raises(StageError, match=r"has no files|no file matches"):
        expanded([str(tmp_path / name)])


def test_a_name_with_the_signs_of_a_pattern_is_a_name(tmp_path):
    odd = tmp_path / "a[1].txt"
    odd.write_text("1 2\n")
    assert expanded([str(odd)]) == (str(odd),)


def test_files_elsewhere_are_listed():
    system = fsspec.filesystem("memory")
    for name in ("a.txt", "b.txt", "c.csv"):
        system.pipe(f"/many/{name}", b"1 2\n")
    assert expanded(["memory://many/*.txt"]) == ("memory://many/a.txt", "memory://many/b.txt")
    assert len(expanded(["memory://many/"])) == 3
    with pytest.raises(StageError, match="files cannot be listed over HTTP"):
        expanded(["http://127.0.0.1/parts/*.csv"])
