"""Files read on a GPU: the arrays, or the error, that the CPU gives."""

from __future__ import annotations

from pathlib import Path

import numpy
import pytest

from gravel.stages import ingest_device
from tests.stages.text_case import FILES, OTHERS, ROOM, compare, data_files, drawn
from tests.zoo import DATA, needs_data

pytestmark = pytest.mark.gpu


@pytest.fixture(autouse=True)
def on_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("cupy")
    monkeypatch.setattr(ingest_device, "LEAST_TEXT", 0)
    monkeypatch.setattr(ingest_device, "LEAST_PIECE", 1)


@pytest.mark.parametrize("piece", [7, 4096])
def test_small_files(tmp_path: Path, piece: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ingest_device, "LARGEST_PIECE", piece)
    for name, text in [(f"{name}.txt", text) for name, text in FILES.items()] + list(OTHERS.items()):
        path = tmp_path / name
        path.write_bytes(text.encode("latin-1"))
        form = "edge_list" if name.endswith(".txt") else "auto"
        compare(path, format=form)
        compare(path, format=form, keeps=True, weights=False)
        compare(path, format=form, room=5 * ingest_device.text_bytes(piece))


def test_files_drawn_at_random(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, data, piece in drawn(3, 500):
        path = tmp_path / name
        path.write_bytes(data)
        monkeypatch.setattr(ingest_device, "LARGEST_PIECE", piece)
        form = "edge_list" if name.endswith(".txt") else "auto"
        compare(path, format=form, allow_short=bool(piece & 1))


@needs_data
@pytest.mark.parametrize("name", data_files())
def test_real_files(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ingest_device, "LARGEST_PIECE", 1 << 20)
    compare(DATA / name)


@pytest.mark.parametrize("highest", [1 << 20, 1 << 62])
@pytest.mark.parametrize("room", [ROOM, 20 << 20])
def test_a_large_file(tmp_path: Path, highest: int, room: int) -> None:
    path = tmp_path / "list.txt"
    pairs = numpy.random.default_rng(1).integers(0, highest, (1_500_000, 2))
    path.write_bytes(b"".join([b"%d\t%d\r\n" % (u, v) for u, v in pairs.tolist()]))
    log = compare(path, room=room, memory="64MiB")
    assert any("the GPU parses it" in line for line in log)
    assert any("set aside" in line for line in log) == (room < ROOM)
