"""The folder of compiled kernels: whose files it trusts, what it collects, and who waits for whom."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import pytest

from gravel.kernels.compiled.folder import MARK, Folder, UnsafeFolder, folder_path


def test_a_folder_or_file_of_somebody_else_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    folder = Folder(tmp_path / "compiled")
    assert folder.write("a", b"content")
    assert folder.read("a") == b"content"
    (tmp_path / "compiled" / "a").chmod(0o620)
    assert folder.read("a") is None
    (tmp_path / "compiled" / "a").chmod(0o600)
    (tmp_path / "compiled" / "b").symlink_to("a")
    assert folder.read("b") is None
    os.mkfifo(tmp_path / "compiled" / "c", 0o600)
    assert folder.read("c") is None
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    assert folder.read("a") is None
    with pytest.raises(UnsafeFolder, match="belongs to user"):
        Folder(tmp_path / "compiled")


def test_an_entry_that_cannot_be_written_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    folder = Folder(tmp_path)

    def full(*arguments: object, **options: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    assert not folder.write("a", b"content")
    assert list(tmp_path.iterdir()) == []


def test_where_compiled_kernels_are(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HOME", "/home/a")
    monkeypatch.delenv("GRAVEL_COMPILED", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert folder_path() == Path("/home/a/.cache/gravel/compiled")
    monkeypatch.setenv("XDG_CACHE_HOME", "/x")
    assert folder_path() == Path("/x/gravel/compiled")
    monkeypatch.setenv("GRAVEL_COMPILED", "~/y")
    assert folder_path() == Path("/home/a/y")


def test_old_entries_are_collected(tmp_path: Path):
    folder = Folder(tmp_path)
    for name, days in (("new", 0), ("used", 20), ("old", 40), (".old.1.ab", 1), (".new.1.ab", 0)):
        (tmp_path / name).write_bytes(MARK)
        then = time.time() - 86400 * days - 60
        os.utime(tmp_path / name, (then, then))
    found = folder.collect(delete=False)
    assert (found.entries, found.bytes, found.kept) == (2, 2 * len(MARK), 3)
    assert len(list(tmp_path.iterdir())) == 5
    assert folder.collect(delete=True) == found
    assert {path.name for path in tmp_path.iterdir()} == {"new", "used", ".new.1.ab"}
    assert folder.collect(delete=True, unused=10 * 86400).entries == 1


def test_an_entry_that_is_used_stays(tmp_path: Path):
    folder = Folder(tmp_path)
    folder.write("a", b"content")
    then = time.time() - 29.9 * 86400
    os.utime(tmp_path / "a", (then, then))
    assert folder.read("a") == b"content"
    assert time.time() - (tmp_path / "a").stat().st_mtime < 60


def test_an_entry_that_another_makes_is_waited_for(tmp_path: Path) -> None:
    maker, other = Folder(tmp_path / "compiled"), Folder(tmp_path / "compiled")
    assert not other.wait_for("entry")
    began, seconds = threading.Event(), 0.3

    def make() -> None:
        with maker.announce("entry"):
            began.set()
            time.sleep(seconds)
            maker.write("entry", b"code")

    thread = threading.Thread(target=make)
    thread.start()
    began.wait()
    assert other.read("entry") is None
    assert other.wait_for("entry")
    assert other.read("entry") == b"code"
    thread.join()
    assert [each.name for each in (tmp_path / "compiled").iterdir()] == ["entry"]


def test_a_maker_that_takes_too_long_is_not_waited_for(tmp_path: Path) -> None:
    maker, other = Folder(tmp_path / "compiled"), Folder(tmp_path / "compiled")
    with maker.announce("entry"):
        began = time.monotonic()
        assert other.wait_for("entry", 0.05)
        assert time.monotonic() - began < 5


def test_a_maker_that_died_is_not_waited_for(tmp_path: Path) -> None:
    folder = Folder(tmp_path / "compiled")
    (tmp_path / "compiled" / ".entry.making").touch()
    began = time.monotonic()
    folder.wait_for("entry")
    assert time.monotonic() - began < 5


def test_a_link_in_the_place_of_an_announcement_is_not_followed(tmp_path: Path) -> None:
    folder = Folder(tmp_path / "compiled")
    (tmp_path / "compiled" / ".entry.making").symlink_to(tmp_path / "elsewhere")
    with folder.announce("entry"):
        assert not folder.wait_for("entry")
    assert not (tmp_path / "elsewhere").exists()
