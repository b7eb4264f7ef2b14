from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from blake3 import blake3

from gravel.pipeline.core.errors import GravelError, RequestError
from gravel.pipeline.datasets import file_digest
from gravel.pipeline.datasets.file_digest import FileDigests
from gravel.stages.stage import FileInput

OLD = 1_600_000_000


@pytest.fixture
def reads(monkeypatch) -> list[Path]:
    """The files whose content was read."""
    found: list[Path] = []
    real = file_digest._content

    def content(path: Path) -> str:
        found.append(path)
        return real(path)

    monkeypatch.setattr(file_digest, "_content", content)
    return found


def write(path: Path, text: bytes, when: float | None = OLD) -> FileInput:
    path.write_bytes(text)
    if when is not None:
        os.utime(path, (when, when))
        time.sleep(0.12)  # until a further change would have another time
    return FileInput(str(path))


def test_an_unchanged_file_is_read_once(tmp_path, reads):
    file = write(tmp_path / "a.txt", b"1 2\n")
    expected = blake3(b"1 2\n").hexdigest()
    for _ in range(3):
        assert FileDigests(tmp_path / "cache").digest(file) == expected
    assert FileDigests(tmp_path / "cache").digest(FileInput(f"file://{tmp_path}/a.txt")) == expected
    assert len(reads) == 1


def test_each_change_is_noticed(tmp_path, reads):
    digests = FileDigests(tmp_path / "cache")
    path = tmp_path / "a.txt"
    seen = {digests.digest(write(path, b"1 2\n"))}
    seen.add(digests.digest(write(path, b"1 3\n", OLD + 1)))
    seen.add(digests.digest(write(path, b"1 30\n", OLD + 1)))
    other = tmp_path / "b.txt"
    write(other, b"9 30\n", OLD + 1)
    other.replace(path)
    seen.add(digests.digest(FileInput(str(path))))
    assert len(seen) == 4
    assert len(reads) == 4


@pytest.mark.parametrize("size", [0, 1, 63, 64, 65, 1000])
def test_a_file_is_digested_in_its_order(tmp_path, monkeypatch, size):
    monkeypatch.setattr(file_digest, "READ_BYTES", 64)
    content = os.urandom(size)
    # A network file system may return less than was asked for.
    preadv = os.preadv
    monkeypatch.setattr(os, "preadv", lambda file, into, start: preadv(file, [into[0][:50]], start))
    digest = FileDigests(tmp_path / "cache").digest(write(tmp_path / "a.bin", content))
    assert digest == blake3(content).hexdigest()


def test_it_is_said_before_a_new_file_is_read(tmp_path, reads):
    file, said = write(tmp_path / "a.txt", b"1 2\n"), []
    for _ in range(2):
        FileDigests(tmp_path / "cache", on_new=lambda: said.append(len(reads))).digest(file)
    assert said == [0]


def test_a_file_that_was_just_written_is_not_remembered(tmp_path, reads):
    digests = FileDigests(tmp_path / "cache")
    path = tmp_path / "a.txt"
    now = time.time()
    first = digests.digest(write(path, b"1 2\n", now))
    # Edited in place within the timestamp's resolution.
    second = digests.digest(write(path, b"1 3\n", now))
    assert first != second
    assert len(reads) == 2


def test_a_file_that_changes_while_it_is_read(tmp_path, monkeypatch):
    path = tmp_path / "a.txt"
    file = write(path, b"1 2\n")
    monkeypatch.setattr(file_digest, "_content", lambda path: str(path.write_bytes(b"1 2\n3 4\n")))
    with pytest.raises(GravelError, match="changed while it was read"):
        FileDigests(tmp_path / "cache").digest(file)


def test_a_damaged_memo_is_made_again(tmp_path, reads):
    file = write(tmp_path / "a.txt", b"1 2\n")
    digests = FileDigests(tmp_path / "cache")
    expected = digests.digest(file)
    (memo,) = (tmp_path / "cache" / "digests").iterdir()
    for text in ("", "{", "[]", memo.read_text().replace(expected, "x")):
        memo.write_text(text)
        assert digests.digest(file) == expected
    assert len(reads) == 5


def test_a_memo_that_cannot_be_written_is_done_without(tmp_path):
    (tmp_path / "cache").touch()
    file = write(tmp_path / "a.txt", b"1 2\n")
    assert FileDigests(tmp_path / "cache").digest(file) == blake3(b"1 2\n").hexdigest()


def test_what_is_no_file_is_told(tmp_path):
    digests = FileDigests(tmp_path / "cache")
    write(tmp_path / "graph.txt", b"")
    with pytest.raises(RequestError, match="there is no file") as caught:
        digests.digest(FileInput(str(tmp_path / "grahp.txt")))
    assert caught.value.exit_code == 2
    assert str(tmp_path / "graph.txt") in caught.value.problems[0].hint
    with pytest.raises(RequestError, match="does not exist"):
        digests.digest(FileInput(str(tmp_path / "no" / "graph.txt")))
    with pytest.raises(RequestError, match="is a folder") as caught:
        digests.digest(FileInput(str(tmp_path)))
    assert "graph.txt" in caught.value.problems[0].hint
    with pytest.raises(RequestError, match="there is no file"):
        digests.digest(FileInput(str(tmp_path / "graph.txt" / "x")))
    with pytest.raises(RequestError, match="cannot be the name of a file"):
        digests.digest(FileInput(str(tmp_path / "a\0b")))
    os.mkfifo(tmp_path / "pipe")  # which is never opened
    for path in (tmp_path / "pipe", Path("/dev/zero")):
        with pytest.raises(RequestError, match="is a pipe or a device"):
            digests.digest(FileInput(str(path)))


def test_offline(tmp_path):
    file = FileInput("http://127.0.0.1:9/x", sha256="AB" * 32)
    assert FileDigests(tmp_path).digest(file) == "sha256:" + "ab" * 32
    with pytest.raises(RequestError, match="cannot be reached") as caught:
        FileDigests(tmp_path).digest(FileInput("http://127.0.0.1:9/x"))
    assert "network" in caught.value.problems[0].hint


@pytest.mark.parametrize(
    ("url", "words", "hint"),
    [
        ("ftp://host/a.txt", "URLs of the kind ftp:// are not read: ftp://host/a.txt", "http(s)://"),
        ("zip://a.txt::https://host/a.zip", "is a chain of file systems", "unpack it"),
        ("simplecache::s3://bucket/a.txt", "is a chain of file systems", "unpack it"),
        ("gcs://bucket/a.txt", "URLs of the kind gcs:// are not read", "gs://"),
    ],
)
@pytest.mark.parametrize("sha256", [None, "AB" * 32])
def test_urls_of_other_kinds_are_refused(tmp_path, url, words, hint, sha256):
    with pytest.raises(RequestError) as refused:
        FileDigests(tmp_path).digest(FileInput(url, sha256=sha256))
    assert words in str(refused.value)
    assert hint in (refused.value.problems[0].hint or "")


@pytest.mark.parametrize(
    "url", ["s3://bucket", "s3://me:word@bucket/a.txt", "gs://bucket/a?b=word", "az:///a"]
)
def test_urls_of_objects_have_one_form(tmp_path, url):
    with pytest.raises(RequestError, match="is not written like") as refused:
        FileDigests(tmp_path).digest(FileInput(url))
    assert "word" not in str(refused.value).replace("password", "")
