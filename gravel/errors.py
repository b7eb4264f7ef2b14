"""Exceptions of the Python package beside Python's own.

`NotEnoughMemory` is raised as well where memory runs out under the public interface: in NumPy, Arrow, CuPy or
for a thread.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import wraps
from types import FunctionType
from typing import Any, ParamSpec, TypeVar

from gravel.kernels.cuda.room import device_memory, is_device_memory
from gravel.pipeline.core.errors import NotEnoughMemory

__all__ = ["NotEnoughMemory", "UnknownVertex", "memory_errors", "not_enough", "tell_of_memory"]

Given = ParamSpec("Given")
Found = TypeVar("Found")

HOT = ("bfs",)
"""Methods that take microseconds, too few for a wrapper: the functions that they call are wrapped."""

NO_THREAD = "can't start new thread"
"""The message of Python if there is no memory for the stack of a thread."""


class UnknownVertex(KeyError):
    """An id that the graph does not have; `nearest` lists some that it has."""

    def __init__(self, value: Any, kind: str, nearest: Sequence[Any]) -> None:
        super().__init__(value)
        self.value = value
        self.nearest = list(nearest)
        listed = ", ".join(map(repr, self.nearest))
        self._message = f"{value!r} is no vertex of this graph, whose ids are {kind}"
        if listed:
            self._message += f"; the nearest {'are' if self.nearest[1:] else 'is'} {listed}"

    def __str__(self) -> str:
        return self._message


def checked_number(name: str, value: Any, *, whole: bool) -> Any:
    """Return a number, 0 or more; raises TypeError for what is none, ValueError for others."""
    wanted = "a whole number" if whole else "a number"
    try:
        if isinstance(value, bool | str):
            raise TypeError
        found = int(value) if whole and math.isfinite(value) else value
        fits = found == value and found >= 0 and not (whole and math.isinf(value))
    except TypeError:
        raise TypeError(f"{name} is {value!r}; {wanted} is expected") from None
    if not fits:
        raise ValueError(f"{name} is {value!r}; it must be {wanted}, 0 or more")
    return found


def memory_errors(function: Callable[Given, Found]) -> Callable[Given, Found]:
    """Make a function raise `NotEnoughMemory` where memory runs out."""

    @wraps(function)
    def call(*arguments: Given.args, **named: Given.kwargs) -> Found:
        try:
            return function(*arguments, **named)
        except (MemoryError, RuntimeError) as error:
            if isinstance(error, MemoryError) or str(error) == NO_THREAD:
                raise not_enough(error) from error
            raise

    return call


def not_enough(error: BaseException) -> NotEnoughMemory:
    """Return the error that says which memory ran out, and what to do."""
    if isinstance(error, NotEnoughMemory):
        return error
    if is_device_memory(error):
        there = device_memory()
        return NotEnoughMemory(
            f"GPU memory ran out: {error}{f'; {there}' if there else ''}. Wait until others free it, or keep "
            "the data on the host: backend='cpu', or place('host')"
        )
    return NotEnoughMemory(
        f"host memory ran out: {str(error).rstrip('.')}. Use a machine with more of it, or raise the "
        "limit of this process (`ulimit -v`)"
    )


def tell_of_memory(kind: type) -> None:
    """Make all public methods and properties of a class raise `NotEnoughMemory` where memory runs out."""
    for name, member in list(vars(kind).items()):
        if name in HOT or (name.startswith("_") and name not in ("__getitem__", "__array__")):
            continue
        if isinstance(member, FunctionType):
            setattr(kind, name, memory_errors(member))
        elif isinstance(member, property) and member.fget is not None:
            setattr(kind, name, property(memory_errors(member.fget), doc=member.__doc__))
