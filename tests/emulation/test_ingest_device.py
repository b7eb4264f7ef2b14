"""Files read on emulated devices: the arrays, or the error, that the CPU gives."""

from __future__ import annotations

import random
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy
import pytest

from gravel.kernels.ids import cuda as ids_cuda
from gravel.kernels.text import pairs_cuda, upload_cuda
from gravel.stages import ingest_device
from gravel.stages.context import PlainContext
from gravel.stages.errors import StageError
from gravel.stages.ingest import IngestParameters, ingest
from gravel.stages.readers import all_readers
from gravel.stages.stage import Machine
from gravel.stages.streams.pieces import buffer_bytes
from tests.emulation import grid_kernels, numpy_as_cupy
from tests.stages.ingest_files import PACK
from tests.zoo import DATA, needs_data

pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="emulated kernels are compiled with g++")

ROOM = 1 << 30


class OutOfMemoryError(Exception):
    """What CuPy raises."""


@pytest.fixture(autouse=True)
def on_cpu(monkeypatch: pytest.MonkeyPatch) -> Any:
    fake = numpy_as_cupy.module()
    fake.unique = numpy_as_cupy._passed_on(numpy.unique)
    monkeypatch.setitem(sys.modules, "cupy", fake)
    for module in (pairs_cuda, ids_cuda):
        monkeypatch.setattr(module, "load", grid_kernels.load)
    monkeypatch.setattr(upload_cuda, "pin", lambda host: host)
    monkeypatch.setattr(ingest_device, "LEAST_TEXT", 0)
    monkeypatch.setattr(ingest_device, "LEAST_PIECE", 1)
    return fake


class Context(PlainContext):
    def __init__(self, machine: Machine) -> None:
        super().__init__(machine)
        self.remarks: list[str] = []

    def remark(self, message: str) -> None:
        self.remarks.append(message)


def outcome(path: Path, machine: Machine, *, keeps: bool = False, **options: Any) -> tuple[Any, list[str]]:
    """What comes of a file: all that the artifacts hold, or the error; and the log."""
    context = Context(machine)
    context.keeps_device_arrays = keeps
    try:
        edges, ids = ingest(context, IngestParameters(file=str(path), **options))
    except StageError as error:
        return (str(error), error.hint, error.line, context.remarks), context.messages
    arrays = [edges.source, edges.target, edges.weight, ids.ids]
    assert keeps or not any(type(array) is grid_kernels.Array for array in arrays)
    held = [None if array is None else (str(array.dtype), numpy.asarray(array).tobytes()) for array in arrays]
    attributes = edges.vertex_count, edges.undirected, ids.vertex_count, ids.first, context.remarks
    return (held, *attributes), context.messages


def compare(path: Path, *, room: int = ROOM, keeps: bool = False, **options: Any) -> list[str]:
    """Read a file with and without a device; returns the log of the device."""
    expected, _ = outcome(path, Machine("cpu", 2, 1 << 30), **options)
    found, log = outcome(path, Machine("cuda", 2, 1 << 30, room), keeps=keeps, **options)
    assert found == expected, path.read_bytes()[:400]
    return log


