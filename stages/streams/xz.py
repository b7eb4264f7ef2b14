"""Decompression of xz on several threads: of streams whose blocks state their sizes, as `xz -T` writes them.

The format is version 1.2 of https://tukaani.org/xz/xz-file-format.txt. A block is decoded as the beginning of
a stream of its own. The index and the footer, which follow the blocks, are determined by them.
"""

from __future__ import annotations

import itertools
import lzma
import zlib
from collections.abc import Generator, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

from gravel.stages.streams.frames import MORE, NONE, Cut, Inflated, inflated

MAGIC = b"\xfd7zXZ\x00"
STREAM_HEADER = 12
CHECK_BYTES = (0, 4, 4, 4, 8, 8, 8, 16, 16, 16, 32, 32, 32, 64, 64, 64)
"""By the type of check that the stream's header names (section 2.1.1.2)."""

XZ_CONTENT = 32 << 20
"""Bytes that a block may hold that is decompressed as a whole: `xz -T` makes blocks of 24 MiB."""

MAX_BLOCKS = 4
"""Blocks that are decompressed at the same time."""


class BadBlocks(Exception):
    """Blocks that are no stream; the text says how."""


class Sizes(NamedTuple):
    """Sizes in the header of a block: its bytes without padding, all of its bytes, and those it holds."""

    unpadded: int
    padded: int
    content: int


def sizes_of(header: bytes, data: bytes, at: int) -> Sizes | int:
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
    return Sizes(body + check, -(-body // 4) * 4 + check, content)


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


def end_of_stream(header: bytes, blocks: list[Sizes]) -> bytes:
    """Make the index and the footer of a stream (sections 4 and 2.1.2)."""
    records = b"".join(_bytes_of(block.unpadded) + _bytes_of(block.content) for block in blocks)
    index = b"\0" + _bytes_of(len(blocks)) + records
    index += bytes(-len(index) % 4)
    index += zlib.crc32(index).to_bytes(4, "little")
    fields = (len(index) // 4 - 1).to_bytes(4, "little") + header[6:8]
    return index + zlib.crc32(fields).to_bytes(4, "little") + fields + b"YZ"


@dataclass
class Blocks(Cut):
    """Cutter of a stream into batches of blocks, which keeps their sizes."""

    header: bytes = b""
    sizes: list[Sizes] = field(default_factory=list)

    def batches(self) -> Iterator[list[memoryview]]:
        """Yield batches until something else begins, or the bytes end."""
        for batch in super().batches():
            for block in batch:
                sizes = sizes_of(self.header, bytes(block[:1024]), 0)
                assert not isinstance(sizes, int)
                self.sizes.append(sizes)
            yield batch


def streams(raw: Iterator[bytes], piece: int, threads: int) -> Generator[bytes, None, tuple[bytes, bool]]:
    """Yield what streams hold, one after the other, as long as their blocks say their sizes.

    Returns the bytes that come before those left in `raw`, and whether they begin a stream that was not read,
    or come after one. Raises `BadBlocks`.
    """
    data, after = b"", False
    while True:
        # Padding of zeros may follow a stream.
        while len(data := data.lstrip(b"\0") if after else data) < STREAM_HEADER:
            if (more := next(raw, None)) is None:
                return data, not after
            data += more
        header = data[:STREAM_HEADER]
        if not header.startswith(MAGIC) or zlib.crc32(header[6:8]) != int.from_bytes(header[8:], "little"):
            return data, not after
        blocks = Blocks(itertools.chain([data[STREAM_HEADER:]], raw), partial(_length, header), header=header)
        for content in inflated(blocks, partial(_inflate, header), min(threads, MAX_BLOCKS)):
            for begin in range(0, len(content), piece):
                yield content[begin : begin + piece]
        if not blocks.sizes:
            return header + blocks.rest, True
        data, after = _checked_end(header, blocks, raw), True


def _length(header: bytes, data: bytes, at: int) -> int:
    found = sizes_of(header, data, at)
    return found if isinstance(found, int) else found.padded


def _checked_end(header: bytes, blocks: Blocks, raw: Iterator[bytes]) -> bytes:
    """Check the index and the footer; returns what follows them."""
    expected, rest = end_of_stream(header, blocks.sizes), blocks.rest
    while len(rest) < len(expected) and (more := next(raw, None)) is not None:
        rest += more
    if rest[:1] not in (b"", b"\0"):
        raise BadBlocks("the xz stream is damaged, or some of its blocks do not say their sizes")
    if len(rest) < len(expected) and expected.startswith(rest):
        raise BadBlocks("the xz stream ends before its end mark: the file is truncated")
    if not rest.startswith(expected):
        raise BadBlocks("the xz stream is damaged: its index does not fit its blocks")
    return rest[len(expected) :]


def _inflate(header: bytes, batch: list[memoryview]) -> Inflated:
    made = []
    try:
        for block in batch:
            sizes = sizes_of(header, bytes(block[:1024]), 0)
            assert not isinstance(sizes, int)
            decoder = lzma.LZMADecompressor(format=lzma.FORMAT_XZ)
            made.append(decoder.decompress(b"".join((header, block)), sizes.content + 1))
            if len(made[-1]) != sizes.content or not decoder.needs_input:
                raise BadBlocks("the xz stream is damaged: a block is not as long as it says")
    except (lzma.LZMAError, EOFError) as error:
        return b"".join(made), BadBlocks(f"the xz stream is damaged: {error}")
    except BadBlocks as error:
        return b"".join(made), error
    return b"".join(made), None
