"""Exports: the right columns under the file's ids, in three formats, written whole or not at all."""

from __future__ import annotations

from pathlib import Path

import numpy
import pyarrow.csv
import pyarrow.parquet
import pytest

import gravel.pipeline.export.columns
from gravel.pipeline.core.errors import GravelError, RequestError
from gravel.pipeline.export.columns import columns_of
from gravel.pipeline.export.writers import write_file
from gravel.stages.artifact import Artifact
from gravel.stages.artifacts import EdgeList, Graph, Measurement, Ordering, Traversal, VertexIds

GAPS = VertexIds(ids=numpy.array([3, 7, 1 << 40]), vertex_count=3)
FROM_ONE = VertexIds(first=1, vertex_count=3)


def bfs() -> Traversal:
    return Traversal(
        algorithm="bfs",
        sources=numpy.array([2, 0]),
        distance=numpy.array([[-1, 1, 0], [0, -1, -1]], numpy.int32),
        predecessor=numpy.array([[-1, 2, -1], [-1, -1, -1]], numpy.int32),
        vertex_count=3,
    )


def read(path: Path) -> dict[str, list[int]]:
    if path.suffix == ".npz":
        with numpy.load(path) as arrays:
            return {name: arrays[name].tolist() for name in arrays.files}
    reader = pyarrow.parquet.read_table if path.suffix == ".parquet" else pyarrow.csv.read_csv
    return reader(path).to_pydict()


@pytest.fixture(params=[".parquet", ".csv", ".npz"])
def target(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return tmp_path / f"out{request.param}"


@pytest.mark.parametrize("batch_rows", [1, 2, 1000])
def test_bfs_columns(target: Path, batch_rows: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(gravel.pipeline.export.columns, "BATCH_ROWS", batch_rows)
    write_file(columns_of(bfs(), GAPS), target)
    big, none = 1 << 40, -1 if target.suffix == ".npz" else None
    assert read(target) == {
        "source": [big] * 3 + [3] * 3,
        "vertex": [3, 7, big] * 2,
        "distance": [none, 1, 0, 0, none, none],
        "predecessor": [none, big, none, none, none, none],
    }


def test_lengths_of_paths(target: Path):
    distance = numpy.array([[0.0, 2.5, numpy.inf]])
    one = Traversal(algorithm="shortest_paths", sources=numpy.array([0]), distance=distance, vertex_count=3)
    write_file(columns_of(one, GAPS), target)
    assert read(target)["distance"] == [0.0, 2.5, numpy.inf if target.suffix == ".npz" else None]


def test_csv_has_lengths_of_float32_weights_as_float32(tmp_path: Path) -> None:
    distance = numpy.array([[0.0, numpy.float32(0.1), numpy.inf]], numpy.float64)
    one = Traversal(algorithm="shortest_paths", sources=numpy.array([0]), distance=distance, vertex_count=3)
    write_file(columns_of(one, GAPS), tmp_path / "one.csv")
    assert [line.split(",")[-1] for line in (tmp_path / "one.csv").read_text().split()[1:]] == [
        "0",
        "0.1",
        "",
    ]


def test_an_id_of_minus_one_is_an_id(target: Path):
    ids = VertexIds(ids=numpy.array([-1, 7]), vertex_count=2)
    arrays = {"distance": numpy.array([[0, 1]]), "predecessor": numpy.array([[-1, 0]])}
    one = Traversal(algorithm="bfs", sources=numpy.array([0]), vertex_count=2, **arrays)
    write_file(columns_of(one, ids), target)
    none = -1 if target.suffix == ".npz" else None
    assert read(target) == {
        "source": [-1] * 2,
        "vertex": [-1, 7],
        "distance": [0, 1],
        "predecessor": [none, -1],
    }


def test_distance_alone_and_consecutive_ids(target: Path):
    distance = numpy.array([[1, 0, -1]], numpy.int32)
    one = Traversal(algorithm="bfs", sources=numpy.array([1]), distance=distance, vertex_count=3)
    write_file(columns_of(one, FROM_ONE), target)
    assert read(target) == {
        "source": [2, 2, 2],
        "vertex": [1, 2, 3],
        "distance": [1, 0, None if target.suffix != ".npz" else -1],
    }


def test_components(target: Path):
    one = Traversal(algorithm="components", component=numpy.array([0, 1, 0], numpy.uint32), vertex_count=3)
    write_file(columns_of(one, GAPS), target)
    assert read(target) == {"vertex": [3, 7, 1 << 40], "component": [3, 7, 3]}


def test_graphs_edges_and_orders(target: Path):
    csr = {"vertex_count": 3, "arc_count": 3, "symmetric": False, "deduplicated": True}
    csr |= {"row_offsets": numpy.array([0, 1, 1, 3]), "column_indices": numpy.array([2, 0, 1], numpy.uint32)}
    place = numpy.array([2, 0, 1], numpy.uint32)
    weight = numpy.array([0.5, 2.0, 4.0])
    expected: list[tuple[Artifact, dict[str, list[float]]]] = [
        (Graph(**csr), {"source": [1, 3, 3], "target": [3, 1, 2]}),
        (Ordering(**csr, permutation=place, method="x"), {"vertex": [1, 2, 3], "position": [2, 0, 1]}),
        (
            EdgeList(source=place, target=place, weight=weight, vertex_count=3, undirected=True),
            {"source": [3, 1, 2], "target": [3, 1, 2], "weight": [0.5, 2.0, 4.0]},
        ),
        (FROM_ONE, {"vertex": [1, 2, 3]}),
    ]
    for artifact, columns in expected:
        write_file(columns_of(artifact, FROM_ONE), target)
        assert read(target) == columns


def test_measurement(target: Path):
    search: dict[str, object] = {"source": 1, "milliseconds": 2.5, "map_back_milliseconds": 0.5}
    search |= {"reached": 3, "arcs": 4, "edges": 2, "depth": 1, "levels": []}
    about = {"algorithm": "bfs", "strategy": "x", "reason": "y", "backend": "cpu", "hardware": "z"}
    searches = [search, search | {"source": None}]
    one = Measurement(**about, prepare_milliseconds=0.0, searches=searches)
    write_file(columns_of(one, FROM_ONE), target)
    written = read(target)
    assert written["source"] == [2, -1 if target.suffix == ".npz" else None]
    assert written["milliseconds"] == [2.5, 2.5]


def test_an_unknown_ending_and_a_folder_are_refused_before_anything_is_written(tmp_path: Path):
    with pytest.raises(RequestError, match="format"):
        write_file(columns_of(bfs(), GAPS), tmp_path / "out.xlsx")
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "out.csv").mkdir()
    with pytest.raises(RequestError, match="is a folder"):
        write_file(columns_of(bfs(), GAPS), tmp_path / "out.csv")
    assert list(tmp_path.iterdir()) == [tmp_path / "out.csv"]


def test_folders_are_made(tmp_path: Path):
    assert write_file(columns_of(bfs(), GAPS), tmp_path / "a" / "b" / "out.csv")
    assert not write_file(columns_of(bfs(), GAPS), tmp_path / "a" / "b" / "out.csv")


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    target = tmp_path / "out.csv"
    target.write_text("old")

    def full(columns: object, path: Path) -> None:
        path.write_text("half")
        raise OSError(28, "No space left on device")

    monkeypatch.setitem(gravel.pipeline.export.writers.FORMATS, ".csv", full)
    with pytest.raises(GravelError, match="disk is full"):
        write_file(columns_of(bfs(), GAPS), target)
    assert target.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["out.csv"]
