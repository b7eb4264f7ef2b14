"""Decompression on several threads, of files that are cut into parts which say how long they are.

These are the blocks of bgzip (SAM specification, section 4.1), zstd frames that state their content's size
(RFC 8878, section 3.1.1), and blocks of xz that state their sizes, as `xz -T` writes them (version 1.2 of
https://tukaani.org/xz/xz-file-format.txt). From the first part on that is none of them, the rest is left to
one decoder. A block of xz is decoded as the beginning of a stream of its own; the index and the footer, which
follow the blocks, are determined by them.
"""

from __future__ import annotations

import itertools
import lzma
import struct
import zlib
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

from gravel.stages.threads import in_order

BATCH = 1 << 20
"""Bytes, compressed, that a thread decompresses at a time, where parts are small."""

BGZIP_CONTENT = 1 << 16
"""Bytes that a block of bgzip holds at most."""

ZSTD_CONTENT = 16 << 20
"""Bytes that a frame may hold that is decompressed as a whole."""

XZ_MAGIC = b"\xfd7zXZ\x00"
STREAM_HEADER = 12
CHECK_BYTES = (0, 4, 4, 4, 8, 8, 8, 16, 16, 16, 32, 32, 32, 64, 64, 64)
"""By the type of check that the stream's header names (section 2.1.1.2)."""

XZ_CONTENT = 32 << 20
"""Bytes that a block may hold that is decompressed as a whole: `xz -T` makes blocks of 24 MiB."""

MAX_BLOCKS = 4
"""Blocks that are decompressed at the same time."""

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


class BadCompression(Exception):
    """A compressed stream that is damaged or ends too early; the text says which."""


class XzSizes(NamedTuple):
    """XzSizes in the header of a block: its bytes without padding, all of its bytes, and those it holds."""

    unpadded: int
    padded: int
    content: int


def xz_sizes(header: bytes, data: bytes, at: int) -> XzSizes | int:
    """Read the header of the block at a place; `NONE` for one without sizes, `MORE` where bytes lack."""
    if len(data) <= at:
        return MORE
    if data[at] == 0:  # the index
        return NONE
    length = 4 * (data[at] + 1)
    if len(data) < at + length:
        return MORE
    head = data[at : at + length]
    if head[1] & 0xC0 != 0xC0 or zlib.crc32(head[:-4]) != int.from_bytes(head[-4:], "little"):
        return NONE
    compressed, place = _number(head, 2)
    content, _ = _number(head, place)
    if not 0 < compressed <= 2 * XZ_CONTENT or content > XZ_CONTENT:
        return NONE
    body = length + compressed
    check = CHECK_BYTES[header[7] & 15]
    return XzSizes(body + check, -(-body // 4) * 4 + check, content)


def _number(data: bytes, place: int) -> tuple[int, int]:
    """Read an integer of 7 bits a byte (section 1.2); returns where the next one begins."""
    value = shift = 0
    while place < len(data):
        byte = data[place]
        value |= (byte & 127) << shift
        place, shift = place + 1, shift + 7
        if byte < 128:
            break
    return value, place


def _bytes_of(number: int) -> bytes:
    made = bytearray()
    while number > 127:
        made.append(number & 127 | 128)
        number >>= 7
    return bytes([*made, number])


def end_of_stream(header: bytes, blocks: list[XzSizes]) -> bytes:
    """Make the index and the footer of a stream (sections 4 and 2.1.2)."""
    records = b"".join(_bytes_of(block.unpadded) + _bytes_of(block.content) for block in blocks)
    index = b"\0" + _bytes_of(len(blocks)) + records
    index += bytes(-len(index) % 4)
    index += zlib.crc32(index).to_bytes(4, "little")
    fields = (len(index) // 4 - 1).to_bytes(4, "little") + header[6:8]
    return index + zlib.crc32(fields).to_bytes(4, "little") + fields + b"YZ"


@dataclass
class XzBlocks(Cut):
    """Cutter of a stream into batches of blocks, which keeps their sizes."""

    header: bytes = b""
    sizes: list[XzSizes] = field(default_factory=list)

    def batches(self) -> Iterator[list[memoryview]]:
        """Yield batches until something else begins, or the bytes end."""
        for batch in super().batches():
            for block in batch:
                sizes = xz_sizes(self.header, bytes(block[:1024]), 0)
                assert not isinstance(sizes, int)
                self.sizes.append(sizes)
            yield batch


def xz_streams(raw: Iterator[bytes], piece: int, threads: int) -> Generator[bytes, None, tuple[bytes, bool]]:
    """Yield what streams hold, one after the other, as long as their blocks say their sizes.

    Returns the bytes that come before those left in `raw`, and whether they begin a stream that was not read,
    or come after one. Raises `BadCompression`.
    """
    data, after = b"", False
    while True:
        # Padding of zeros may follow a stream.
        while len(data := data.lstrip(b"\0") if after else data) < STREAM_HEADER:
            if (more := next(raw, None)) is None:
                return data, not after
            data += more
        header = data[:STREAM_HEADER]
        if not header.startswith(XZ_MAGIC) or zlib.crc32(header[6:8]) != int.from_bytes(header[8:], "little"):
            return data, not after
        blocks = XzBlocks(
            itertools.chain([data[STREAM_HEADER:]], raw), partial(_length, header), header=header
        )
        for content in inflated(blocks, partial(_inflate_xz, header), min(threads, MAX_BLOCKS)):
            for begin in range(0, len(content), piece):
                yield content[begin : begin + piece]
        if not blocks.sizes:
            return header + blocks.rest, True
        data, after = _checked_end(header, blocks, raw), True


def _length(header: bytes, data: bytes, at: int) -> int:
    found = xz_sizes(header, data, at)
    return found if isinstance(found, int) else found.padded


def _checked_end(header: bytes, blocks: XzBlocks, raw: Iterator[bytes]) -> bytes:
    """Check the index and the footer; returns what follows them."""
    expected, rest = end_of_stream(header, blocks.sizes), blocks.rest
    while len(rest) < len(expected) and (more := next(raw, None)) is not None:
        rest += more
    if rest[:1] not in (b"", b"\0"):
        raise BadCompression("the xz stream is damaged, or some of its blocks do not say their sizes")
    if len(rest) < len(expected) and expected.startswith(rest):
        raise BadCompression("the xz stream ends before its end mark: the file is truncated")
    if not rest.startswith(expected):
        raise BadCompression("the xz stream is damaged: its index does not fit its blocks")
    return rest[len(expected) :]


def _inflate_xz(header: bytes, batch: list[memoryview]) -> Inflated:
    made = []
    try:
        for block in batch:
            sizes = xz_sizes(header, bytes(block[:1024]), 0)
            assert not isinstance(sizes, int)
            decoder = lzma.LZMADecompressor(format=lzma.FORMAT_XZ)
            made.append(decoder.decompress(b"".join((header, block)), sizes.content + 1))
            if len(made[-1]) != sizes.content or not decoder.needs_input:
                raise BadCompression("the xz stream is damaged: a block is not as long as it says")
    except (lzma.LZMAError, EOFError) as error:
        return b"".join(made), BadCompression(f"the xz stream is damaged: {error}")
    except BadCompression as error:
        return b"".join(made), error
    return b"".join(made), None
