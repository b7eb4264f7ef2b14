"""CuPy's memory pool in numbers alone: what it holds is what a GPU's would hold after the same requests.

As `cupy.cuda.memory.SingleDeviceMemoryPool` has it: sizes are rounded up to 512 bytes, the smallest free
block that suffices is cut, its rest stays free, and neighbours within one allocation become one block again.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from dataclasses import dataclass, field

UNIT = 512
"""Bytes of which every block has a multiple."""


@dataclass(eq=False)
class Block:
    """A part of one allocation of the device, between the parts before and after it."""

    size: int
    before: Block | None = None
    after: Block | None = None
    free: bool = False
    order: int = field(default=0)


class DevicePool:
    """Blocks that are taken and given back; `peak` and `most_used` are the most since `restart`."""

    def __init__(self) -> None:
        self._free: list[tuple[int, int, Block]] = []
        self._count = self._total = self._used = self.peak = self.most_used = 0

    def take(self, size: int) -> Block:
        """Take a block of so many bytes."""
        self._count += 1
        size = max(UNIT, -(-size // UNIT) * UNIT)
        block = self._cut(size)
        if block is None:
            block = Block(size)
            self._total += size
            self.peak = max(self.peak, self._total)
        self._used += block.size
        self.most_used = max(self.most_used, self._used)
        return block

    def give(self, block: Block) -> None:
        """Give a block back, which becomes one with free neighbours."""
        self._used -= block.size
        if block.after is not None and block.after.free:
            self._forget(block.after)
            block = _joined(block, block.after)
        if block.before is not None and block.before.free:
            self._forget(block.before)
            block = _joined(block.before, block)
        self._keep(block)

    def _cut(self, size: int) -> Block | None:
        # Of several blocks of a size, the one that was given back last.
        place = bisect_left(self._free, (size, -self._count - 1))
        if place == len(self._free):
            return None
        _, _, block = self._free.pop(place)
        block.free = False
        if block.size > size:
            rest = Block(block.size - size, block, block.after)
            if block.after is not None:
                block.after.before = rest
            block.size, block.after = size, rest
            self._keep(rest)
        return block

    def _keep(self, block: Block) -> None:
        self._count += 1
        block.free, block.order = True, -self._count
        insort(self._free, (block.size, block.order, block))

    def _forget(self, block: Block) -> None:
        self._free.remove((block.size, block.order, block))

    def total_bytes(self) -> int:
        """Return what the pool has of the device."""
        return self._total

    def used_bytes(self) -> int:
        """Return what arrays hold of that."""
        return self._used

    def free_bytes(self) -> int:
        """Return what the pool has, and nobody holds."""
        return self._total - self._used

    def free_all_blocks(self) -> None:
        """Give allocations back of which nothing is held."""
        whole = [each for each in self._free if each[2].before is None and each[2].after is None]
        for each in whole:
            self._free.remove(each)
            self._total -= each[0]

    def restart(self) -> None:
        """Begin to look for the peak anew."""
        self.free_all_blocks()
        self.peak, self.most_used = self._total, self._used


def _joined(one: Block, other: Block) -> Block:
    joined = Block(one.size + other.size, one.before, other.after)
    if joined.before is not None:
        joined.before.after = joined
    if joined.after is not None:
        joined.after.before = joined
    return joined