@pytest.fixture
def piece(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(ingest_device, "LARGEST_PIECE", request.param)
    return int(request.param)


pieces = pytest.mark.parametrize("piece", [1, 2, 7, 64, 4096], indirect=True)

NUMBERS = "\n".join(f"{i * i % 977} {i}" for i in range(300))
FILES = {
    "empty": "",
    "blank": "\n\n \r\n",
    "comments": "# nothing\n% else\n",
    "one": "3 4",
    "no_end": "1 2\n3 4",
    "crlf": "1\t2\r\n\r\n3\t4\r\n5\t6\r\n",
    "comments_between": "# Nodes: 3 Edges: 2\n1 2\n# \xe9\0\n\n2 3\n% end",
    "dense": NUMBERS,
    "gaps": NUMBERS.replace(" ", " 7"),
    "sparse": "\n".join(f"{i * 92233720368547 % (1 << 63)} {i}" for i in range(300)),
    "wide_later": NUMBERS + "\n4294967296 5\n7 9223372036854775807\n",
    "too_large": NUMBERS + "\n1 9223372036854775808\n",
    "sign": NUMBERS + "\n+1 2\n",
    "negative": NUMBERS + "\n-1 2\n3 x\n",
    "nul": NUMBERS + "\n1 2\0\n",
    "non_ascii": NUMBERS + "\n1 \xb2\n",
    "zeros": "007 00008\n0000000000000000000000000000000001 2\n",
    "columns": NUMBERS + "\n1 2 3\n",
    "few": NUMBERS + "\n\n1\n",
    "csv": "source,target,weight\n" + "\n".join(f"{i}, {i + 1},{i / 8}" for i in range(99)),
    "weights": "\n".join(f"{i} {i + 1} {i / 10}" for i in range(99)),
    "hard_weights": "\n".join(f"{i} {i + 1} {(i / 10)!r}" for i in range(99))
    + "\n1 2 0.30000000000000004\n1 2 1e99",
    "bad_weight": "1 2 0.5\n2 3 nan\n",
    "time": "1 2 3 4\n2 3 4 x\n",
    "short": "# Nodes: 9 Edges: 5\n1 2\n2 3\n3",
    "stated_no_end": "# Nodes: 9 Edges: 3\n1 2\n2 3\n3 45",
}


@pieces
@pytest.mark.parametrize("name", FILES)
def test_edge_lists(tmp_path: Path, name: str, piece: int) -> None:
    path = tmp_path / f"{name}.txt"
    path.write_bytes(FILES[name].encode("latin-1"))
    compare(path, format="edge_list")
    compare(path, format="edge_list", keeps=True, weights=False)
    # Room for the pieces, and for few edges or none.
    for edges in (0, 3000):
        room = 5 * ingest_device.text_bytes(max(piece, 1)) + edges
        compare(path, format="edge_list", room=room, memory="16MiB")


OTHERS = {
    "road.gr": "c road\np sp 5 4\na 1 2 7\nc \xe9\na 2 3 0.5\n\na 3 5 1e3\r\na 5 1 2",
    "road_beyond.gr": "p sp 5 2\na 1 2 7\na 2 6 1\n",
    "road_start.gr": "p sp 5 2\na 1 2 7\nb 2 5 1\n",
    "road_more.gr": "p sp 5 1\na 1 2 7\na 2 5 1\n",
    "road_fewer.gr": "p sp 5 3\na 1 2 7\na 2 5 1\n",
    "tree.gr": "p tw 5 4\n1 2\n2 3\nc\n3 5\n5 1\n",
    "tree_zero.gr": "p tw 5 1\n0 1\n",
    "square.mtx": "%%MatrixMarket matrix coordinate real symmetric\n% \n4 4 3\n1 2 1.5\n2 3 -2\n4 4 1e-3\n",
    "pattern.mtx": "%%MatrixMarket matrix coordinate pattern general\n4 4 2\n1 2\n2 3\n",
    "pattern_cut.mtx": "%%MatrixMarket matrix coordinate pattern general\n4 4 3\n1 2\n2 3\n4",
    "list.lg": "5,4,u,name\n1,2\n2,3\n3,5\n5,1\n",
    "list_bad.lg": "5,4,d,name\n1,2\n2;3\n3,5\n5,1\n",
}


@pieces
@pytest.mark.parametrize("name", OTHERS)
def test_other_lines(tmp_path: Path, name: str, piece: int) -> None:
    path = tmp_path / name
    path.write_bytes(OTHERS[name].encode("latin-1"))
    log = compare(path)
    assert any("the GPU parses it" in line for line in log)
    compare(path, allow_short=True, weights=False, keeps=True)
    compare(path, room=5 * ingest_device.text_bytes(piece))


@pytest.mark.parametrize("suffix", [suffix for suffix in PACK if suffix])
@pytest.mark.parametrize("cut", [0, 30])
@pytest.mark.parametrize("piece", [64], indirect=True)
def test_compressed_files(tmp_path: Path, suffix: str, cut: int, piece: int) -> None:
    path = tmp_path / f"list.txt{suffix}"
    packed = PACK[suffix](NUMBERS.encode())
    path.write_bytes(packed[: len(packed) - cut])
    compare(path)
    compare(path, sha256="0" * 64)


def test_what_comes_back_does_not_lie_where_text_is_read() -> None:
    text = upload_cuda.TextBuffers(100, buffers=2, texts=1)
    given = grid_kernels.on_device(numpy.arange(77, dtype=numpy.uint32))
    parts = []
    for part in text.download(given):
        assert not any(numpy.shares_memory(part, buffer) for buffer in text.buffers)
        parts.append(part.copy())
    assert len(parts) == 3
    numpy.testing.assert_array_equal(numpy.concatenate(parts), given)


def test_pieces_shrink_where_there_is_less_room_than_stated(
    tmp_path: Path, on_cpu: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "list.txt"
    path.write_text(NUMBERS)
    empty, room = on_cpu.empty, {"bytes": buffer_bytes(600)}

    def limited(shape: Any, dtype: Any = numpy.float64) -> Any:
        made = empty(shape, dtype)
        if made.nbytes > room["bytes"]:
            raise OutOfMemoryError(made.nbytes)
        return made

    monkeypatch.setattr(on_cpu, "empty", limited)
    log = compare(path)
    assert any("smaller ones than" in line and "for lack of room" in line for line in log)
    room["bytes"] = 100
    assert any("the CPU parses it: the GPU has no room" in line for line in compare(path))


@pytest.mark.parametrize("piece", [64], indirect=True)
@pytest.mark.parametrize("failing", range(12))
def test_an_allocation_that_fails_moves_edges_to_the_host(
    tmp_path: Path, on_cpu: Any, monkeypatch: pytest.MonkeyPatch, piece: int, failing: int
) -> None:
    path = tmp_path / "list.txt"
    path.write_text(NUMBERS.replace(" ", " 7"))
    taken: list[int] = []
    empty = on_cpu.empty

    def fails_once(shape: Any, dtype: Any = numpy.float64) -> Any:
        if numpy.dtype(dtype) == numpy.uint32 and shape < 20:
            taken.append(shape)
            if len(taken) in (3 * failing, 3 * failing + 1 + failing % 2):
                raise OutOfMemoryError(shape)
        return empty(shape, dtype)

    monkeypatch.setattr(on_cpu, "empty", fails_once)
    log = compare(path)
    assert failing == 0 or any("set aside on the host" in line for line in log)


def drawn(seed: int, count: int) -> Iterator[tuple[str, bytes, int]]:
    """Make small files: samples of each format with a few edits, and sizes of pieces."""
    generator = random.Random(seed)
    samples = [(f"{name}.txt", text) for name, text in FILES.items()] + list(OTHERS.items())
    odd = [
        "-",
        "+",
        ".",
        "e",
        "\0",
        "\xff",
        " ",
        "\n",
        "\r",
        "\r\n",
        ",",
        ";",
        "#",
        "%",
        "c",
        "a",
        "9223372036854775808",
    ]
    for _ in range(count):
        name, text = generator.choice(samples)
        if len(text) > 200 and generator.randrange(4):
            first = generator.randrange(len(text) - 100)
            text = text[first : first + generator.randrange(100)]
        for _ in range(generator.choice([0, 1, 1, 2, 3])):
            place = generator.randrange(len(text) + 1)
            text = text[:place] + generator.choice(odd) + text[place + generator.randrange(3) :]
        yield name, text.encode("latin-1"), generator.choice([1, 3, 16, 50, 64, 1000])


def check_drawn(folder: Path, seed: int, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, data, size in drawn(seed, count):
        path = folder / name
        path.write_bytes(data)
        monkeypatch.setattr(ingest_device, "LARGEST_PIECE", size)
        form = "edge_list" if name.endswith(".txt") else "auto"
        room = 5 * ingest_device.text_bytes(size) if size == 50 else ROOM
        compare(path, format=form, room=room, allow_short=bool(size & 1))


def test_files_drawn_at_random(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check_drawn(tmp_path, 1, 300, monkeypatch)


@pytest.mark.slow
def test_many_files_drawn_at_random(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check_drawn(tmp_path, 2, 10_000, monkeypatch)


def data_files() -> list[str]:
    if not DATA.is_dir():
        return []
    return sorted(
        str(path.relative_to(DATA)) for path in DATA.rglob("*") if path.is_file() and path.suffix != ".md"
    )


@needs_data
@pytest.mark.parametrize("name", data_files())
def test_real_files(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ingest_device, "LARGEST_PIECE", 1 << 18)
    compare(DATA / name)


def test_every_format_with_edges_in_lines_is_read_on_devices() -> None:
    named = {name for name, reader in all_readers().items() if reader.on_device}
    assert named == {"dimacs", "edge_list", "lightgraphs", "matrix_market", "pace"}
