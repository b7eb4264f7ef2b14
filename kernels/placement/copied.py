"""Parts of an array on a device: one is read, one copied and one worked on at the same time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from gravel.kernels.placement.parts import RangeReader
from gravel.kernels.placement.pinned import Host, Pinned, PinnedRefused, buffer, pin


class CopiedParts:
    """Buffers in pinned memory, each with its like on the device.

    Parameters
    ----------
    array, ranges : as for `gravel.kernels.placement.parts.RangeReader`; parts may lie beside each other or
        overlap.
    room : elements of a buffer, at least those of the longest part. Those behind a part are what lay there.
    buffers : how many there are, at least 2.
    host : what pins memory; the CUDA runtime by default. `notes` says what the system refused: parts are then
        copied from ordinary memory.

    """

    def __init__(
        self,
        array: Any,
        ranges: Sequence[tuple[int, int]],
        room: int,
        buffers: int,
        *,
        host: Host | None = None,
    ) -> None:
        import cupy

        self.notes: list[str] = []
        copies = [buffer(max(1, room), array.dtype) for _ in range(buffers)]
        # What is pinned stays so while this lives.
        self._pinned: list[Pinned] = []
        try:
            self._pinned = [pin(each, host) for each in copies]
        except PinnedRefused as error:
            self.notes.append(
                f"the system refuses pinned memory ({error}), so parts are copied from ordinary memory"
            )
        self._there = [cupy.zeros(max(1, room), array.dtype) for _ in range(buffers)]
        self._reader = RangeReader(array, ranges, copies)
        self._copying = cupy.cuda.Stream(non_blocking=True)
        self._copied = [cupy.cuda.Event(disable_timing=True) for _ in copies]
        self._worked = [cupy.cuda.Event(disable_timing=True) for _ in copies]

    def each(self, parts: Sequence[int]) -> Iterator[tuple[int, Any, int]]:
        """Yield (part, the buffer that holds it, its bytes), in the order of `parts`.

        What the caller launches on the current stream before it asks for the next part runs when the part has
        come, and before its buffer is written again. What reading raises is raised where its part would come.
        """
        import cupy

        working = cupy.cuda.get_current_stream()
        try:
            for part, values, slot in self._reader.read(
                parts, wait=lambda slot: self._copied[slot].synchronize()
            ):
                # The part that lay here before must have been worked on.
                self._copying.wait_event(self._worked[slot])
                self._there[slot][: len(values)].set(values, stream=self._copying)
                self._copied[slot].record(self._copying)
                working.wait_event(self._copied[slot])
                yield part, self._there[slot], int(values.nbytes)
                self._worked[slot].record(working)
        finally:
            # The buffers may be written again from here on.
            self._copying.synchronize()
