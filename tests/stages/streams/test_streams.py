"""Bytes from files and URLs: every compression, cut short or damaged, and everything that is no file."""

import gzip
import hashlib
import os
import subprocess

import pytest

from gravel.stages.errors import StageError
from gravel.stages.streams import LineStream, open_stream
from tests.stages.ingest_files import PACK, complains, read, refused
from tests.web_server import WebServer

TEXT = "".join(f"{i} {i * i % 9973}\n" for i in range(20_000)).encode()


def content(path, **options):
    with open_stream(str(path), **options) as stream:
        return b"".join(stream)


@pytest.mark.parametrize("piece", [1000, 1 << 20])
@pytest.mark.parametrize("suffix", list(PACK))
def test_every_compression_by_content(tmp_path, suffix, piece):
    path = tmp_path / "no_suffix"
    path.write_bytes(PACK[suffix](TEXT))
    assert content(path, piece=piece) == TEXT


@pytest.mark.parametrize("suffix", [".gz", ".bz2", ".xz", ".zst"])
def test_streams_after_each_other_are_one(tmp_path, suffix):
    path = tmp_path / "two"
    path.write_bytes(PACK[suffix](TEXT) + PACK[suffix](b"") + PACK[suffix](b"1 2\n"))
    assert content(path, piece=777) == TEXT + b"1 2\n"


@pytest.mark.parametrize("suffix", [".gz", ".xz"])
def test_padding_is_left_alone(tmp_path, suffix):
    path = tmp_path / "padded"
    path.write_bytes(PACK[suffix](TEXT) + bytes(512))
    assert content(path) == TEXT


@pytest.mark.parametrize("keep", [3, 0.5, -1])
@pytest.mark.parametrize("suffix", [".gz", ".bz2", ".xz", ".zst"])
def test_a_stream_that_breaks_off(tmp_path, suffix, keep):
    data = PACK[suffix](TEXT)
    cut = data[: int(keep * len(data)) if isinstance(keep, float) else keep]
    error = refused(tmp_path, f"g.txt{suffix}", cut)
    if keep != 3:
        assert "ends before its end mark" in error.message
        assert "again" in error.hint


