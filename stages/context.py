"""The environment of a running stage, and the plain version for notebooks and tests."""

from __future__ import annotations

import copy
import hashlib
import math
import os
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias, TypeVar

from gravel.stages.stage import Machine

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray

    from gravel.stages.artifact import Array, Artifact
    from gravel.stages.stage import Parameters, Stage

Item = TypeVar("Item")
Result = TypeVar("Result")

Arrays: TypeAlias = "Mapping[str, NDArray[Any]]"

THREADS_FROM = 16 << 20
"""Bytes of rows that several threads copy: one takes 1.5 GB/s where the memory is fresh."""


class Sink(Protocol):
    """An array that grows by appending, so that a stage never holds all of its output."""

    def append(self, rows: NDArray[Any], *, given: bool = False) -> None:
        """Add rows at the end; they are copied or written before this returns, or `given` away for good."""
        ...

    def close(self) -> Array:
        """End the array and hand it out, ready for an artifact's field."""
        ...


class SinkMaker(Protocol):
    """What makes sinks of a result's arrays in other processes, which get it with their task."""

    def open(self) -> AbstractContextManager[Callable[[DTypeLike], Sink]]:
        """Give what starts an array of a dtype; all are closed, and what they wrote is safe, at the end."""
        ...


class RangeWriter(Protocol):
    """What ranks write ranges of one array with, which get it with their task."""

    @property
    def piece(self) -> int:
        """Elements of a piece: no two ranks may write to one at the same time."""
        ...

    def write(self, first: int, values: NDArray[Any]) -> Any:
        """Write the elements from `first` on; returns a receipt for `Ranges.add`."""
        ...


class Ranges(Protocol):
    """An array that ranks write in ranges, which together are all of it."""

    @property
    def writer(self) -> RangeWriter:
        """What goes to the ranks."""
        ...

    @property
    def comes_back(self) -> bool:
        """Whether receipts bring the values, as where ranks see no common folder."""
        ...

    def add(self, receipts: Iterable[Any]) -> None:
        """Take receipts in, row after row."""
        ...

    def close(self, rows: int) -> Array:
        """End the array, which has so many rows, and hand it out."""
        ...


class Checkpoint(Protocol):
    """Results of a long stage so far, kept so that a later run of the same recipe goes on from there."""

    def load(self) -> Arrays | None:
        """Return what was saved last, or None; what is damaged, or another stage's, counts as not saved."""
        ...

    def drop(self, reason: str) -> None:
        """Remove what was saved last; `reason` says what is wrong with it, after its name."""
        ...

    def save(self, arrays: Callable[[], Arrays]) -> None:
        """Keep these arrays in the place of those before, unless the last ones are recent.

        `arrays` is called only if they are kept.
        """
        ...


class NoCheckpoint:
    """A checkpoint outside a workflow, where nothing is kept."""

    def load(self) -> None:
        """Do nothing: nothing is kept."""

    def drop(self, reason: str) -> None:
        """Do nothing: nothing is kept."""

    def save(self, arrays: Callable[[], Arrays]) -> None:
        """Keep nothing."""


def differs(found: Arrays, expected: Arrays) -> str | None:
    """Say which of the arrays has another name, dtype or shape than is expected; None if none has."""
    for name in sorted({*found, *expected}):
        forms = [(each[name].dtype, each[name].shape) for each in (found, expected) if name in each]
        if len(forms) != 2 or forms[0] != forms[1]:
            return name
    return None


class Part(NamedTuple):
    """A part of a result, what its stage remarked, and a digest that only equal parts have."""

    artifact: Any
    remarks: tuple[str, ...]
    digest: str


def digest_of(artifact: Artifact) -> str:
    """Digest an artifact whose arrays are in memory."""
    digest = hashlib.blake2b(digest_size=32)
    for value in vars(artifact).values():
        digest.update(value if hasattr(value, "dtype") else repr(value).encode())
    return digest.hexdigest()


