"""Text that is parsed on a GPU: its buffers, and what may be asked to make room there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from gravel.kernels.cuda.room import is_out_of_memory
from gravel.stages.threads import started_ahead

if TYPE_CHECKING:
    from gravel.kernels.text.upload_cuda import TextBuffers, Uploaded
    from gravel.stages.streams.lines import Piece

Result = TypeVar("Result")


def _nothing() -> None:
    pass


@dataclass
class DeviceText:
    """Text on the current device: what the reader of a line format needs to parse its pieces.

    `make_room` moves to the host what was parsed so far, where the device has no room for more. `pieces` and
    `on_host` count all pieces, and those that were left to the host.
    """

    text: TextBuffers
    make_room: Callable[[], None] = field(default=_nothing)
    pieces: int = 0
    on_host: int = 0

    def uploaded(self, pieces: Iterable[Piece]) -> Iterator[tuple[Piece, Uploaded]]:
        """Yield pieces that are on the device, while the next one is on its way.

        What stops the pieces is raised after the last of them.
        """
        try:
            for piece, uploaded in started_ahead(pieces, lambda each: (each, self.text.upload(*each)), 1):
                uploaded.wait()
                self.pieces += 1
                yield piece, uploaded
        finally:
            self.text.wait()

    def with_room(self, parse: Callable[[], Result]) -> Result | None:
        """Call a function that allocates, once more after making room; None if that does not help either."""
        for attempt in range(2):
            try:
                return parse()
            except Exception as error:
                if not is_out_of_memory(error):
                    raise
            if not attempt:
                self.make_room()
        return None

    def tell(self, log: Callable[[str], None]) -> None:
        """Log how much of the text the device did not parse."""
        if self.on_host:
            log(
                f"{self.on_host:,} of {self.pieces:,} pieces were parsed by the CPU: the GPU reads whole "
                "lines of whole numbers and short decimals, and needs room for them"
            )
        self.pieces = self.on_host = 0
