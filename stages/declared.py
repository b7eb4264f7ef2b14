"""Declarations of the files of a folder under one name: a file that is added is found."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator, Sequence
from typing import Any

PAPERS = "papers"
"""The folder of what serves the reproduction of one paper alone; it may be absent."""


def has_papers() -> bool:
    """Return whether the folder of papers is there."""
    return bool(modules(PAPERS))


def modules(room: str, *, deep: bool = True) -> list[str]:
    """Name the modules of a folder of this package, sorted, those of its folders too if `deep`.

    A folder that is not there has none.
    """
    try:
        package = importlib.import_module(f"gravel.stages.{room}")
    except ModuleNotFoundError as error:
        if error.name != f"gravel.stages.{room}":
            raise
        return []
    return sorted(_below(list(package.__path__), f"{package.__name__}.", deep))


def _below(paths: Sequence[str], prefix: str, deep: bool) -> Iterator[str]:
    for each in pkgutil.iter_modules(paths):
        yield f"{prefix}{each.name}"
        if each.ispkg and deep:
            yield from _below([f"{path}/{each.name}" for path in paths], f"{prefix}{each.name}.", deep)


def declared(room: str, name: str, *, deep: bool = True) -> Iterator[Any]:
    """Import the modules of a folder and yield what each declares under a name; see `modules`."""
    for module in modules(room, deep=deep):
        value = getattr(importlib.import_module(module), name, None)
        if value is not None:
            yield value