class Context(Protocol):
    """The environment of a stage: its machine, its scratch folder, its sinks and its workers."""

    machine: Machine
    reserved: int  # workers that are kept for `rank_group` and `map`, 0 where that would run in this process
    shares_scratch: bool  # whether ranks on workers see the scratch folder
    keeps_device_arrays: bool  # whether arrays of results may be CuPy's

    @property
    def scratch(self) -> Path:
        """An empty folder that is removed when the stage ends."""
        ...

    def sink(self, dtype: DTypeLike, row_shape: tuple[int, ...] = (), *, rows: int | None = None) -> Sink:
        """Start an output array of rows with this shape, and of so many rows at most where that is known."""
        ...

    def sink_maker(self) -> SinkMaker:
        """Return what ranks and items of `map` write arrays of the result with, instead of sending them."""
        ...

    def ranges(self, dtype: DTypeLike, row_shape: tuple[int, ...] = ()) -> Ranges:
        """Start an output array of rows with this shape, which ranks write."""
        ...

    def map(
        self, function: Callable[[Item], Result], items: Iterable[Item], *, on_reserved: bool = False
    ) -> Iterator[Result]:
        """Apply a module-level function to each item, in parallel, yielding results in order.

        With `on_reserved` each item has one of the workers that are reserved to itself, with its GPU.
        """
        ...

    def rank_group(self, function: Callable[..., Result], ranks: Sequence[Any]) -> list[Result]:
        """Run `function(rank_context, item)` for all items at the same time, one per worker."""
        ...

    def progress(self, done: int, total: int | None, unit: str) -> None:
        """Report how far the stage is; cheap enough to call once a chunk."""
        ...

    def checkpoint(self) -> Checkpoint:
        """Return the place where a long stage keeps what it has done, and finds what a killed run had."""
        ...

    def part(
        self, stage: Stage, parameters: Parameters, *, kept: bool, progress: Callable[[int], None]
    ) -> Part:
        """Return what a stage without inputs makes: from the cache, or made now and, if `kept`, stored.

        `progress` gets how far that stage is.
        """
        ...

    def make_parts(self, many: Iterable[tuple[Stage, Parameters]], *, kept: bool) -> None:
        """Make missing parts on the reserved workers at once, if there are any; `part` finds them."""
        ...

    def log(self, message: str) -> None:
        """Add a line to the stage's log."""
        ...

    def note(self, message: str) -> None:
        """Note for whoever runs the workflow what was done: on the console and in the report."""
        ...

    def remark(self, message: str) -> None:
        """Note for whoever runs the workflow what is doubtful about the result, as `note` does."""
        ...


def written(context: Context, array: Any) -> Any:
    """Write an array of a result at once, and return it as the result has it; None for None."""
    if array is None:
        return None
    sink = context.sink(array.dtype, rows=len(array))
    sink.append(array)
    return sink.close()


class MemorySink:
    """A sink that keeps its rows in memory, and copies them once where it knows how many come at most."""

    def __init__(self, dtype: DTypeLike, row_shape: tuple[int, ...] = (), *, rows: int | None = None) -> None:
        self._dtype = dtype
        self._row_shape = row_shape
        self._parts: list[NDArray[Any]] = []
        self._whole = None if rows is None else self._taken(rows)
        self._filled = 0

    def append(self, rows: NDArray[Any], *, given: bool = False) -> None:
        """Keep the rows: a copy, if they are not given. More than were to come take other memory."""
        import numpy

        rows = numpy.asarray(rows)
        if rows.ndim != 1 + len(self._row_shape):
            rows = rows.reshape(-1, *self._row_shape)
        if given and not self._filled and not self._parts and rows.dtype == self._dtype:
            self._whole, self._filled = rows, len(rows)
            return
        if self._whole is None:
            copy = self._taken(len(rows))
            _copy(rows, copy)
            self._parts.append(copy)
            return
        upto = self._filled + len(rows)
        if upto > len(self._whole):
            larger = self._taken(2 * upto)
            larger[: self._filled] = self._whole[: self._filled]
            self._whole = larger
        _copy(rows, self._whole[self._filled : upto])
        self._filled = upto

    def close(self) -> NDArray[Any]:
        """Return the rows as one array."""
        if self._whole is not None:
            # The array itself where it is full: its copy on a device is found by it.
            return self._whole if self._filled == len(self._whole) else self._whole[: self._filled]
        if len(self._parts) == 1:
            return self._parts[0]
        whole = self._taken(sum(map(len, self._parts)))
        filled = 0
        # Pages are taken as they are written, so parts that go meanwhile keep this from doubling.
        for place, part in enumerate(self._parts):
            _copy(part, whole[filled : filled + len(part)])
            filled += len(part)
            self._parts[place] = whole[:0]
        self._parts = [whole]
        return whole

    def _taken(self, rows: int) -> NDArray[Any]:
        from gravel.kernels.placement.pinned import pinnable

        # A GPU may come to read it there. Of what is never written, no page is taken.
        return pinnable(rows * math.prod(self._row_shape), self._dtype).reshape(rows, *self._row_shape)


class MemorySinks:
    """Sinks that keep their rows in memory (`SinkMaker`)."""

    def open(self) -> AbstractContextManager[Callable[[DTypeLike], Sink]]:
        """Give what starts an array of a dtype."""
        return nullcontext(MemorySink)


