"""Text that is parsed on a GPU: its buffers, and what may be asked to make room there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gravel.kernels.text.upload_cuda import TextBuffers


def _nothing() -> None:
    pass


@dataclass
class DeviceText:
    """What the reader of a line format needs to parse pieces on the current device.

    `make_room` moves to the host what was parsed so far, where the device has no room for more.
    """

    text: TextBuffers
    make_room: Callable[[], None] = field(default=_nothing)
