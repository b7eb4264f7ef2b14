"""The stage `saved`: what it reads, and what it says of folders that hold no graph."""

from __future__ import annotations

import json
from pathlib import Path

import numpy
import pytest

import gravel
from gravel.stages.context import PlainContext
from gravel.stages.errors import StageError
from gravel.stages.saved import STAGE, SavedParameters, saved
from gravel.stages.stage import Machine

MACHINE = Machine(backend="cpu", threads=2, host_memory=1 << 32)


def read(folder):
    return saved(PlainContext(MACHINE), SavedParameters(folder=str(folder)))


def test_a_graph_and_its_ids(tmp_path):
    gravel.graph(([10, 30], [30, 70])).save(tmp_path / "g")
    graph, ids = read(tmp_path / "g")
    assert numpy.asarray(graph.row_offsets).tolist() == [0, 1, 3, 4]
    assert numpy.asarray(graph.column_indices).tolist() == [1, 0, 2, 1]
    assert graph.symmetric
    assert numpy.asarray(ids.ids).tolist() == [10, 30, 70]
    gravel.graph(([5], [6]), directed=True).save(tmp_path / "h")
    graph, ids = read(tmp_path / "h")
    assert not graph.symmetric
    assert (ids.ids, ids.first, ids.vertex_count) == (None, 5, 2)


def test_its_need_is_known_before(tmp_path):
    ends = numpy.arange(10_000), numpy.arange(1, 10_001)
    gravel.graph(ends).save(tmp_path / "g")
    parameters = SavedParameters(folder=str(tmp_path / "g"))
    need = STAGE.estimate(parameters, {}, MACHINE)
    graph, _ = read(tmp_path / "g")
    assert need.outputs[0].vertices == graph.vertex_count
    assert need.outputs[0].arcs == graph.arc_count
    assert need.outputs[0].bytes == graph.row_offsets.nbytes + graph.column_indices.nbytes
    assert need.host_bytes > need.outputs[0].bytes
    (file,) = STAGE.files(parameters)
    assert Path(file.location).name == "graph.json"


def test_folders_that_hold_no_plain_graph(tmp_path):
    with pytest.raises(StageError, match=r"nowhere: the folder holds no graph that was saved"):
        read(tmp_path / "nowhere")
    graph = gravel.graph(([1, 2], [2, 3]))
    graph.reorder("degree").save(tmp_path / "ordered")
    with pytest.raises(StageError, match="of kind Ordering"):
        read(tmp_path / "ordered")
    graph.compress().save(tmp_path / "packed")
    with pytest.raises(StageError, match="CompressedGraph"):
        read(tmp_path / "packed")


def test_rows_that_do_not_fit_are_refused(tmp_path):
    gravel.graph(([1, 2], [2, 3])).save(tmp_path / "g")
    metadata = tmp_path / "g" / "graph" / "zarr.json"
    body = json.loads(metadata.read_text())
    body["attributes"]["vertex_count"] = 9
    metadata.write_text(json.dumps(body))
    with pytest.raises(StageError, match="damaged: it states 9 vertices, and has 3 rows"):
        read(tmp_path / "g")
