"""CPU kernels broken on purpose, one place at a time, and found by the tests of their room.

    pytest -m slow tests/drills/test_broken_kernels.py -n 2

`broken_kernels.json` lists the places: a file, a function, a line of it, what stands there instead, and the
tests that have to fail. Each is broken in a copy of the tree, whose tests run in processes of their own.
`GRAVEL_BROKEN=10` tries every tenth place only.
"""

from __future__ import annotations

import ast
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.kernels.tree_copy import PACKAGES, TreeCopy

HERE = Path(__file__).resolve().parent
EVERY = int(os.environ.get("GRAVEL_BROKEN", "1"))

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


@dataclass(frozen=True)
class Place:
    """A line of a function and what stands there when it is broken."""

    file: str
    function: str
    old: str
    new: str
    tests: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.file.removeprefix('kernels/')}:{self.function}"

    def broken(self, text: str) -> str:
        """Return a file's text with the line replaced, which must be there once."""
        (function,) = (
            node
            for node in ast.walk(ast.parse(text))
            if isinstance(node, ast.FunctionDef) and node.name == self.function
        )
        lines = text.split("\n")
        found = [
            number
            for number in range(function.lineno - 1, function.end_lineno or 0)
            if lines[number].strip() == self.old
        ]
        assert len(found) == 1, f"{self} has {len(found)} times {self.old!r}"
        lines[found[0]] = lines[found[0]].replace(self.old, self.new)
        return "\n".join(lines)


PLACES = [
    Place(**each | {"tests": tuple(each["tests"])})
    for each in json.loads((HERE / "broken_kernels.json").read_text())
]


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of compiled kernels for all places: what a place does not reach is compiled once."""
    base = tmp_path_factory.getbasetemp()
    # Processes of pytest-xdist have folders of their own in one of the session.
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "compiled"
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder


def run_tests(tree: TreeCopy, compiled: Path, tests: Sequence[str]) -> tuple[int, str]:
    """Run tests on a copy of the tree until one fails; the exit status and what was printed."""
    words = ["-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", *tests]
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("GRAVEL_", "PYTEST_"))}
    done = subprocess.run(
        [sys.executable, *words],
        cwd=tree.folder,
        env=kept | {"GRAVEL_COMPILED": str(compiled), "PYTHONPATH": str(tree.folder)},
        capture_output=True,
        text=True,
    )
    return done.returncode, done.stdout + done.stderr


def copy_of(folder: Path) -> TreeCopy:
    tree = TreeCopy(folder, [*PACKAGES, "tests"])
    shutil.copy(HERE.parents[1] / "pyproject.toml", tree.folder)
    return tree


@pytest.mark.parametrize("place", PLACES[::EVERY], ids=str)
def test_a_broken_kernel_is_found(place: Place, compiled: Path, tmp_path: Path):
    tree = copy_of(tmp_path)
    path = tree.folder / place.file
    path.write_text(place.broken(path.read_text()))
    status, output = run_tests(tree, compiled, place.tests)
    shutil.rmtree(tree.folder)
    assert status == 1, f"{place}: {place.old!r} became {place.new!r}, and exit {status}:\n{output[-2000:]}"
    assert "TypingError" not in output, output[-2000:]
    assert "Interrupted" not in output, output[-2000:]


@pytest.mark.parametrize("tests", sorted({place.tests for place in PLACES[::EVERY]}), ids="+".join)
def test_kernels_as_they_are_pass(tests: tuple[str, ...], compiled: Path, tmp_path: Path):
    status, output = run_tests(copy_of(tmp_path), compiled, tests)
    assert status == 0, output[-2000:]
