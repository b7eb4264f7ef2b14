"""The stage `saved`: what it reads, and what it says of folders that hold no graph."""

from __future__ import annotations

import datetime
import itertools
import json
import uuid
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


@pytest.mark.parametrize(
    "make",
    [
        lambda number: uuid.UUID(int=number * 7919**9),
        lambda number: datetime.date(1999, 12, 31) + datetime.timedelta(days=number),
        lambda number: datetime.datetime(2026, 1, 1) + datetime.timedelta(seconds=number / 2),
    ],
    ids=["UUIDs", "dates", "times"],
)
def test_ids_that_workflows_do_not_have_become_strings(tmp_path, make):
    names = [make(number) for number in (5, 900, 31, 4)]
    gravel.graph((names[:3], names[1:])).save(tmp_path / "g")
    (tmp_path / "w.yaml").write_text(
        f"workflow: w\nstages:\n  graph: {{stage: saved, folder: {tmp_path / 'g'}}}\n"
        f"  bfs: {{stage: traverse, input: graph, sources: ['{names[0]}']}}\n"
    )
    ids = read(tmp_path / "g")[1]
    text, ends = ids.text.tobytes().decode(), ids.offsets.tolist()
    stored = [text[begin:end] for begin, end in itertools.pairwise(ends)]
    assert stored == sorted(stored)
    assert len(stored) == ids.vertex_count == 4
    if not isinstance(names[0], datetime.datetime):
        assert stored == sorted(map(str, names))
        run = gravel.run(tmp_path / "w.yaml", cache=tmp_path / "cache", cluster="inline")
        assert run["bfs"].path_to(str(names[3])) == [str(name) for name in names]
    (tmp_path / "g" / "ids.arrow").write_bytes(b"other")
    with pytest.raises(StageError, match="not those that were saved"):
        read(tmp_path / "g")


def test_ids_that_have_no_strings_in_their_order(tmp_path):
    gravel.graph(([b"a", b"\xff"], [b"b", b"a"])).save(tmp_path / "g")
    with pytest.raises(StageError, match="of type large_binary, are in no order that strings have"):
        read(tmp_path / "g")


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


@pytest.mark.parametrize("harm", ["flip", "cut", "gone"])
def test_arrays_that_are_not_what_was_saved_are_refused(tmp_path, harm):
    gravel.graph(([1, 2], [2, 3])).save(tmp_path / "g")
    data = tmp_path / "g" / "graph" / "column_indices" / "c" / "0"
    content = bytearray(data.read_bytes())
    content[3] ^= 1
    data.write_bytes({"flip": content, "cut": content[:7], "gone": b""}[harm])
    if harm == "gone":
        data.unlink()
    with pytest.raises(StageError, match="the saved graph is damaged"):
        read(tmp_path / "g")
