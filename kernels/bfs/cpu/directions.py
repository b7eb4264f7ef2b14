"""The steps of a level by what the rows are: columns, or rows that are decoded where they are read.

Each function is its namesake of `push.py` or `pull.py` for an array of columns, and that of
`gravel.kernels.bfs.rows.cpu.steps` for rows that `gravel.kernels.layouts.readers` reads. Which one is
decided when the kernel is compiled.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import types
from numba.extending import overload

from gravel.kernels.bfs.cpu import pull, push


def _by_rows(columns: Any, plain: Any, name: str) -> Any:
    if isinstance(columns, types.Array):
        return plain
    from gravel.kernels.bfs.rows.cpu import steps

    return getattr(steps, name)


def push_alone(
    row_offsets: Any, columns: Any, queue: Any, begin: Any, end: Any, visited: Any, predecessor: Any
) -> Any:
    """See `push.push_alone`."""
    raise NotImplementedError  # compiled code has the overload


@overload(push_alone, strict=False)
def _push_alone(
    row_offsets: Any, columns: Any, queue: Any, begin: Any, end: Any, visited: Any, predecessor: Any
) -> Callable[..., Any]:
    chosen = _by_rows(columns, push.push_alone, "push_alone")

    def run(row_offsets, columns, queue, begin, end, visited, predecessor):  # type: ignore[no-untyped-def]
        return chosen(row_offsets, columns, queue, begin, end, visited, predecessor)

    return run


def push_chunk(
    row_offsets: Any, columns: Any, queue: Any, begin: Any, end: Any, visited: Any, predecessor: Any,
    arcs_through: Any, arcs_before: Any, first_arc: Any, last_arc: Any, state: Any, tail: Any, buffer: Any,
) -> Any:  # fmt: skip
    """See `push.push_chunk`."""
    raise NotImplementedError


@overload(push_chunk, strict=False)
def _push_chunk(
    row_offsets: Any, columns: Any, queue: Any, begin: Any, end: Any, visited: Any, predecessor: Any,
    arcs_through: Any, arcs_before: Any, first_arc: Any, last_arc: Any, state: Any, tail: Any, buffer: Any,
) -> Callable[..., Any]:  # fmt: skip
    chosen = _by_rows(columns, push.push_chunk, "push_chunk")

    def run(  # type: ignore[no-untyped-def]
        row_offsets, columns, queue, begin, end, visited, predecessor,
        arcs_through, arcs_before, first_arc, last_arc, state, tail, buffer,
    ):  # fmt: skip
        return chosen(
            row_offsets, columns, queue, begin, end, visited, predecessor,
            arcs_through, arcs_before, first_arc, last_arc, state, tail, buffer,
        )  # fmt: skip

    return run


def pull_words(
    row_offsets: Any, columns: Any, heads: Any, first_word: Any, last_word: Any, frontier: Any,
    following: Any, visited: Any, depth: Any, distance: Any, predecessor: Any,
) -> Any:  # fmt: skip
    """See `pull.pull_words`."""
    raise NotImplementedError


@overload(pull_words, strict=False)
def _pull_words(
    row_offsets: Any, columns: Any, heads: Any, first_word: Any, last_word: Any, frontier: Any,
    following: Any, visited: Any, depth: Any, distance: Any, predecessor: Any,
) -> Callable[..., Any]:  # fmt: skip
    chosen = _by_rows(columns, pull.pull_words, "pull_words")

    def run(  # type: ignore[no-untyped-def]
        row_offsets, columns, heads, first_word, last_word, frontier,
        following, visited, depth, distance, predecessor,
    ):  # fmt: skip
        return chosen(
            row_offsets, columns, heads, first_word, last_word, frontier,
            following, visited, depth, distance, predecessor,
        )  # fmt: skip

    return run
