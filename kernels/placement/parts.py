"""Reading an array part by part through a few buffers, ahead of whoever works on the parts."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from gravel.kernels.placement.pinned import fill

if TYPE_CHECKING:
    from numpy.typing import NDArray

READERS = 2
"""Threads that read ahead; a stored array checks the pieces of a part on threads of its own."""


def _at_once(slot: int) -> None:
    """Wait for nothing: whoever got the part is done with it when the next one is asked for."""


class RangeReader:
    """Parts of an array that is only read in slices, each of a length of its own.

    Parameters
    ----------
    array : what `gravel.kernels.placement.pinned.fill` takes, with `dtype` and a length; slices read what
        they need.
    ranges : of each part the first element and one more than its last.
    buffers : NumPy arrays with room for the longest part, two or more so that reading goes on meanwhile.

    """

    def __init__(
        self, array: Any, ranges: Sequence[tuple[int, int]], buffers: Sequence[NDArray[Any]]
    ) -> None:
        self._array = array
        self._ranges = ranges
        self.count = len(ranges)
        self._buffers = buffers

    def bounds(self, part: int) -> tuple[int, int]:
        """Give the first element of a part and one more than its last."""
        return self._ranges[part]

    def read(
        self, parts: Sequence[int], wait: Callable[[int], None] = _at_once
    ) -> Iterator[tuple[int, NDArray[Any], int]]:
        """Yield (part, its elements, the number of its buffer), in the order of `parts`.

        The elements are valid until the next part is asked for; `wait(buffer)` is called before that buffer
        is written again. What a read raises is raised where its part would come.
        """
        if len(parts) == 1:
            # A deep graph has many levels of one part, and starting threads takes longer than a small part.
            yield parts[0], self._read(parts[0], 0), 0
            return
        slots = len(self._buffers)
        pending: deque[Future[NDArray[Any]]] = deque()
        with ThreadPoolExecutor(READERS) as pool:
            try:
                for place, part in enumerate(parts[:slots]):
                    pending.append(pool.submit(self._read, part, place))
                for place, part in enumerate(parts):
                    yield part, pending.popleft().result(), place % slots
                    if place + slots < len(parts):
                        wait(place % slots)
                        pending.append(pool.submit(self._read, parts[place + slots], place % slots))
            finally:
                for future in pending:
                    future.cancel()

    def _read(self, part: int, slot: int) -> NDArray[Any]:
        first, last = self.bounds(part)
        out = self._buffers[slot][: last - first]
        fill(out, self._array, first)
        return out


def even_ranges(total: int, length: int) -> list[tuple[int, int]]:
    """Cut `total` elements into ranges of `length`, the last one shorter."""
    return [(first, min(first + length, total)) for first in range(0, total, length)]


class PartReader(RangeReader):
    """Parts of `length` elements of an array that is only read in slices, the last one shorter.

    `array` and `buffers` are as for `RangeReader`.
    """

    def __init__(self, array: Any, length: int, buffers: Sequence[NDArray[Any]]) -> None:
        super().__init__(array, even_ranges(len(array), length), buffers)
        self.length = length
