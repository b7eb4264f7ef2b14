"""Decompression on several threads, of files that are cut into parts which say how long they are.

These are the blocks of bgzip (SAM specification, section 4.1), zstd frames that state their content's size
(RFC 8878, section 3.1.1), and the blocks of xz (`gravel.stages.streams.xz`). From the first part on that is
none of them, the rest is left to one decoder.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from gravel.stages.threads import in_order

BATCH = 1 << 20
"""Bytes, compressed, that a thread decompresses at a time, where parts are small."""

BGZIP_CONTENT = 1 << 16
"""Bytes that a block of bgzip holds at most."""

ZSTD_CONTENT = 16 << 20
"""Bytes that a frame may hold that is decompressed as a whole."""

Inflated = tuple[bytes, Exception | None]
"""What came out, and what stopped it."""


NONE, MORE = 0, -1
"""In place of a part's length: no part begins there; more bytes are needed to tell."""


def bgzip_length(data: bytes, at: int) -> int:
    """Return the bytes of the bgzip block at a place, or `NONE` or `MORE`."""
    if len(data) - at < 12:
        return MORE
    if data[at : at + 3] != b"\x1f\x8b\x08" or not data[at + 3] & 4:
        return NONE
    extra = at + 12
    end = extra + struct.unpack_from("<H", data, at + 10)[0]
    if len(data) < end:
        return MORE
    while extra + 4 <= end:
        name, size = data[extra : extra + 2], struct.unpack_from("<H", data, extra + 2)[0]
        if name == b"BC" and size == 2 and extra + 6 <= end:
            length = struct.unpack_from("<H", data, extra + 4)[0] + 1
            return int(length) if length > end - at else NONE
        extra += 4 + size
    return NONE


def zstd_length(data: bytes, at: int) -> int:
    """Return the bytes of the zstd frame at a place, or `NONE` or `MORE`."""
    if len(data) - at < 18:
        return MORE
    if data[at : at + 4] != b"\x28\xb5\x2f\xfd":
        return NONE
    flags = data[at + 4]
    single = flags >> 5 & 1
    size_bytes = (single, 2, 4, 8)[flags >> 6]
    place = at + 5 + (1 - single) + (0, 1, 2, 4)[flags & 3]
    content = int.from_bytes(data[place : place + size_bytes], "little") + 256 * (size_bytes == 2)
    if not size_bytes or content > ZSTD_CONTENT:
        return NONE
    place += size_bytes
    while True:
        if len(data) < place + 3:
            return MORE
        header = int.from_bytes(data[place : place + 3], "little")
        place += 3 + (1 if header >> 1 & 3 == 1 else header >> 3)
        if header & 1:
            break
        if place - at > 2 * ZSTD_CONTENT:
            return NONE
    return place - at + (4 if flags & 4 else 0)


@dataclass
class Cut:
    """Cutter of bytes into batches of whole parts; `rest` is what was read and is part of none."""

    raw: Iterator[bytes]
    length: Callable[[bytes, int], int]
    rest: bytes = field(default=b"")

    def batches(self) -> Iterator[list[memoryview]]:
        """Yield batches until something else begins, or the bytes end."""
        data = b""
        for block in self.raw:
            data += block
            at, batch, size = 0, [], 0
            view = memoryview(data)
            while (length := self.length(data, at)) > 0 and at + length <= len(data):
                batch.append(view[at : at + length])
                at, size = at + length, size + length
                if size >= BATCH:
                    yield batch
                    batch, size = [], 0
            if batch:
                yield batch
            data = data[at:]
            if length == NONE:
                break
        self.rest = data


def inflated(cut: Cut, inflate: Callable[[list[memoryview]], Inflated], threads: int) -> Iterator[bytes]:
    """Yield what batches hold, in order, while threads decompress the next ones; raises what stops one."""
    for content, error in in_order(inflate, cut.batches(), threads):
        if content:
            yield content
        if error is not None:
            raise error
