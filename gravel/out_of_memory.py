"""`NotEnoughMemory` from whatever finds no memory under the public interface: NumPy, Arrow, CuPy, threads."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from types import FunctionType
from typing import ParamSpec, TypeVar

from gravel.errors import NotEnoughMemory
from gravel.kernels.cuda.room import device_memory, is_device_memory

Given = ParamSpec("Given")
Found = TypeVar("Found")

HOT = ("bfs",)
"""Methods that take microseconds, beside which a call of another function counts: what they call does it."""

NO_THREAD = "can't start new thread"
"""What Python says where there is no memory for the stack of a thread."""


def memory_errors(function: Callable[Given, Found]) -> Callable[Given, Found]:
    """Have a function raise `NotEnoughMemory` where memory runs out."""

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
    """Say which memory ran out, and what to do."""
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
    """Have all public methods and properties of a class raise `NotEnoughMemory` where memory runs out."""
    for name, member in list(vars(kind).items()):
        if name in HOT or (name.startswith("_") and name not in ("__getitem__", "__array__")):
            continue
        if isinstance(member, FunctionType):
            setattr(kind, name, memory_errors(member))
        elif isinstance(member, property) and member.fget is not None:
            setattr(kind, name, property(memory_errors(member.fget), doc=member.__doc__))
