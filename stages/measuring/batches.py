"""Batches of searches, in the order of their sources, which a later run goes on from."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from gravel.kernels.compile_time import COMPILE_TIME
from gravel.stages.context import differs

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gravel.stages.context import Context

Arrays = Mapping[str, "NDArray[Any]"]

COLUMNS = ("ends", "began", "milliseconds", "workers")
"""Of a checkpoint: what it says of the batches that were done."""

FOUND_BYTES = 64 << 20
"""Bytes that a searcher brings back at once, if more than one batch; they wait on its worker till then."""


class Clock:
    """The time since it was made, without that in which kernels were compiled or loaded."""

    def __init__(self) -> None:
        self._began, self._compiling = time.perf_counter(), COMPILE_TIME.seconds

    @property
    def milliseconds(self) -> float:
        """Milliseconds until now."""
        compiling = COMPILE_TIME.seconds - self._compiling
        return max(0.0, time.perf_counter() - self._began - compiling) * 1e3


@dataclass(frozen=True)
class Batch:
    """A batch that is done: the sources up to `end`. `began` is the time of its start (`time.time`)."""

    end: int
    began: float
    milliseconds: float
    worker: int = 0


@dataclass
class Batches:
    """The batches that are done, of sources or another `unit`.

    An earlier run searched from the first `resumed` of the sources. `names` are those of the workers of this
    run, where several searched. A checkpoint is of a graph of these `sizes`.
    """

    context: Context
    total: int
    unit: str = "sources"
    sizes: tuple[int, ...] = ()
    resumed: int = 0
    done: int = 0
    names: list[str] = field(default_factory=list)
    _all: list[Batch] = field(default_factory=list)
    _since: float = field(default_factory=time.time)

    def run(
        self,
        sources: int,
        searched: Callable[[int], Iterator[Batch]],
        state: Callable[[int], Arrays],
        restore: Callable[[int, Arrays], None],
        form: str,
    ) -> None:
        """Go through the batches of so many sources: `searched(first)` searches from those at `first` on.

        `state(done)` is what has been found so far, and `restore(done, state)` takes it over. A state of
        another `form` is of no use: its sums are rounded differently.
        """
        import numpy

        self._since = time.time()
        checkpoint = self.context.checkpoint()
        found = checkpoint.load()
        if found is not None and (misfit := self._misfit(found, state, form)) is not None:
            checkpoint.drop(misfit)
        elif found is not None:
            columns = (found[name].tolist() for name in COLUMNS)
            self.begin([Batch(*row) for row in zip(*columns, strict=True)])
            restore(self.done, found)

        def kept() -> Arrays:
            return {
                **state(self.done),
                "form": numpy.frombuffer(form.encode(), numpy.uint8),
                "sizes": self.stated(),
                "ends": numpy.array([each.end for each in self._all], numpy.int64),
                "began": numpy.array([each.began - self._since for each in self._all]),
                "milliseconds": numpy.array([each.milliseconds for each in self._all]),
                "workers": numpy.array([each.worker for each in self._all], numpy.int64),
            }

        for batch in searched(self.done):
            self.note(batch)
            if self.done < sources:
                checkpoint.save(kept)

    def stated(self) -> NDArray[Any]:
        """Return what a checkpoint says of the graph and its sources."""
        import numpy

        return numpy.array([self.total, *self.sizes], numpy.int64)

    def is_of(self, found: Arrays) -> bool:
        """Say whether a checkpoint is of such a graph and as many sources."""
        sizes = self.stated()
        return "sizes" in found and found["sizes"].tobytes() == sizes.tobytes()

    def _misfit(self, found: Arrays, state: Callable[[int], Arrays], form: str) -> str | None:
        """Say what of a checkpoint does not belong to these sources and this graph, or None."""
        import numpy

        ends = found.get("ends", numpy.empty(0))
        if "form" not in found or found["form"].tobytes() != form.encode():
            return "was searched in another form"
        if not self.is_of(found):
            return "is of a graph of another size"
        if ends.dtype != numpy.int64 or ends.ndim != 1 or not len(ends):
            return "has no batches"
        if ends[0] < 1 or ends[-1] > self.total or not (ends[1:] > ends[:-1]).all():
            return f"has batches of other than {self.total:,} sources"
        times = numpy.empty(len(ends))
        batches = {"ends": ends, "began": times, "milliseconds": times, "workers": ends}
        name = differs(
            found, {**state(int(ends[-1])), "form": found["form"], "sizes": found["sizes"], **batches}
        )
        return None if name is None else f"has {name!r} of another size than this graph"

    def note(self, batch: Batch) -> None:
        """Count a batch that is done."""
        self._all.append(batch)
        self.done = batch.end
        self.context.progress(self.done, self.total, self.unit)

    def begin(self, batches: list[Batch]) -> None:
        """Take over the batches of an earlier run, which began so many seconds after its searches."""
        until = max((each.began + each.milliseconds / 1e3 for each in batches), default=0.0)
        self._since = time.time() - until
        self._all = [
            Batch(each.end, self._since + each.began, each.milliseconds, each.worker) for each in batches
        ]
        self.done = self.resumed = batches[-1].end if batches else 0
        self.context.log(f"goes on after {self.done:,} of {self.total:,} {self.unit} of an earlier run")
        self.context.progress(self.done, self.total, self.unit)

    def records(self) -> list[dict[str, Any]]:
        """Return the batches as an artifact has them.

        `milliseconds` is what a batch took, and `began` when it began, in milliseconds of searching before
        it, those of earlier runs included. A batch that was `resumed` was searched by an earlier run, which
        did not end.
        """
        begins = [0, *(each.end for each in self._all)][:-1]
        return [
            {
                "sources": each.end - begin,
                "began": max(0.0, 1e3 * (each.began - self._since)),
                "milliseconds": each.milliseconds,
                "worker": each.worker,
                "resumed": each.end <= self.resumed,
            }
            for begin, each in zip(begins, self._all, strict=True)
        ]


def one_by_one(
    sources: int, batch: int, search: Callable[[int, int], None]
) -> Callable[[int], Iterator[Batch]]:
    """Return what searches batch by batch in this process: `search(first, last)` of the sources."""

    def searched(first: int) -> Iterator[Batch]:
        while first < sources:
            last, began, clock = min(first + batch, sources), time.time(), Clock()
            search(first, last)
            yield Batch(last, began, clock.milliseconds)
            first = last

    return searched
