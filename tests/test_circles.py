"""No file of `pipeline/` imports another in a circle: late imports and imports for types included."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).parents[1]


def modules() -> dict[str, Path]:
    found = {}
    for path in sorted((ROOT / "pipeline").rglob("*.py")):
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


def test_no_file_of_the_pipeline_imports_in_a_circle():
    known = modules()
    graph = {
        name: {each for each in imported(ast.parse(path.read_text(encoding="utf-8")), known) if each != name}
        for name, path in known.items()
    }
    assert len(graph) > 200
    # Raises CycleError, which names the files of a circle.
    TopologicalSorter({name: found & known.keys() for name, found in graph.items()}).prepare()


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
