"""No file imports another in a circle: late imports and imports for types included."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

ROOMS = {"kernels": 100, "stages": 100, "pipeline": 100, "gravel": 40}
"""The rooms, and how many files each has at least."""


def modules(room: str) -> dict[str, Path]:
    """Return the files of a room by the names of their modules; the other rooms are links within `gravel`."""
    found = {}
    top = ROOT / "gravel" / ("" if room == "gravel" else room)
    for path in sorted((ROOT / room).rglob("*.py")):
        parts = (top / path.relative_to(ROOT / room)).relative_to(ROOT).with_suffix("").parts
        found[".".join(part for part in parts if part != "__init__")] = path
    return found


def imported(tree: ast.AST, known: dict[str, Path]) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            for alias in node.names:
                name = f"{node.module}.{alias.name}"
                yield name if name in known else node.module


@pytest.mark.parametrize("room", ROOMS)
def test_no_file_imports_in_a_circle(room: str):
    """`prepare` raises CycleError, which names the files of a circle."""
    known = modules(room)
    assert len(known) > ROOMS[room]
    graph = {}
    for name, path in known.items():
        tree = ast.parse(path.read_text(encoding="utf-8"))
        graph[name] = {each for each in imported(tree, known) if each in known and each != name}
    TopologicalSorter(graph).prepare()


def test_packages_of_the_pipeline_forward_nothing():
    """Each name has one module: what a package's `__init__` imports is used there."""
    for path in (ROOT / "pipeline").rglob("__init__.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        brought = {
            alias.asname or alias.name
            for node in tree.body
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("gravel")
            for alias in node.names
        }
        used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        assert brought <= used, path
