"""Own stages written with names that gravel had before: its packages, and what was moved or renamed."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from importlib.machinery import PathFinder

from gravel.pipeline.core.installation import PACKAGE

__all__ = ["old_import"]

OLD = ("pipeline", "stages", "kernels")

MOVED = {
    "stages.gang": "gravel.stages.rank_group, and GangBroken is RankGroupBroken",
    "pipeline.errors": "gravel.pipeline.core.errors",
    "pipeline.plugins.conformance": "gravel.conformance",
}
"""Modules with another name than before, below `gravel`."""


def old_import(text: bytes) -> tuple[int, str] | None:
    """Find the first use of an old name: its line and the sentence that replaces it.

    Modules of other distributions of these names are no concern of gravel's, so only what gravel itself has
    counts. Raises SyntaxError or ValueError if the text is no Python.
    """
    tree = ast.parse(text)
    found = [*_old_modules(tree), *_old_verbs(tree)]
    return min(found, default=None)


def _old_modules(tree: ast.Module) -> Iterator[tuple[int, str]]:
    for line, module in _imported(tree):
        top, _, inner = module.partition(".")
        moved = MOVED.get(module.removeprefix("gravel."))
        if moved is not None:
            yield line, f"{module} is {moved} now: import that"
        elif top in OLD and (_is_ours(module) if inner else PathFinder.find_spec(top) is None):
            yield line, f"{module} is gravel.{module} now: import that"


def _old_verbs(tree: ast.Module) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr == "gang":
            owner = node.value
            if isinstance(owner, ast.Name) and owner.id == "context":
                yield node.lineno, "context.gang is context.rank_group now: call that"


def _imported(tree: ast.Module) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            whole = [f"{node.module}.{alias.name}" for alias in node.names]
            moved = [name for name in whole if name.removeprefix("gravel.") in MOVED]
            if moved or "." not in node.module:
                yield from ((node.lineno, name) for name in moved or whole)
            else:
                yield node.lineno, node.module


def _is_ours(module: str) -> bool:
    path = PACKAGE.joinpath(*module.split("."))
    return path.with_suffix(".py").is_file() or (path / "__init__.py").is_file()
