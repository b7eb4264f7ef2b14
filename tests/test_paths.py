"""Where tests lie: `tests/kernels/bfs/test_persistent.py` tests `kernels/bfs/cuda/persistent.cu`."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

SOURCES = ("", ".py", ".cu", ".cuh", ".html")
"""Endings of folders and of files that tests are named after."""

FOLDERS = ("gravel", "kernels", "pipeline", "stages")
"""Packages whose tests lie in folders of the same names."""

ROOMS = [path.parent.relative_to(ROOT).as_posix() for path in sorted(ROOT.glob("pipeline/*/__init__.py"))]

FILES = ("gravel", "kernels", "stages", *ROOMS)
"""Those whose tests are named after what they test too: a file of the folder, one in it, or itself.
At the top of `tests/pipeline` lie tests of several rooms."""


def files_of(package: str) -> list[Path]:
    found = sorted(path.relative_to(ROOT / "tests") for path in (ROOT / "tests" / package).rglob("test_*.py"))
    assert len(found) > (20 if package in FOLDERS else 0)
    return found


@pytest.mark.parametrize("package", FOLDERS)
def test_each_folder_of_tests_is_one_of_the_package(package: str) -> None:
    strays = {str(file.parent) for file in files_of(package)}
    assert {folder for folder in strays if not (ROOT / folder / "__init__.py").is_file()} == set()


@pytest.mark.parametrize("package", FILES)
def test_each_file_of_tests_is_named_after_what_it_tests(package: str) -> None:
    """At the top of the package only files count: what tests a folder lies in that folder."""
    strays = []
    for file in files_of(package):
        room = ROOT / file.parent
        top = file.parent == Path(package) and package in FOLDERS
        below = room.glob("*.*") if top else room.rglob("*")
        names = {path.stem for path in below if path.suffix in SOURCES} | {room.name}
        if file.stem.removeprefix("test_") not in names:
            strays.append(str(file))
    assert strays == []
