"""Files read on emulated devices: the arrays, or the error, that the CPU gives."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy
import pytest

from gravel.kernels.text import lists_cuda, pairs_cuda, upload_cuda
from gravel.stages import ingest_device, symmetrize
from gravel.stages.artifacts import EdgeList
from gravel.stages.context import PlainContext
from gravel.stages.readers import all_readers
from gravel.stages.stage import Machine
from gravel.stages.streams.lines import buffer_bytes
from tests.emulation import strict_cupy
from tests.stages.ingest_files import PACK
from tests.stages.text_case import FILES, NUMBERS, OTHERS, ROOM, compare, data_files, drawn
from tests.zoo import DATA, needs_data


class OutOfMemoryError(Exception):
    """What CuPy raises."""


@pytest.fixture(autouse=True)
def small_pieces(on_cpu: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ingest_device, "LEAST_TEXT", 0)
    monkeypatch.setattr(ingest_device, "LEAST_PIECE", 1)


@pytest.fixture
def piece(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(ingest_device, "LARGEST_PIECE", request.param)
    return int(request.param)


pieces = pytest.mark.parametrize("piece", [1, 64], indirect=True)


@pieces
@pytest.mark.parametrize("name", FILES)
def test_edge_lists(tmp_path: Path, name: str, piece: int) -> None:
    path = tmp_path / f"{name}.txt"
    lines = FILES[name].split("\n")
    if piece < 64 and len(lines) > 50:  # hundreds of pieces of a line each tell no more than dozens
        del lines[25:-25]
    path.write_bytes("\n".join(lines).encode("latin-1"))
    compare(path, format="edge_list")
    compare(path, format="edge_list", keeps=True, weights=False)
    # Room for the pieces, and for few edges or none.
    for edges in (0, 10 * len(lines)):
        room = 5 * ingest_device.text_bytes(max(piece, 1)) + edges
        compare(path, format="edge_list", room=room, memory="16MiB")


@pieces
@pytest.mark.parametrize("name", OTHERS)
def test_other_lines(tmp_path: Path, name: str, piece: int) -> None:
    path = tmp_path / name
    path.write_bytes(OTHERS[name].encode("latin-1"))
    log = compare(path)
    assert any("the GPU parses it" in line for line in log)
    compare(path, allow_short=True, weights=False, keeps=True)
    compare(path, room=5 * ingest_device.text_bytes(piece))


@pytest.mark.parametrize("name", [name for name in OTHERS if ".graph" in name])
@pytest.mark.parametrize("longest", [3, 9])
def test_rows_that_are_cut(tmp_path: Path, name: str, longest: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gravel.stages.streams.lines.LONGEST_LINE", longest)
    path = tmp_path / name
    text = OTHERS[name].replace("0.30000000000000004", "7.5")
    for size in (1, 5, 30):
        monkeypatch.setattr(ingest_device, "LARGEST_PIECE", size)
        path.write_bytes(text.encode("latin-1"))
        compare(path)


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
    given = strict_cupy.on_device(numpy.arange(77, dtype=numpy.uint32))
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


@pytest.mark.parametrize("name", ["road.gr", "plain.graph", "web.graph-txt", "square.mtx"])
def test_a_device_that_has_no_room_any_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    def refuse(*_: Any) -> Any:
        raise OutOfMemoryError

    path = tmp_path / name
    path.write_bytes(OTHERS[name].encode("latin-1"))
    monkeypatch.setattr(ingest_device, "LARGEST_PIECE", 10)
    monkeypatch.setattr(pairs_cuda.PairParser, "parse", refuse)
    monkeypatch.setattr(lists_cuda.ListParser, "parse", refuse)
    monkeypatch.setattr("gravel.stages.vertex_ids.on_device._on_device", refuse)
    log = compare(path)
    assert any("were parsed by the CPU" in line for line in log)


@pytest.mark.parametrize("name", ["road.gr", "dense.txt", "csv.txt"])
@pytest.mark.parametrize("joins", [True, False])
def test_results_stay_on_the_device_while_they_fit(
    tmp_path: Path, on_cpu: Any, monkeypatch: pytest.MonkeyPatch, name: str, joins: bool
) -> None:
    def refuse(*_: Any) -> Any:
        raise OutOfMemoryError

    path = tmp_path / name
    path.write_bytes((OTHERS.get(name) or FILES[name.removesuffix(".txt")]).encode("latin-1"))
    monkeypatch.setattr(ingest_device, "LARGEST_PIECE", 10)
    if not joins:
        monkeypatch.setattr(on_cpu, "concatenate", refuse)
    moved = "the edges go to the host"
    assert any(moved in line for line in compare(path, keeps=True)) != joins
    monkeypatch.setattr(ingest_device, "device_room", lambda *_: 40)
    log = compare(path, keeps=True)
    assert any(moved in line or "are set aside on the host" in line for line in log)


def check_drawn(folder: Path, seed: int, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, data, size in drawn(seed, count):
        path = folder / name
        path.write_bytes(data)
        monkeypatch.setattr(ingest_device, "LARGEST_PIECE", size)
        form = "edge_list" if name.endswith(".txt") else "auto"
        room = 5 * ingest_device.text_bytes(size) if size == 50 else ROOM
        compare(path, format=form, room=room, allow_short=bool(size & 1))


def test_files_drawn_at_random(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check_drawn(tmp_path, 1, 100, monkeypatch)


@pytest.mark.slow
def test_many_files_drawn_at_random(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check_drawn(tmp_path, 2, 10_000, monkeypatch)


@needs_data
@pytest.mark.slow
@pytest.mark.parametrize("name", data_files())
def test_real_files(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ingest_device, "LARGEST_PIECE", 1 << 18)
    log = compare(DATA / name)
    assert not any("were parsed by the CPU" in line for line in log)


def test_every_format_of_text_is_read_on_devices() -> None:
    named = {name for name, reader in all_readers().items() if reader.on_device}
    assert named == set(all_readers()) - {"arrow", "numpy", "parquet"}


@pytest.mark.parametrize("piece", [64], indirect=True)
def test_ids_that_are_texts_are_left_to_the_cpu(tmp_path: Path, piece: int) -> None:
    path = tmp_path / "names.csv"
    path.write_text("source,target,weight\n" + 'alice,"bob, sr",1\nbob,alice,2\n' * 50)
    log = compare(path)
    assert "the CPU reads ids that are texts: a GPU reads plain columns of numbers" in log
    path.write_text("source,target\nalice,bob\nbob,\n")
    compare(path)


def test_weighted_edges_of_a_device_become_rows(on_cpu: Any) -> None:
    source, target = numpy.array([[0, 1, 0], [1, 2, 1]], numpy.uint32)
    weight = numpy.array([2, 3, 5], numpy.float64)
    edges = EdgeList(
        source=on_cpu.asarray(source),
        target=on_cpu.asarray(target),
        weight=on_cpu.asarray(weight),
        vertex_count=3,
        undirected=True,
    )
    machine = Machine(backend="cuda", threads=1, host_memory=1 << 30)
    parameters = symmetrize.STAGE.parameters(weights="sum")
    rows = symmetrize.STAGE.run(PlainContext(machine), parameters, input=edges)
    assert rows.row_offsets.tolist() == [0, 1, 3, 4]
    assert rows.weights.tolist() == [7, 7, 3, 3]
