"""What a check may take of a machine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gravel.kernels.cuda.launch import BLOCK
from gravel.kernels.verify.cuda.memory import Batch


@dataclass(frozen=True)
class Resources:
    """Memory, threads and how a check is cut up.

    Parameters
    ----------
    room : bytes of device memory, beside arrays that are there already.
    threads : of the host, which read and send what is not on the device.
    block : threads of a block on the device, a multiple of 32.
    batch : what a plan of `gravel.kernels.verify.cuda.memory` chose for that room; by default the check does.

    """

    room: int
    threads: int = 4
    block: int = BLOCK
    batch: Batch | None = None

    def planned(self, plan: Callable[[int], Batch | None]) -> Batch:
        """Plan within the room; raises MemoryError with the numbers where that is too little."""
        planned = self.batch or plan(self.room)
        if planned is None:
            least = plan(1 << 62)
            needed = f"at least {least.device_bytes:,} bytes" if least else "fewer vertices"
            raise MemoryError(f"verification on the GPU needs {needed}, and {self.room:,} are free")
        return planned
