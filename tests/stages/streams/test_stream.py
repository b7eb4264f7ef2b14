"""The graph in a tar archive."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import numpy
import pytest

from gravel.stages.errors import StageError
from gravel.stages.ingest import read_edges

MATRIX = "%%MatrixMarket matrix coordinate pattern symmetric\n4 4 3\n2 1\n3 1\n4 3\n"


def pack(path: Path, files: dict[str, str], kind: int = tarfile.GNU_FORMAT) -> Path:
    mode = "w:gz" if path.suffix == ".gz" else "w:"
    with tarfile.open(path, mode, format=kind) as archive:
        for name, text in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text.encode()))
    return path


@pytest.mark.parametrize("kind", [tarfile.GNU_FORMAT, tarfile.USTAR_FORMAT, tarfile.PAX_FORMAT])
@pytest.mark.parametrize("name", ["road.tar.gz", "road.tar"])
def test_the_file_that_is_called_as_its_folder_is_the_graph(tmp_path: Path, name: str, kind: int) -> None:
    files = {"road/road_coord.mtx": "%%MatrixMarket\n" + "9 9\n" * 400, "road/road.mtx": MATRIX}
    edges, _ = read_edges(pack(tmp_path / name, {**files, "road/more.txt": "x" * 3000}, kind))
    assert edges.vertex_count == 4
    assert numpy.asarray(edges.source[:]).tolist() == [1, 2, 3]


def test_or_as_the_archive(tmp_path: Path) -> None:
    edges, _ = read_edges(pack(tmp_path / "road.tar", {"a.txt": "about", "road.mtx": MATRIX}))
    assert edges.vertex_count == 4


def test_an_archive_without_a_graph_names_what_it_holds(tmp_path: Path) -> None:
    with pytest.raises(StageError, match="none of the files") as caught:
        read_edges(pack(tmp_path / "x.tar", {"a/one.mtx": MATRIX, "a/two.mtx": MATRIX}))
    assert "a/one.mtx, a/two.mtx" in (caught.value.hint or "")


def test_an_archive_that_breaks_off(tmp_path: Path) -> None:
    path = pack(tmp_path / "road.tar", {"road/a.txt": "x" * 5000, "road/road.mtx": MATRIX})
    path.write_bytes(path.read_bytes()[:2000])
    with pytest.raises(StageError, match="ends too early"):
        read_edges(path)
