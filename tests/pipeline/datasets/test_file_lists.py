"""What folders and patterns stand for, here and elsewhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from gravel.pipeline.datasets.file_lists import expanded
from gravel.stages.errors import StageError
from tests.stages.remote.cloud_server import cloud_server


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
    assert expanded([f"file://{tmp_path}/*.txt"]) == (str(odd),)


@pytest.mark.parametrize("scheme", ["s3", "gs", "az"])
def test_files_in_a_store_are_listed(scheme, monkeypatch):
    pytest.importorskip("obstore")
    with cloud_server() as (cloud, environment):
        for name, text in environment.items():
            monkeypatch.setenv(name, text)
        keys = ("a.txt", "b.txt", "c.csv", "_SUCCESS", "_log/0.json", "day=1/d.txt")
        cloud.objects.update({f"many/{key}": b"1 2\n" for key in keys} | {"manyfold/e.txt": b"1 2\n"})
        bucket = f"{scheme}://bucket/"
        for pattern, names in {
            "many/*.txt": ["many/a.txt", "many/b.txt"],
            "many/[bc].*": ["many/b.txt", "many/c.csv"],
            "*/a.txt": ["many/a.txt"],
            "**/*.txt": ["many/a.txt", "many/b.txt", "many/day=1/d.txt", "manyfold/e.txt"],
            "many/day=*": ["many/day=1/d.txt"],
            "many/": ["many/a.txt", "many/b.txt", "many/c.csv", "many/day=1/d.txt"],
        }.items():
            assert expanded([bucket + pattern]) == tuple(bucket + name for name in names)
        with pytest.raises(StageError, match=f"no file matches '{bucket}none/"):
            expanded([f"{bucket}none/*.txt"])
        monkeypatch.setenv("PLACE", "many")
        with pytest.raises(StageError, match="where a part of the URL is a variable"):
            expanded([bucket + "${env:PLACE}/*.txt"])


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("http://127.0.0.1/parts/*.csv", "files cannot be listed over HTTP"),
        ("ftp://127.0.0.1/parts/*.csv", "URLs of the kind ftp:// are not read"),
        ("zip://*.csv::http://127.0.0.1/parts.zip", "is a chain of file systems"),
    ],
)
def test_what_cannot_be_listed_is_refused(url, message):
    with pytest.raises(StageError, match=message):
        expanded([url])
