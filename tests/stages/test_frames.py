"""Files of parts that are decompressed side by side: the bytes, and the faults, that one decoder finds."""

from __future__ import annotations

import gzip
import random
import struct
import zlib
from pathlib import Path

import pytest
import zstandard

from gravel.stages.errors import StageError
from gravel.stages.streams import frames, open_stream
from tests.stages.ingest_files import read

TEXT = b"".join(b"%d %d\n" % (i, i * i * 7919 % 99991) for i in range(60_000))


def bgzip(data: bytes, size: int = 65280, *, end: bool = True) -> bytes:
    """Compress as bgzip does: blocks that say how long they are, and an empty one at the end."""
    parts = [data[begin : begin + size] for begin in range(0, len(data), size)] + ([b""] if end else [])
    made = []
    for part in parts:
        packer = zlib.compressobj(6, zlib.DEFLATED, -15)
        body = packer.compress(part) + packer.flush()
        length = 18 + len(body) + 8
        head = struct.pack("<4BI2BH2B2H", 31, 139, 8, 4, 0, 0, 255, 6, 66, 67, 2, length - 1)
        made.append(head + body + struct.pack("<2I", zlib.crc32(part), len(part)))
    return b"".join(made)


def frames_of(data: bytes, size: int = 40_000, **options: object) -> bytes:
    packer = zstandard.ZstdCompressor(write_checksum=True, **options)
    return b"".join(packer.compress(data[begin : begin + size]) for begin in range(0, len(data), size))


PACKED = {
    "bgzip": bgzip(TEXT),
    "bgzip without an end": bgzip(TEXT, 1000, end=False),
    "gzip after bgzip": bgzip(TEXT[:300_000]) + gzip.compress(TEXT[300_000:]) + bgzip(b"1 2\n"),
    "bgzip after gzip": gzip.compress(TEXT[:300_000]) + bgzip(TEXT[300_000:]),
    "padded": bgzip(TEXT) + bytes(300),
    "one gzip": gzip.compress(TEXT),
    "frames": frames_of(TEXT),
    "frames without a size": frames_of(TEXT, write_content_size=False),
    "frames and more": frames_of(TEXT[:200_000]) + frames_of(TEXT[200_000:], write_content_size=False),
    "frames of equal bytes": frames_of(bytes(3_000_000), 500_000),
    "skipped": b"\x50\x2a\x4d\x18\x03\0\0\0abc" + frames_of(TEXT),
}


def content(path: Path, threads: int, piece: int) -> tuple[bytes, str]:
    """Read a file; what was read before an error, too."""
    made, stopped = b"", ""
    try:
        with open_stream(str(path), piece=piece, threads=threads) as stream:
            for block in stream:
                made += block
    except StageError as error:
        stopped = error.message
    return made, stopped


@pytest.mark.parametrize("piece", [1000, 1 << 20])
@pytest.mark.parametrize("name", PACKED)
def test_any_number_of_threads_reads_the_same(
    tmp_path: Path, name: str, piece: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(frames, "BATCH", 20_000)
    path = tmp_path / "packed"
    path.write_bytes(PACKED[name])
    expected = content(path, 1, piece)
    assert expected[1] == ""
    assert len(expected[0]) >= len(TEXT)
    assert content(path, 3, piece) == expected


@pytest.mark.parametrize("name", PACKED)
def test_damage_is_found_by_any_number_of_threads(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(frames, "BATCH", 20_000)
    generator = random.Random(name)
    packed, path = PACKED[name], tmp_path / "packed"
    for _ in range(60):
        data = bytearray(packed)
        place = generator.randrange(len(data))
        kind = generator.randrange(3)
        if kind == 0:
            data[place] ^= generator.randrange(1, 256)
        elif kind == 1:
            del data[max(4, place) :]
        else:
            data += generator.choice([b"\0", b"more", b"\x1f\x8b", packed[:30]])
        path.write_bytes(bytes(data))
        alone, together = content(path, 1, 1 << 16), content(path, 3, 1 << 16)
        assert bool(alone[1]) == bool(together[1]), (kind, place)
        if not alone[1]:
            assert alone == together


def test_a_block_that_holds_more_than_it_may_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "packed"
    path.write_bytes(bgzip(bytes(10_000_000), 10_000_000))
    made, stopped = content(path, 3, 1 << 16)
    assert len(made) <= 1 << 17
    assert "not as long as it says" in stopped


def test_edges_of_blocks(tmp_path: Path) -> None:
    path = tmp_path / "list.txt.gz"
    path.write_bytes(PACKED["bgzip"])
    assert len(read(path).pairs) == 60_000
