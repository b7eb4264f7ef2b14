"""A context that maps on as many threads as a worker does, with as many items in flight."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from gravel.stages.context import PlainContext
from gravel.stages.stage import Machine
from gravel.stages.threads import map_threads

Item = TypeVar("Item")
Result = TypeVar("Result")


class MappingContext(PlainContext):
    """`PlainContext` that maps on threads, as a worker alone does, and ranks that have workers."""

    def __init__(self, machine: Machine, *, reserved: int = 0) -> None:
        super().__init__(machine)
        self.reserved = reserved

    def map(
        self, function: Callable[[Item], Result], items: Iterable[Item], *, on_reserved: bool = False
    ) -> Iterator[Result]:
        """Apply the function on the machine's threads, and yield in order."""
        return map_threads(function, items, self.machine.threads)
