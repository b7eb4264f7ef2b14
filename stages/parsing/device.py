"""Text that is parsed on a GPU: its buffers, and what may be asked to make room there."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from gravel.kernels.cuda.room import is_out_of_memory
from gravel.stages.errors import StageError

if TYPE_CHECKING:
    from gravel.kernels.text.upload_cuda import TextBuffers, Uploaded
    from gravel.stages.streams.pieces import Piece

Result = TypeVar("Result")


def _nothing() -> None:
    pass


@dataclass
class DeviceText:
    """Text on the current device: what the reader of a line format needs to parse its pieces.

    `make_room` moves to the host what was parsed so far, where the device has no room for more.
    """

    text: TextBuffers
    make_room: Callable[[], None] = field(default=_nothing)

    def uploaded(self, pieces: Iterable[Piece]) -> Iterator[tuple[Piece, Uploaded]]:
        """Yield pieces that are on the device, while the next one is on its way.

        What stops the pieces is raised after the last of them.
        """
        waiting: deque[tuple[Piece, Uploaded]] = deque()
        broken: StageError | None = None
        ended = False
        following = iter(pieces)
        try:
            while True:
                while not ended and len(waiting) < 2:
                    try:
                        piece = next(following, None)
                    except StageError as error:
                        broken, piece = error, None
                    ended = piece is None
                    if piece is not None:
                        waiting.append((piece, self.text.upload(*piece)))
                if not waiting:
                    break
                piece, uploaded = waiting.popleft()
                uploaded.wait()
                yield piece, uploaded
        finally:
            self.text.wait()
        if broken is not None:
            raise broken

    def with_room(self, parse: Callable[[], Result]) -> Result | None:
        """Call a function that allocates, once more after making room; None if that does not help either."""
        try:
            return parse()
        except Exception as error:
            if not is_out_of_memory(error):
                raise
        self.make_room()
        try:
            return parse()
        except Exception as error:
            if not is_out_of_memory(error):
                raise
        return None


class HostPieces:
    """Count of the pieces that a device left to the host."""

    def __init__(self) -> None:
        self.all = 0
        self.on_host = 0

    def tell(self, log: Callable[[str], None]) -> None:
        """Log how much of the text the device did not parse."""
        if self.on_host:
            log(
                f"{self.on_host:,} of {self.all:,} pieces were parsed by the CPU: the GPU reads whole lines "
                "of whole numbers and short decimals, and needs room for them"
            )
