"""The rest of a text in pieces: all of its lines, for any size of piece and source of bytes."""

from __future__ import annotations

import gzip
import random
from pathlib import Path

import numpy
import pytest

from gravel.stages.errors import StageError
from gravel.stages.streams import LineStream, open_stream
from gravel.stages.streams.lines import LONGEST_LINE, Pieces, buffer_bytes

PACK = {"": lambda data: data, ".gz": gzip.compress}


def written(folder: Path, data: bytes, suffix: str = "") -> str:
    path = folder / f"text{suffix}"
    path.write_bytes(PACK[suffix](data))
    return str(path)


def in_pieces(path: str, piece: int, *, before: int = 0, holds_back: bool = False, block: int = 1 << 20):
    """Read some lines one by one and the rest in pieces; returns these, and what was held back."""
    with open_stream(path, piece=block) as stream:
        lines = LineStream(stream)
        for _ in range(before):
            lines.readline()
        lines.holds_back = holds_back
        buffers = [numpy.full(buffer_bytes(piece), 10, numpy.uint8) for _ in range(3)]
        found = []
        with Pieces(lines, buffers, threads=3) as pieces:
            for each in pieces:
                found.append(each.tobytes())
                pieces.release(each)
        stream.finish()
        return found, lines.last_line


def whole(data: bytes, *, before: int = 0, holds_back: bool = False) -> tuple[bytes, bytes | None]:
    """What pieces have to hold together, and what is held back."""
    ends = [place for place in range(len(data)) if data[place : place + 1] == b"\n"]
    rest = data[ends[before - 1] + 1 if before <= len(ends) else len(data) :] if before else data
    last = rest[rest.rfind(b"\n") + 1 :]
    if holds_back and last.strip():
        return rest[: len(rest) - len(last)], last
    return rest + (b"\n" if last else b""), None


def texts(count: int):
    generator = random.Random(count)
    for _ in range(count):
        parts = generator.choices(
            [b"1 2\n", b"\n", b"\r\n", b"345", b"# \xff\0", b"\n\n", b" "], k=generator.randrange(30)
        )
        yield (
            b"".join(parts),
            generator.randrange(1, 65),
            generator.randrange(3),
            bool(generator.randrange(2)),
        )


@pytest.mark.parametrize("suffix", PACK)
def test_any_size_of_piece_gives_the_same_lines(tmp_path: Path, suffix: str) -> None:
    for data, piece, before, holds_back in texts(150):
        path = written(tmp_path, data, suffix)
        found, held = in_pieces(path, piece, before=before, holds_back=holds_back, block=7 + piece)
        expected = whole(data, before=before, holds_back=holds_back)
        assert (b"".join(found), held) == expected
        assert all(each.endswith(b"\n") for each in found)


def test_a_mark_of_byte_order_and_lines_put_back(tmp_path: Path) -> None:
    path = written(tmp_path, b"\xef\xbb\xbf1 2\n3 4\n5")
    assert in_pieces(path, 2)[0] == [b"1 2\n", b"3 4\n", b"5\n"]
    with open_stream(path) as stream:
        lines = LineStream(stream)
        line = lines.readline()
        assert line is not None
        lines.unread(line)
        with Pieces(lines, [numpy.zeros(buffer_bytes(5), numpy.uint8) for _ in range(2)], 1) as pieces:
            found = b""
            for each in pieces:
                found += each.tobytes()
                pieces.release(each)
    assert found == b"1 2\n3 4\n5\n"


def test_what_was_held_back_comes_once(tmp_path: Path) -> None:
    data = b"".join(b"%d %d\n" % (i, i * i) for i in range(500))
    path = written(tmp_path, data + b"7 8")
    buffers = [numpy.zeros(buffer_bytes(100), numpy.uint8) for _ in range(2)]
    with open_stream(path, piece=64) as stream:
        lines = LineStream(stream)
        lines.holds_back = True
        for expected in (data, b"7 8\n"):
            with Pieces(lines, buffers, 2) as pieces:
                found = b""
                for each in pieces:
                    found += each.tobytes()
                    pieces.release(each)
            assert found == expected
            lines.take_last_line()


def test_several_reads_fill_one_piece(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gravel.stages.streams.lines.READ_BYTES", 3)
    data = b"".join(b"%d %d\n" % (i, i * i) for i in range(500))
    path = written(tmp_path, data)
    found, _ = in_pieces(path, 100)
    assert b"".join(found) == data
    assert len(found) == 50


def test_the_position_is_that_in_the_file(tmp_path: Path) -> None:
    data = b"".join(b"%d %d\n" % (i, i * i) for i in range(500))
    with open_stream(written(tmp_path, data), piece=700) as stream:
        lines = LineStream(stream)
        lines.readline()
        with Pieces(lines, [numpy.zeros(buffer_bytes(1000), numpy.uint8) for _ in range(2)], 1) as pieces:
            positions = []
            for each in pieces:
                positions.append(stream.position)
                pieces.release(each)
    assert positions == sorted(positions)
    assert positions[-1] == len(data)


@pytest.mark.parametrize("piece", [1 << 12, LONGEST_LINE // 2, 4 * LONGEST_LINE])
def test_a_line_may_be_so_long_and_no_longer(tmp_path: Path, piece: int) -> None:
    before, longest = b"1 2\n" * 1000, b"#" * LONGEST_LINE + b"\n"
    path = written(tmp_path, before + longest + b"3 4\n")
    assert b"".join(in_pieces(path, piece)[0]) == before + longest + b"3 4\n"
    for end in (b"\n3 4\n", b"", b"#" * (3 << 20)):
        path = written(tmp_path, before + longest[:-1] + b"#" + end)
        with pytest.raises(StageError, match="a line of more than 1,048,576 bytes"):
            in_pieces(path, piece)


def test_a_file_that_ends_earlier_than_it_did(tmp_path: Path) -> None:
    path = Path(written(tmp_path, b"1 2\n" * 1000))
    with open_stream(str(path), piece=64) as stream:
        lines = LineStream(stream)
        path.write_bytes(b"1 2\n" * 100)
        with Pieces(lines, [numpy.zeros(buffer_bytes(100), numpy.uint8) for _ in range(2)], 2) as pieces:
            found = b""
            for each in pieces:
                found += each.tobytes()
                pieces.release(each)
    assert found == b"1 2\n" * 100


def test_damage_comes_after_what_is_whole(tmp_path: Path) -> None:
    data = b"".join(b"%d %d\n" % (i, i * i) for i in range(20_000))
    path = tmp_path / "text.gz"
    path.write_bytes(gzip.compress(data)[:-2000])
    with open_stream(str(path), piece=4096) as stream:
        lines = LineStream(stream)
        with Pieces(lines, [numpy.zeros(buffer_bytes(5000), numpy.uint8) for _ in range(2)], 1) as pieces:
            found = b""
            error = None
            try:
                for each in pieces:
                    found += each.tobytes()
                    pieces.release(each)
            except StageError as caught:
                error = caught
        lines.line = found.count(b"\n")
        assert data.startswith(found)
        assert error is not None
        assert "truncated" in error.message
        assert lines.placed(error).line == lines.line + 1 > 1000
