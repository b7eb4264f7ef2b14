"""Own stages written when gravel's packages were imported as `pipeline`, `stages` and `kernels`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from importlib.machinery import PathFinder

from gravel.pipeline.core.installation import PACKAGE

__all__ = ["old_import"]

OLD = ("pipeline", "stages", "kernels")


def old_import(text: bytes) -> tuple[int, str] | None:
    """Find the first import by an old name: its line and the sentence that replaces it.

    Modules of other distributions of these names are no concern of gravel's, so only what gravel itself has
    counts. Raises SyntaxError or ValueError if the text is no Python.
    """
    for line, module in sorted(_imported(ast.parse(text))):
        top, _, inner = module.partition(".")
        if top in OLD and (_is_ours(module) if inner else PathFinder.find_spec(top) is None):
            return line, f"{module} is gravel.{module} now: import that"
    return None


def _imported(tree: ast.Module) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            if "." in node.module:
                yield node.lineno, node.module
            else:
                yield from ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)


def _is_ours(module: str) -> bool:
    path = PACKAGE.joinpath(*module.split("."))
    return path.with_suffix(".py").is_file() or (path / "__init__.py").is_file()
