"""Reading a file of published figures; every fault is reported with its line."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from gravel.stages.errors import StageError
from gravel.stages.published.model import Published

MAX_BYTES = 1 << 20
"""A file of printed figures is small; a larger one is something else."""


def read_published(path: str | Path) -> Published:
    """Read and check a file; raises `StageError` with file and line for whatever is wrong with it."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import MarkedYAMLError, YAMLError

    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise StageError(f"it cannot be read: {error.strerror}", file=str(path)) from error
    if len(data) > MAX_BYTES:
        raise StageError(f"{len(data):,} bytes are too many for published figures", file=str(path))
    try:
        tree = YAML().load(data.decode())
    except MarkedYAMLError as error:
        mark = error.problem_mark
        line = mark.line + 1 if mark is not None else None
        raise StageError(str(error.problem), file=str(path), line=line) from error
    except (YAMLError, UnicodeDecodeError, ValueError) as error:
        raise StageError(f"it is no YAML: {error}", file=str(path)) from error
    if not isinstance(tree, dict):
        raise StageError(
            "published figures are a mapping with `papers`, `tables` and `claims`", file=str(path)
        )
    try:
        return Published.model_validate(_plain(tree))
    except ValidationError as error:
        first = error.errors()[0]
        where = [part for part in first["loc"] if isinstance(part, str | int)]
        raise StageError(
            f"{'.'.join(map(str, where)) or 'the file'}: {first['msg'].removeprefix('Value error, ')}",
            hint="see the head of workflows/published.yaml for what a row may say",
            file=str(path),
            line=_line(tree, where),
        ) from error


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    if isinstance(value, bool) or value is None:
        return value
    return next((kind(value) for kind in (int, float, str) if isinstance(value, kind)), value)


def _line(tree: Any, where: Sequence[str | int]) -> int | None:
    """Return the line, from 1, of the innermost node that is there along a path."""
    line = None
    for part in where:
        try:
            places: Any = tree.lc
            line = (places.key(part) if isinstance(tree, dict) else places.item(part))[0] + 1
            tree = tree[part]
        except (AttributeError, KeyError, IndexError, TypeError):
            break
    return line
