"""No file outside the store names a path of the cache: `gravel.pipeline.store.folder` does."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from gravel.pipeline.store.cache import FOLDERS
from gravel.pipeline.store.transfer import NAMES

PIPELINE = Path(__file__).parents[3] / "pipeline"

ROOMS = sorted({path.parent.name for path in PIPELINE.glob("*/__init__.py")} - {"store"})


def texts_of_paths(tree: ast.AST) -> Iterator[str]:
    """Yield what is joined by `/`, and what an f-string begins with."""
    for node in ast.walk(tree):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
            yield from (part.value for part in (node.left, node.right) if isinstance(part, ast.Constant))
        elif isinstance(node, ast.JoinedStr) and isinstance(node.values[0], ast.Constant):
            yield from (head for head in [str(node.values[0].value)] if "/" in head)


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_names_no_folder_of_the_cache(room: str) -> None:
    for path in (PIPELINE / room).rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        named = {str(text).partition("/")[0] for text in texts_of_paths(tree)}
        assert not named & {*FOLDERS, "resolved", "downloads", "schedules"}, path


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_names_no_file_of_a_run(room: str) -> None:
    for path in (PIPELINE / room).rglob("*.py"):
        constants = (node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Constant))
        assert not {str(each.value).rpartition("/")[2] for each in constants} & NAMES, path
