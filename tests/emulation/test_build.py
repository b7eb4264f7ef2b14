"""Libraries of emulated kernels follow their source, header, options and compiler."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from gravel.kernels.compiled.folder import UnsafeFolder
from tests.emulation import build

SOURCE = 'extern "C" int value() { return VALUE + EXTRA; }\n'


def _forget() -> None:
    build.header.cache_clear()
    build.machine.cache_clear()


@pytest.fixture
def header(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "small.hpp"
    path.write_text("#define EXTRA 1\n")
    monkeypatch.setattr(build, "_HEADER", path)
    machine = tmp_path / "machine.cpp"
    machine.touch()
    monkeypatch.setattr(build, "_MACHINE", machine)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    _forget()
    yield path
    _forget()


def value(source: str = SOURCE, option: str = "-DVALUE=2") -> int:
    _forget()
    return int(build.library(source, [option]).value())


def test_what_a_library_is_made_of_counts(header: Path, monkeypatch: pytest.MonkeyPatch):
    assert value() == 3
    assert value(option="-DVALUE=4") == 5
    assert value(SOURCE.replace("VALUE +", "VALUE *")) == 2
    header.write_text("#define EXTRA 7\n")
    assert value() == 9
    made = len(list(header.parent.glob("gravel-emulated-*/*/kernels.so")))
    assert value() == 9
    assert len(list(header.parent.glob("gravel-emulated-*/*/kernels.so"))) == made
    monkeypatch.setattr(build, "_compiler", lambda: "another one")
    assert value() == 9
    assert len(list(header.parent.glob("gravel-emulated-*/*/kernels.so"))) == made + 1


def test_libraries_are_not_loaded_from_a_folder_that_others_may_write(header: Path):
    assert value() == 3
    (folder,) = header.parent.glob("gravel-emulated-*")
    folder.chmod(0o777)
    build._base.cache_clear()
    with pytest.raises(UnsafeFolder, match="may be written by others"):
        value(option="-DVALUE=9")
    build._base.cache_clear()


def test_libraries_share_no_variables(header: Path):
    source = """
        inline int* room() { static thread_local int kept[SIZE]; return kept; }
        extern "C" int value() { return room()[0]++; }
    """
    assert [value(source, f"-DSIZE={size}") for size in (1, 2, 4)] == [0, 0, 0]
