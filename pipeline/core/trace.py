"""What planning looks at outside of itself, noted while it does."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import TypeVar

__all__ = [
    "DependencyTrace",
    "doubt",
    "note_files",
    "note_input",
    "note_memo",
    "note_text",
    "note_there",
    "traced",
]


Value = TypeVar("Value")


class DependencyTrace:
    """What was looked at; paths are absolute.

    `texts` has the size and the BLAKE3 of each file that was read whole, `there` whether a path existed,
    `lists` the digest of the files that a folder or pattern stood for, `inputs` the real path and the state
    (`gravel.pipeline.core.file_state`) of each input whose digest was remembered, `memos` the files of the
    cache (relative to it) that were relied on. `doubts` say why the plan may not be kept.
    """

    def __init__(self) -> None:
        self.texts: dict[str, list[str | int]] = {}
        self.there: dict[str, bool] = {}
        self.inputs: dict[str, list[str | int]] = {}
        self.lists: dict[str, str] = {}
        self.memos: set[str] = set()
        self.doubts: list[str] = []


_PRESENT: ContextVar[DependencyTrace | None] = ContextVar("trace", default=None)


@contextmanager
def traced() -> Iterator[DependencyTrace]:
    """Note within the block what planning looks at."""
    trace = DependencyTrace()
    token = _PRESENT.set(trace)
    try:
        yield trace
    finally:
        _PRESENT.reset(token)


def note_text(path: Path, text: bytes) -> None:
    """Note a file that was read whole."""
    trace = _PRESENT.get()
    if trace is None:
        return
    if not path.is_file():
        trace.doubts.append(f"{path} can be read but once")
    value: list[str | int] = [len(text), digest_of(text)]
    _note(trace, trace.texts, path, value)


def note_there(path: Path, there: bool) -> None:
    """Note whether a path led to something."""
    trace = _PRESENT.get()
    if trace is not None:
        _note(trace, trace.there, path, there)


def note_input(path: Path, key: Sequence[int]) -> None:
    """Note an input whose digest was remembered for this state."""
    trace = _PRESENT.get()
    if trace is not None:
        value: list[str | int] = [os.path.realpath(path), *key]
        _note(trace, trace.inputs, path, value)


def note_files(pattern: str, files: Sequence[str]) -> None:
    """Note the files that a folder or pattern stood for."""
    trace = _PRESENT.get()
    if trace is not None:
        _note(trace, trace.lists, Path(pattern), digest_of_names(files))


def digest_of_names(names: Sequence[str]) -> str:
    """Return the BLAKE3 of names."""
    return digest_of(b"\0".join(map(os.fsencode, names)))


def note_memo(name: str) -> None:
    """Note a file of the cache that answered a question, by its path below the cache."""
    trace = _PRESENT.get()
    if trace is not None:
        trace.memos.add(name)


def doubt(why: str) -> None:
    """Say that the plan rests on something that is not noted."""
    trace = _PRESENT.get()
    if trace is not None:
        trace.doubts.append(why)


def digest_of(text: bytes) -> str:
    """Return the BLAKE3 of a text."""
    from blake3 import blake3

    return blake3(text).hexdigest()


def _note(trace: DependencyTrace, notes: dict[str, Value], path: Path, value: Value) -> None:
    name = os.path.abspath(path)  # noqa: PTH100 (no Path is wanted)
    if notes.setdefault(name, value) != value:
        trace.doubts.append(f"{name} changed while the plan was made")
