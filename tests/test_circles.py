"""No file imports another in a circle: late imports and imports for types included."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

LEFT = {
    "kernels": ("gravel.kernels.bfs.shape", "gravel.kernels.distances"),
    "stages": (
        "gravel.stages.compress",
        "gravel.stages.counters",
        "gravel.stages.probe",
        "gravel.stages.symmetrize",
        "gravel.stages.traversal",
    ),
    "pipeline": (),
}
"""Files and rooms that circles go through still."""


def modules(room: str) -> dict[str, Path]:
    found = {}
    for path in sorted((ROOT / room).rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        found[".".join(("gravel", *(part for part in parts if part != "__init__")))] = path
    return found


def imported(tree: ast.AST, known: dict[str, Path]) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            for alias in node.names:
                name = f"{node.module}.{alias.name}"
                yield name if name in known else node.module


def sort(room: str, left: tuple[str, ...]) -> None:
    """Raise CycleError, which names the files of a circle, unless all go through files that are left out."""
    known = modules(room)
    assert len(known) > 100
    kept = {name for name in known if not any(f"{name}.".startswith(f"{each}.") for each in left)}
    graph = {}
    for name in kept:
        tree = ast.parse(known[name].read_text(encoding="utf-8"))
        graph[name] = {each for each in imported(tree, known) if each in kept and each != name}
    TopologicalSorter(graph).prepare()


@pytest.mark.parametrize("room", LEFT)
def test_no_file_imports_in_a_circle(room: str):
    sort(room, LEFT[room])


@pytest.mark.parametrize(("room", "left"), [(room, each) for room, left in LEFT.items() for each in left])
def test_circles_that_are_left_are_circles(room: str, left: str):
    with pytest.raises(CycleError):
        sort(room, tuple(each for each in LEFT[room] if each != left))


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
