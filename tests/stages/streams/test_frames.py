"""Files of parts that are decompressed side by side: the bytes, and the faults, that one decoder finds."""

from __future__ import annotations

import gzip
import lzma
import random
import shutil
import struct
import subprocess
import zlib
from pathlib import Path

import pytest
import zstandard

from gravel.stages.errors import StageError
from gravel.stages.streams import compression, frames, open_stream
from tests.stages.ingest_files import read

TEXT = b"".join(b"%d %d\n" % (i, i * i * 7919 % 99991) for i in range(20_000))


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


def xz_blocks(data: bytes, size: int = 100_000, *, stated: bool = True) -> bytes:
    """Compress as `xz -T` does: blocks whose compressed and other sizes are `stated`."""
    flags = b"\0\x01"  # blocks end with a CRC32
    header = b"\xfd7zXZ\0" + flags + zlib.crc32(flags).to_bytes(4, "little")
    filters = [{"id": lzma.FILTER_LZMA2, "dict_size": 1 << 16}]
    made, sizes = [], []
    for begin in range(0, len(data), size):
        part = data[begin : begin + size]
        packed = lzma.compress(part, format=lzma.FORMAT_RAW, filters=filters)
        told = frames._bytes_of(len(packed)) + frames._bytes_of(len(part)) if stated else b""
        head = (b"\xc0" if stated else b"\0") + told + b"\x21\x01\x08"  # LZMA2, a dictionary of 64 KiB
        head += bytes(-(1 + len(head)) % 4)
        head = bytes([(1 + len(head)) // 4]) + head
        head += zlib.crc32(head).to_bytes(4, "little")
        body = packed + bytes(-len(packed) % 4) + zlib.crc32(part).to_bytes(4, "little")
        made.append(head + body)
        sizes.append(frames.XzSizes(len(head) + len(packed) + 4, len(made[-1]), len(part)))
    return header + b"".join(made) + frames.end_of_stream(header, sizes)


PACKED = {
    "bgzip": bgzip(TEXT),
    "bgzip without an end": bgzip(TEXT, 1000, end=False),
    "gzip after bgzip": bgzip(TEXT[:100_000]) + gzip.compress(TEXT[100_000:]) + bgzip(b"1 2\n"),
    "bgzip after gzip": gzip.compress(TEXT[:100_000]) + bgzip(TEXT[100_000:]),
    "padded": bgzip(TEXT) + bytes(300),
    "one gzip": gzip.compress(TEXT),
    "frames": frames_of(TEXT),
    "frames without a size": frames_of(TEXT, write_content_size=False),
    "frames and more": frames_of(TEXT[:60_000]) + frames_of(TEXT[60_000:], write_content_size=False),
    "frames of equal bytes": frames_of(bytes(1_000_000), 200_000),
    "xz": lzma.compress(TEXT),
    "xz of blocks": xz_blocks(TEXT),
    "xz of small blocks": xz_blocks(TEXT, 3000),
    "xz of blocks without sizes": xz_blocks(TEXT, stated=False),
    "xz streams": xz_blocks(TEXT[:60_000]) + bytes(8) + lzma.compress(TEXT[60_000:]) + xz_blocks(b"1 2\n"),
    "xz padded": lzma.compress(TEXT[:1000]) + xz_blocks(TEXT) + xz_blocks(TEXT) + bytes(400),
    "xz without content": xz_blocks(TEXT) + xz_blocks(b"") + lzma.compress(b""),
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
    for _ in range(25):
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
    assert len(read(path).pairs) == 20_000


def test_blocks_of_xz_are_read_side_by_side(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, decoded = tmp_path / "packed", []
    path.write_bytes(xz_blocks(TEXT))
    inflate = frames._inflate_xz

    def counted(header: bytes, batch: list[memoryview]) -> frames.Inflated:
        decoded.extend(map(len, batch))
        return inflate(header, batch)

    monkeypatch.setattr(frames, "_inflate_xz", counted)
    assert content(path, 3, 1 << 16) == (TEXT, "")
    assert len(decoded) == -(-len(TEXT) // 100_000)


def test_what_the_tool_makes_is_read_side_by_side(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tool = shutil.which("xz")
    if tool is None:
        pytest.skip("xz is not installed")
    path = tmp_path / "packed"
    done = subprocess.run(
        [tool, "-c", "-T2", "--block-size=100000"], input=TEXT, capture_output=True, check=True
    )
    path.write_bytes(done.stdout)
    # The decoder that takes what is left yields nothing.
    monkeypatch.setattr(compression, "_members", lambda *given, **named: iter(()))
    assert content(path, 3, 1 << 16) == (TEXT, "")


def test_blocks_with_and_without_sizes_in_one_stream_are_refused(tmp_path: Path) -> None:
    first, second = xz_blocks(TEXT[:100_000]), xz_blocks(TEXT[100_000:], stated=False)
    path = tmp_path / "packed"
    end = 12 + frames.xz_sizes(first[:12], first, 12).padded  # type: ignore[union-attr]
    path.write_bytes(first[:end] + second[12:])
    made, stopped = content(path, 3, 1 << 16)
    assert TEXT[:100_000].startswith(made)
    assert "some of its blocks do not say their sizes" in stopped