@dataclass(frozen=True)
class ReturnedWriter:
    """What writes nothing, and returns the values instead (`RangeWriter`)."""

    piece: int = 1 << 20

    def write(self, first: int, values: NDArray[Any]) -> tuple[int, NDArray[Any]]:
        """Return where the values belong, and them."""
        return first, values


class ReturnedRanges:
    """An array whose ranges come back, and go into a sink when a row is whole (`Ranges`).

    `sink` starts the array, and is called with the first range.
    """

    comes_back = True

    def __init__(self, sink: Callable[[], Sink], row_shape: tuple[int, ...]) -> None:
        self.writer = ReturnedWriter()
        self._start, self._row_shape = sink, row_shape
        self._sink: Sink | None = None
        self._waiting: dict[int, NDArray[Any]] = {}
        self._row: list[NDArray[Any]] = []
        self._end = 0

    def add(self, receipts: Iterable[tuple[int, NDArray[Any]]]) -> None:
        """Take ranges in; those of a row may come in any order."""
        import numpy

        self._waiting.update(receipts)
        while (values := self._waiting.pop(self._end, None)) is not None:
            self._end += len(values)
            self._row.append(values)
            if self._end % math.prod(self._row_shape) == 0:
                self._whole().append(numpy.concatenate(self._row).reshape(-1, *self._row_shape))
                self._row.clear()

    def close(self, rows: int) -> Array:
        """End the array."""
        if self._waiting or self._row or self._end != rows * math.prod(self._row_shape):
            raise ValueError(f"ranges up to element {self._end} are no array of {rows} rows")
        return self._whole().close()

    def _whole(self) -> Sink:
        if self._sink is None:
            self._sink = self._start()
        return self._sink


def _copy(rows: NDArray[Any], out: NDArray[Any]) -> None:
    """Copy rows, on several threads where there are many."""
    from gravel.kernels.placement.pinned import fill

    if rows.nbytes < THREADS_FROM or not rows.flags.c_contiguous:
        out[...] = rows
    else:
        fill(out.reshape(-1), rows.reshape(-1))


class PlainContext:
    """A context without workers, cache or progress: everything in this process, in order."""

    keeps_device_arrays = False
    shares_scratch = True

    def __init__(self, machine: Machine | None = None, scratch: Path | None = None) -> None:
        self.machine = machine or Machine(backend="cpu", threads=os.cpu_count() or 1, host_memory=1 << 32)
        self.scratch = scratch or Path(tempfile.mkdtemp(prefix="gravel-"))
        if scratch is None:
            weakref.finalize(self, shutil.rmtree, self.scratch, True)
        self.messages: list[str] = []
        self.reserved = 0

    def sink(
        self, dtype: DTypeLike, row_shape: tuple[int, ...] = (), *, rows: int | None = None
    ) -> MemorySink:
        """Start an array in memory."""
        return MemorySink(dtype, row_shape, rows=rows)

    def sink_maker(self) -> SinkMaker:
        """Return what keeps arrays in memory."""
        return MemorySinks()

    def ranges(self, dtype: DTypeLike, row_shape: tuple[int, ...] = ()) -> Ranges:
        """Start an array whose ranges come back."""
        return ReturnedRanges(partial(self.sink, dtype, row_shape), row_shape)

    def map(
        self, function: Callable[[Item], Result], items: Iterable[Item], *, on_reserved: bool = False
    ) -> Iterator[Result]:
        """Apply the function in this process."""
        return map(function, items)

    def rank_group(self, function: Callable[..., Result], ranks: Sequence[Any]) -> list[Result]:
        """Run the ranks as threads of this process."""
        from gravel.stages.rank_group import run_in_threads

        return run_in_threads(function, ranks, report=self.progress)

    def progress(self, done: int, total: int | None, unit: str) -> None:
        """Ignore it."""

    def checkpoint(self) -> Checkpoint:
        """Return a place that keeps nothing."""
        return NoCheckpoint()

    def note(self, message: str) -> None:
        """Keep the line in `messages`."""
        self.messages.append(message)

    def part(
        self, stage: Stage, parameters: Parameters, *, kept: bool, progress: Callable[[int], None]
    ) -> Part:
        """Make it here."""
        heard: list[str] = []
        context: Any = copy.copy(self)
        context.keeps_device_arrays = False
        context.note = context.remark = heard.append
        made: Any = stage.run(context, parameters)
        return Part(made, tuple(heard), digest_of(made))

    def make_parts(self, many: Iterable[tuple[Stage, Parameters]], *, kept: bool) -> None:
        """Do nothing: there are no other workers."""

    def remark(self, message: str) -> None:
        """Warn, as libraries do."""
        import warnings

        self.log(message)
        warnings.warn(message, stacklevel=2)

    def log(self, message: str) -> None:
        """Keep the line in `messages`."""
        self.messages.append(message)
