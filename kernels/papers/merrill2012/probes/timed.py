"""What probes give, wherever they run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Timed:
    """What one part took and did, level by level.

    `milliseconds` float64 (levels,), the median of several sweeps over all levels. `counts` uint64 (levels,),
    of the last sweep: for a gather the sum of column + 1 over all arcs, for a look-up the arcs that it took
    for fresh.
    """

    milliseconds: NDArray[Any]
    counts: NDArray[Any]


class Probes(Protocol):
    """The parts over the levels of one search; each call sweeps over them `repeats` times and once more.

    `floor_milliseconds` is what a part takes when there is nothing to do.
    """

    floor_milliseconds: float

    def gather(self, name: str, *, schedule: str, repeats: int) -> Timed:
        """Read every level's neighbours with one of GATHERS."""
        ...

    def look_up(self, name: str, *, repeats: int) -> Timed:
        """Look every level's neighbours up with one of LOOKUPS, after what the levels before it left."""
        ...

    def couple(self, name: str, *, schedule: str, repeats: int) -> Timed:
        """Do both in one kernel, with one of COUPLED."""
        ...

    def labels(self) -> NDArray[Any]:
        """Return the distances that the latest look-up left, int32 (vertices,), on the host."""
        ...

    def distinct(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """Count every level's distinct neighbours, and sum up column + 1; int64 and uint64 (levels,)."""
        ...
