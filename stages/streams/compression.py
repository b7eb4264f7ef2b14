"""Decompression in bounded pieces: gzip, bzip2, xz and zstd, known by their first bytes.

A compressed stream of a few kilobytes can hold gigabytes, so every decoder is asked for one piece at a time.
Several streams one after the other are one file, as the command line tools have it.
"""

from __future__ import annotations

import bz2
import itertools
import lzma
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

from gravel.stages.streams.frames import (
    BGZIP_CONTENT,
    MAX_BLOCKS,
    XZ_CONTENT,
    XZ_MAGIC,
    ZSTD_CONTENT,
    BadCompression,
    Cut,
    Inflated,
    bgzip_length,
    inflated,
    xz_streams,
    zstd_length,
)

MAGIC = {
    "gz": (b"\x1f\x8b",),
    "bz2": (b"BZh",),
    "xz": (XZ_MAGIC,),
    "zst": (b"\x28\xb5\x2f\xfd", *(bytes([0x50 + low, 0x2A, 0x4D, 0x18]) for low in range(16))),
}
"""The first bytes of each kind; zstd's others start a frame to be skipped (RFC 8878, section 3.1.2)."""

SUFFIXES = {".gz": "gz", ".bgz": "gz", ".bz2": "bz2", ".xz": "xz", ".zst": "zst", ".zstd": "zst"}

ZSTD_INPUT = 2048
"""Bytes given to the zstd decoder at once: its output has no limit, but is at most 64 MiB for these."""


MAX_FRAMES = 8
"""Frames of zstd that are decompressed at the same time: each may hold 16 MiB."""


def compression_of(head: bytes) -> str | None:
    """Name the compression that the first bytes of a file show, or None."""
    for name, magics in MAGIC.items():
        if head.startswith(magics):
            return name
    return None


def split_name(name: str) -> tuple[str, str | None]:
    """Take a compression suffix off a file name: `a.mtx.gz` becomes `a.mtx` and `gz`."""
    lower = name.lower()
    for suffix, compression in SUFFIXES.items():
        if lower.endswith(suffix):
            return name[: -len(suffix)], compression
    return name, None


def decompress(kind: str | None, raw: Iterator[bytes], piece: int, threads: int = 1) -> Iterator[bytes]:
    """Yield decompressed bytes, about `piece` at a time; raises BadCompression.

    Files of parts that say how long they are, are decompressed by so many threads.
    """
    if kind is None:
        return raw
    if kind == "gz" and threads > 1:
        return _joined(_bgzip(raw, piece, threads), piece)
    if kind == "xz" and threads > 1:
        return _joined(_xz_blocks(raw, piece, threads), piece)
    if kind == "zst":
        return _joined(_zstd_frames(raw, threads) if threads > 1 else _zstd(raw), piece)
    return _joined(_members(_DECODERS[kind], raw, piece, kind), piece)


def inflating_bytes(kind: str | None, threads: int, content: int) -> int:
    """Bound what parts take that threads decompress side by side, of a file that holds `content` bytes.

    Each is there with what it becomes, and one more is handed on. Blocks of bgzip are too small to count.
    """
    sizes = {"zst": (MAX_FRAMES, ZSTD_CONTENT), "xz": (MAX_BLOCKS, XZ_CONTENT)}
    if threads == 1 or kind not in sizes:
        return 0
    most, size = sizes[kind]
    return min(content, (min(threads, most) + 1) * size) * 5 // 4


def _joined(pieces: Iterator[bytes], least: int) -> Iterator[bytes]:
    kept: list[bytes] = []
    length = 0
    for piece in pieces:
        kept.append(piece)
        length += len(piece)
        if length >= least:
            yield b"".join(kept)
            kept, length = [], 0
    if kept:
        yield b"".join(kept)


_inflater: Any = zlib
with suppress(ImportError):  # there is none for some processors
    # Intel's decoder is 2.5 times as fast.
    from isal import isal_zlib

    _inflater = isal_zlib


class _Gzip:
    """The decoder of zlib, or of isal, with the face of bz2's and lzma's."""

    def __init__(self) -> None:
        self._decoder: Any = _inflater.decompressobj(wbits=31)
        self._pending = b""
        self._full = False

    @property
    def eof(self) -> bool:
        return bool(self._decoder.eof)

    @property
    def unused_data(self) -> bytes:
        unused: bytes = self._decoder.unused_data
        return unused

    @property
    def needs_input(self) -> bool:
        # Output that filled the piece may have more behind it, inside zlib.
        return not self._pending and not self._full and not self._decoder.eof

    def decompress(self, data: bytes, max_length: int) -> bytes:
        made: bytes = self._decoder.decompress(self._pending + data, max_length)
        self._pending = self._decoder.unconsumed_tail
        self._full = len(made) == max_length
        return made


