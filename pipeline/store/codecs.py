"""How one inner chunk becomes bytes that can be checked, and back.

A stored chunk is its payload and the crc32c of that, four bytes. The payload is the chunk itself (`plain`) or
a Zstandard frame of level 1 (`zstd`). These last four bytes are the chunk's checksum: the record of the
artifact holds them too, in the order of the chunks, so that a whole chunk in another's place is noticed.
Whatever the codec, a checksum needs no other chunk and nothing decoded. In `zstd-frame`, which format 1
wrote, the last four bytes are the checksum that the frame holds of its content.

Bytes (uint8) are always plain: they are streams that a kernel decodes. Of other arrays the first chunk is a
sample: compressing it is timed, and the codec is the one with which the array is sooner on the disk, or
nearly as soon and in half the room.
"""

from __future__ import annotations

import struct
import threading
import time
from typing import TypeAlias

import crc32c
import zstandard

from gravel.pipeline.store.layout import PLAIN, ZSTD, ZSTD_FRAME

WORTH_COMPRESSING = 0.75
"""Part of the size that zstd must reach at least: reading it back takes longer, too."""

WORTH_WAITING = 1.5
"""How much longer writing may take where zstd halves the size."""

PLAIN_SECONDS = 0.7e-9
"""Seconds a byte for digests, checksum and writing, on one core of a Xeon, whatever the codec."""

INDEX_ENTRY = struct.Struct("<QQ")
MISSING = (1 << 64) - 1
CHECKSUM_BYTES = 4

EXCHANGED = "a chunk is whole, and another one belongs in its place"

Buffer: TypeAlias = bytes | memoryview

_local = threading.local()


def choose_codec(dtype: str, first_chunk: Buffer, disk_rate: float | None, threads: int) -> str:
    """Pick the codec of an array from its first chunk, where a disk writes so many bytes in a second.

    `threads` are those that encode chunks at the same time. Without a rate, as of an array too small to be
    timed, the size alone decides.
    """
    if dtype == "uint8" or not len(first_chunk):
        return PLAIN
    began = time.thread_time()  # without the wait for other threads
    part = len(_compress(first_chunk)) / len(first_chunk)
    each = (time.thread_time() - began) / len(first_chunk)
    if part > WORTH_COMPRESSING:
        return PLAIN
    if disk_rate is None:
        return ZSTD
    plain = max(PLAIN_SECONDS / threads, 1 / disk_rate)
    zstd = max((PLAIN_SECONDS + each) / threads, part / disk_rate)
    limit = plain * (WORTH_WAITING if part <= 0.5 else 1.0)
    return ZSTD if zstd <= limit else PLAIN


def checksum(data: Buffer) -> bytes:
    """Return the little-endian CRC-32C."""
    return struct.pack("<I", crc32c.crc32c(data))


def encode(codec: str, chunk: Buffer) -> tuple[Buffer, bytes]:
    """Return what is stored for a chunk: the payload, and its checksum behind it."""
    if codec == PLAIN:
        return chunk, checksum(chunk)
    if codec != ZSTD:
        raise ValueError(f"chunks are no longer written as {codec}")
    compressed = _compress(chunk)
    return compressed, checksum(compressed)


def _compress(chunk: Buffer) -> bytes:
    compressor = getattr(_local, "compressor", None)
    if compressor is None:
        # A compressor serves one thread at a time.
        compressor = _local.compressor = zstandard.ZstdCompressor(level=1)
    compressed: bytes = compressor.compress(chunk)
    return compressed


def decode(codec: str, stored: bytes, size: int, expected: bytes | None = None) -> Buffer:
    """Return the chunk of `size` bytes; raises ValueError if a check fails.

    `expected` is the checksum that the artifact's record has for the place, where it is known.
    """
    if codec == ZSTD_FRAME:
        chunk: Buffer = _decompress(stored, size)
        if expected is not None and stored[-CHECKSUM_BYTES:] != expected:
            raise ValueError(EXCHANGED)
    else:
        payload = memoryview(stored)[:-CHECKSUM_BYTES]
        check(payload, stored[-CHECKSUM_BYTES:], expected)
        chunk = payload if codec == PLAIN else _decompress(payload, size)
    if len(chunk) != size:
        raise ValueError(f"a chunk has {len(chunk):,} bytes and should have {size:,}")
    return chunk


def check(payload: Buffer, stored: bytes, expected: bytes | None) -> None:
    """Raise ValueError unless the checksum stored behind a chunk is its own, and the one of its place."""
    if checksum(payload) != stored:
        raise ValueError("a chunk fails its checksum")
    if expected is not None and stored != expected:
        raise ValueError(EXCHANGED)


def _decompress(frame: Buffer, size: int) -> bytes:
    decompressor = getattr(_local, "decompressor", None)
    if decompressor is None:
        decompressor = _local.decompressor = zstandard.ZstdDecompressor()
    try:
        stated = zstandard.frame_content_size(frame)
        if stated not in (-1, size):
            # A damaged header may state more than there is memory for.
            raise ValueError(f"a chunk states {stated:,} bytes and should have {size:,}")
        chunk: bytes = decompressor.decompress(frame, max_output_size=size)
    except zstandard.ZstdError as error:
        raise ValueError(f"a chunk fails its checks ({error})") from error
    return chunk


def encode_index(entries: list[tuple[int, int]]) -> bytes:
    """Return a shard's index: offset and length of each inner chunk, and a crc32c."""
    packed = b"".join(INDEX_ENTRY.pack(offset, length) for offset, length in entries)
    return packed + checksum(packed)


def decode_index(stored: bytes, count: int, size: int) -> list[tuple[int, int]]:
    """Return the entries of the index of a shard of `size` bytes; raises ValueError if a check fails."""
    if len(stored) != count * INDEX_ENTRY.size + CHECKSUM_BYTES:
        raise ValueError("a shard's index is cut off")
    if checksum(stored[:-CHECKSUM_BYTES]) != stored[-CHECKSUM_BYTES:]:
        raise ValueError("a shard's index fails its checksum")
    entries = list(INDEX_ENTRY.iter_unpack(stored[:-CHECKSUM_BYTES]))
    if any(offset != MISSING and offset + length > size for offset, length in entries):
        raise ValueError("a shard's index leads outside of its file")
    return entries
