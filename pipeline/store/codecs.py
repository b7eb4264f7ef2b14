"""How one inner chunk becomes bytes that can be checked, and back.

A stored chunk is its payload and the crc32c of that, four bytes. The payload is the chunk itself (`plain`) or
a Zstandard frame of level 1 (`zstd`). These last four bytes are the chunk's checksum: the record of the
artifact holds them too, in the order of the chunks, so that a whole chunk in another's place is noticed.
Whatever the codec, a checksum needs no other chunk and nothing decoded. In `zstd-frame`, which format 1
wrote, the last four bytes are the checksum that the frame holds of its content.

Measured on 1 MiB chunks, one core of a Xeon: crc32c 6 GB/s; zstd 0.4-0.7 GB/s to write and 0.7-1.2 GB/s to
read, to 0.08 of the size for offsets, 0.14 for distances and 0.78 for the columns of a scrambled RMAT graph.
So zstd is worth its time where it saves a quarter, which an array's first chunk decides. Bytes (uint8) are
always plain: they are streams that a kernel decodes.
"""

from __future__ import annotations

import struct
import threading

import google_crc32c
import zstandard

from gravel.pipeline.store.layout import PLAIN, ZSTD, ZSTD_FRAME

WORTH_COMPRESSING = 0.75
"""Part of the size that zstd must reach on the first chunk to be used; see the rates above."""

INDEX_ENTRY = struct.Struct("<QQ")
MISSING = (1 << 64) - 1
CHECKSUM_BYTES = 4

_local = threading.local()


def choose_codec(dtype: str, first_chunk: bytes) -> str:
    """Pick the codec of an array from its first chunk."""
    if dtype == "uint8":
        return PLAIN
    return ZSTD if len(encode(ZSTD, first_chunk)) <= WORTH_COMPRESSING * len(first_chunk) else PLAIN


def crc32c(data: bytes) -> bytes:
    """Return the little-endian CRC-32C."""
    return struct.pack("<I", google_crc32c.value(data))


def encode(codec: str, chunk: bytes) -> bytes:
    """Return what is stored for a chunk."""
    if codec == PLAIN:
        return chunk + crc32c(chunk)
    if codec != ZSTD:
        raise ValueError(f"chunks are no longer written as {codec}")
    compressor = getattr(_local, "compressor", None)
    if compressor is None:
        # A compressor serves one thread at a time.
        compressor = _local.compressor = zstandard.ZstdCompressor(level=1)
    compressed: bytes = compressor.compress(chunk)
    return compressed + crc32c(compressed)


def checksum_of(stored: bytes) -> bytes:
    """Return the checksum that a stored chunk ends with."""
    return stored[-CHECKSUM_BYTES:]


def decode(codec: str, stored: bytes, size: int, checksum: bytes | None = None) -> bytes:
    """Return the chunk of `size` bytes; raises ValueError if a check fails.

    `checksum` is the one that the artifact's record has for the place, where it is known.
    """
    payload = stored if codec == ZSTD_FRAME else stored[:-CHECKSUM_BYTES]
    if codec != ZSTD_FRAME and crc32c(payload) != stored[-CHECKSUM_BYTES:]:
        raise ValueError("a chunk fails its checksum")
    chunk = payload if codec == PLAIN else _decompress(payload, size)
    if len(chunk) != size:
        raise ValueError(f"a chunk has {len(chunk):,} bytes and should have {size:,}")
    if checksum is not None and stored[-CHECKSUM_BYTES:] != checksum:
        raise ValueError("a chunk is whole, and another one belongs in its place")
    return chunk


def _decompress(frame: bytes, size: int) -> bytes:
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
    return packed + crc32c(packed)


def decode_index(stored: bytes, count: int, size: int) -> list[tuple[int, int]]:
    """Return the entries of the index of a shard of `size` bytes; raises ValueError if a check fails."""
    if len(stored) != count * INDEX_ENTRY.size + CHECKSUM_BYTES:
        raise ValueError("a shard's index is cut off")
    if crc32c(stored[:-CHECKSUM_BYTES]) != stored[-CHECKSUM_BYTES:]:
        raise ValueError("a shard's index fails its checksum")
    entries = list(INDEX_ENTRY.iter_unpack(stored[:-CHECKSUM_BYTES]))
    if any(offset != MISSING and offset + length > size for offset, length in entries):
        raise ValueError("a shard's index leads outside of its file")
    return entries