_DECODERS: dict[str, Callable[[], Any]] = {
    "gz": _Gzip,
    "bz2": bz2.BZ2Decompressor,
    "xz": lambda: lzma.LZMADecompressor(format=lzma.FORMAT_XZ),
}


def _bgzip(raw: Iterator[bytes], piece: int, threads: int) -> Iterator[bytes]:
    cut = Cut(raw, bgzip_length)
    some = False
    for content in inflated(cut, _inflate, threads):
        some = True
        yield content
    rest = itertools.chain([cut.rest], raw)
    yield from _members(_Gzip, rest, piece, "gz", within=not some)


def _xz_blocks(raw: Iterator[bytes], piece: int, threads: int) -> Iterator[bytes]:
    rest, within = yield from xz_streams(raw, piece, threads)
    yield from _members(_DECODERS["xz"], itertools.chain([rest], raw), piece, "xz", within=within)


def _inflate(batch: list[memoryview]) -> Inflated:
    made = []
    try:
        for part in batch:
            decoder = _inflater.decompressobj(wbits=31)
            made.append(decoder.decompress(part, BGZIP_CONTENT + 1))
            if not decoder.eof or decoder.unused_data or len(made[-1]) > BGZIP_CONTENT:
                raise ValueError("a bgzip block is not as long as it says")
    except (zlib.error, _inflater.error, ValueError) as error:
        return b"".join(made), BadCompression(f"the gz stream is damaged: {error}")
    return b"".join(made), None


def _zstd_frames(raw: Iterator[bytes], threads: int) -> Iterator[bytes]:
    cut = Cut(raw, zstd_length)
    yield from inflated(cut, _inflate_frames, min(threads, MAX_FRAMES))
    yield from _zstd(itertools.chain([cut.rest], raw))


def _inflate_frames(batch: list[memoryview]) -> Inflated:
    import zstandard

    decoder = zstandard.ZstdDecompressor()
    made = []
    try:
        for part in batch:
            made.append(decoder.decompress(part, max_output_size=ZSTD_CONTENT))
    except zstandard.ZstdError as error:
        return b"".join(made), BadCompression(f"the zst stream is damaged: {error}")
    return b"".join(made), None


def _members(
    make: Callable[[], Any], raw: Iterator[bytes], piece: int, kind: str, *, within: bool = True
) -> Iterator[bytes]:
    """Decompress streams one after the other; the first bytes are within one, or come after one."""
    decoder = make()
    data = b""
    try:
        while True:
            if decoder.eof or not within:
                # Padding of zeros may follow a stream; then another stream, or the end.
                data = decoder.unused_data
                within = True
                while not data.strip(b"\0"):
                    following = next(raw, None)
                    if following is None:
                        return
                    data = following
                data = data.lstrip(b"\0")
                longest = max(len(magic) for magic in MAGIC[kind])
                while len(data) < longest:
                    following = next(raw, None)
                    if following is None:
                        break
                    data += following
                if not data.startswith(MAGIC[kind]):
                    raise BadCompression(f"the {kind} stream is followed by bytes that are not {kind}")
                decoder = make()
            elif decoder.needs_input and not data:
                following = next(raw, None)
                if following is None:
                    raise BadCompression(f"the {kind} stream ends before its end mark: the file is truncated")
                data = following
            made = decoder.decompress(data, piece)
            data = b""
            if made:
                yield made
    except (zlib.error, _inflater.error, lzma.LZMAError, OSError, EOFError, ValueError) as error:
        raise BadCompression(f"the {kind} stream is damaged: {error}") from None


def _zstd(raw: Iterator[bytes]) -> Iterator[bytes]:
    import zstandard

    decoder = zstandard.ZstdDecompressor().decompressobj()
    fresh = True
    try:
        for block in raw:
            for begin in range(0, len(block), ZSTD_INPUT):
                data = block[begin : begin + ZSTD_INPUT]
                while data:
                    made = decoder.decompress(data)
                    fresh = False
                    data = b""
                    if decoder.eof:
                        data = decoder.unused_data
                        decoder, fresh = zstandard.ZstdDecompressor().decompressobj(), True
                    if made:
                        yield made
    except zstandard.ZstdError as error:
        raise BadCompression(f"the zst stream is damaged: {error}") from None
    if not fresh:
        raise BadCompression("the zst stream ends before its end mark: the file is truncated")