@pytest.mark.parametrize("suffix", [".gz", ".bz2", ".xz", ".zst"])
def test_a_stream_cut_late_names_the_line(tmp_path, suffix):
    text = b"".join(b"%d %d\n" % (i, i * i * 7919 % 99991) for i in range(60_000))
    data = PACK[suffix](text)
    error = refused(tmp_path, f"g.txt{suffix}", data[: len(data) - len(data) // 8], memory="16MiB")
    assert 1 <= error.line <= 60_000


@pytest.mark.parametrize("suffix", [".gz", ".bz2", ".xz"])
def test_a_damaged_stream(tmp_path, suffix):
    data = bytearray(PACK[suffix](TEXT))
    data[len(data) // 2] ^= 0x55
    error = refused(tmp_path, f"g.txt{suffix}", bytes(data))
    assert error.message


@pytest.mark.parametrize("decoder", ["zlib", "isal.isal_zlib"])
def test_every_decoder_of_gzip_reads_and_refuses_the_same(tmp_path, monkeypatch, decoder):
    monkeypatch.setattr("gravel.stages.streams.compression._inflater", pytest.importorskip(decoder))
    path = tmp_path / "two.gz"
    packed = gzip.compress(TEXT)
    for piece in (100, 1000, 1 << 20):
        path.write_bytes(packed + gzip.compress(b"") + gzip.compress(b"1 2\n") + bytes(100))
        assert content(path, piece=piece) == TEXT + b"1 2\n"
        path.write_bytes(gzip.compress(bytes(1 << 20)))
        assert content(path, piece=piece) == bytes(1 << 20)
    for place in (-8, -5, -4, -1, len(packed) // 2, 20):  # checksum, length, content
        damaged = bytearray(packed)
        damaged[place] ^= 0x55
        assert "the gz stream" in refused(tmp_path, "damaged.gz", bytes(damaged), format="edge_list").message
    for cut in (1, 4, 8, 9, 1000, len(packed) - 12):
        message = refused(tmp_path, "cut.gz", packed[:-cut], format="edge_list").message
        assert "ends before its end mark" in message
    assert "followed by" in refused(tmp_path, "more.gz", packed + b"more of it").message


def test_trailing_bytes_are_told(tmp_path):
    assert "followed by" in refused(tmp_path, "g.txt.gz", gzip.compress(TEXT) + b"more of it").message


@pytest.mark.parametrize(
    ("suffix", "most"), [(".gz", 1 << 17), (".bz2", 1 << 17), (".xz", 1 << 17), (".zst", 1 << 26)]
)
def test_a_bomb_is_taken_in_pieces(tmp_path, suffix, most):
    path = tmp_path / "bomb"
    path.write_bytes(PACK[suffix](bytes(100_000_000 if suffix == ".zst" else 10_000_000)))
    with open_stream(str(path), piece=1 << 16) as stream:
        assert len(next(stream)) <= most


def test_sha256(tmp_path):
    path = tmp_path / "g.txt"
    path.write_bytes(b"1 2\n3 4\n")
    right = hashlib.sha256(b"1 2\n3 4\n").hexdigest()
    assert read(path, sha256=right).pairs == [(1, 2), (3, 4)]
    assert read(path, sha256=right.upper()).pairs == [(1, 2), (3, 4)]
    error = refused(tmp_path, "g.txt", b"1 2\n3 5\n", sha256=right)
    complains(error, None, "sha256", right, hashlib.sha256(b"1 2\n3 5\n").hexdigest())


def test_a_wrong_file_is_told_before_its_faults(tmp_path):
    wrong = "0" * 64
    assert "sha256" in refused(tmp_path, "g.txt", TEXT + b"oops\n" + TEXT * 20, sha256=wrong).message
    assert "sha256" in refused(tmp_path, "h.txt.gz", gzip.compress(TEXT)[:-9], sha256=wrong).message


def test_what_is_no_file(tmp_path):
    (tmp_path / "roads.txt").write_text("1 2\n")
    with pytest.raises(StageError, match="no such file") as missing:
        read(tmp_path / "raods.txt")
    assert "roads.txt" in missing.value.hint
    with pytest.raises(StageError, match="folder") as folder:
        read(tmp_path)
    assert "roads.txt" in folder.value.hint
    with pytest.raises(StageError, match="no such file") as nowhere:
        read(tmp_path / "no" / "such.txt")
    assert "does not exist either" in nowhere.value.hint
    with pytest.raises(StageError, match="opened"):
        read("a\0b")


def test_a_failed_open_is_explained(tmp_path, monkeypatch):
    def deny(*_args, **_options):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("pathlib.Path.open", deny)
    with pytest.raises(StageError, match="permission denied"):
        open_stream(str(tmp_path / "g.txt"))


def test_a_pipe_is_a_file(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(["sh", "-c", f"printf '1 2\\n2 3\\n' > {pipe}"]):
        assert read(pipe).pairs == [(1, 2), (2, 3)]


def test_urls(tmp_path):
    packed = gzip.compress(b"1 2\n2 7\n")
    (tmp_path / "g.txt.gz").write_bytes(packed)
    with WebServer({"/g.txt.gz": packed, "/cut.txt": b"1 2\n2 3\n"}) as server:
        got = read(f"{server.address}/g.txt.gz?token=1", sha256=hashlib.sha256(packed).hexdigest())
        assert got.pairs == [(1, 2), (2, 7)]
        with pytest.raises(StageError) as missing:
            read(f"{server.address}/h.txt")
        assert missing.value.file == f"{server.address}/h.txt"
        server.cuts = [4]
        with pytest.raises(StageError, match="this URL cannot be read: the line was cut after 4 of 8 bytes"):
            content(f"{server.address}/cut.txt")
    assert read(f"file://{tmp_path}/g.txt.gz").pairs == [(1, 2), (2, 7)]


@pytest.mark.parametrize("url", ["nosuch://x/y", "http://127.0.0.1:9/x", "s3://bucket/x", "memory://none"])
def test_urls_that_lead_nowhere(url):
    with pytest.raises(StageError) as caught:
        read(url)
    assert url in str(caught.value)
    assert caught.value.hint


def test_lines_one_by_one(tmp_path):
    path = tmp_path / "t"
    path.write_bytes(b"\xef\xbb\xbfone\r\ntwo\n\nfour\nfive")
    with open_stream(str(path), piece=4) as stream:
        lines = LineStream(stream)
        assert [lines.readline(), lines.readline()] == [b"one", b"two"]
        lines.unread(b"two")
        assert lines.line == 1
        assert [lines.readline() for _ in range(5)] == [b"two", b"", b"four", b"five", None]
