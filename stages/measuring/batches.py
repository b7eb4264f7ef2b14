"""Batches of searches, one after another, which a later run goes on from."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gravel.stages.context import Context

Arrays = Mapping[str, "NDArray[Any]"]


@dataclass
class Batches:
    """The batches that are done: `ends[i]` sources, or another `unit`, after the i-th.

    `milliseconds[i]` is what it took. An earlier run searched from the first `resumed` of the sources.
    """

    context: Context
    total: int
    unit: str = "sources"
    resumed: int = 0
    ends: list[int] = field(default_factory=list)
    milliseconds: list[float] = field(default_factory=list)

    @property
    def done(self) -> int:
        """Sources that were searched from."""
        return self.ends[-1] if self.ends else 0

    def run(
        self,
        sources: NDArray[Any],
        batch: int,
        search: Callable[[int, int], None],
        state: Callable[[int], Arrays],
        restore: Callable[[int, Arrays], None],
        form: str,
    ) -> None:
        """Search batch by batch: `search(first, last)` from the sources at these positions.

        `state(done)` is what has been found so far, and `restore(done, state)` takes it over. A state of
        another `form` is of no use: its sums are rounded differently.
        """
        import numpy

        checkpoint = self.context.checkpoint()
        found = checkpoint.load()
        if found is not None and bytes(found["form"]).decode() == form:
            self.begin(found["ends"].tolist(), found["milliseconds"].tolist())
            restore(self.done, found)
        elif found is not None:
            self.context.log("an earlier run searched in another form, so this one starts anew")

        def kept() -> Arrays:
            return {
                **state(self.done),
                "form": numpy.frombuffer(form.encode(), numpy.uint8),
                "ends": numpy.array(self.ends, numpy.int64),
                "milliseconds": numpy.array(self.milliseconds),
            }

        while self.done < len(sources):
            first, began = self.done, time.perf_counter()
            last = min(first + batch, len(sources))
            search(first, last)
            self.note(last, (time.perf_counter() - began) * 1e3)
            if last < len(sources):
                checkpoint.save(kept)

    def note(self, end: int, milliseconds: float) -> None:
        """Count a batch that is done."""
        self.ends.append(end)
        self.milliseconds.append(milliseconds)
        self.context.progress(end, self.total, self.unit)

    def begin(self, ends: list[int], milliseconds: list[float]) -> None:
        """Take over the batches of an earlier run."""
        self.ends, self.milliseconds = ends, milliseconds
        self.resumed = self.done
        self.context.log(f"goes on after {self.done:,} of {self.total:,} {self.unit} of an earlier run")
        self.context.progress(self.done, self.total, self.unit)

    def records(self) -> list[dict[str, Any]]:
        """Return the batches as an artifact has them."""
        begins = [0, *self.ends[:-1]]
        return [
            {"sources": end - begin, "milliseconds": taken, "resumed": end <= self.resumed}
            for begin, end, taken in zip(begins, self.ends, self.milliseconds, strict=True)
        ]
