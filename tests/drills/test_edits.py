"""What an edit makes run again, and what it must not."""

from __future__ import annotations

import csv
import os
from dataclasses import replace
from pathlib import Path

import pytest

from tests.drills.gravel import Gravel

WORKFLOW = """\
workflow: pair
parameters: {file: "", source: 1}
stages:
  edges:   {stage: ingest, file: "${file}"}
  graph:   {stage: symmetrize, input: edges}
  ordered: {stage: reorder, input: graph, method: degree}
  packed:  {stage: compress, input: ordered, codec: varint}
  bfs:     {stage: traverse, input: packed, sources: ["${source}"]}
  check:   {stage: verify, graph: graph, traversal: bfs}
  parts:   {stage: traverse, input: graph, algorithm: components}
"""

EDGES = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 0), (1, 4), (5, 6)]
STAGES = ["edges", "graph", "ordered", "packed", "bfs", "check", "parts"]


def snap(edges: list[tuple[int, int]]) -> str:
    return "# FromNodeId\tToNodeId\n" + "".join(f"{u}\t{v}\n" for u, v in edges)


def matrix_market(edges: list[tuple[int, int]], count: int) -> str:
    head = f"%%MatrixMarket matrix coordinate pattern general\n{count} {count} {len(edges)}\n"
    return head + "".join(f"{u + 1} {v + 1}\n" for u, v in edges)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "pair.yaml").write_text(WORKFLOW)
    (tmp_path / "a.txt").write_text(snap(EDGES))
    (tmp_path / "a.mtx").write_text(matrix_market(EDGES, 7))
    return tmp_path


def of(place: Path, file: str, workflow: str = "pair.yaml", source: int = 1) -> Gravel:
    arguments = ("--set", f"file={place / file}", "--set", f"source={source}")
    return Gravel(place / "cache", place / workflow, arguments, inside=True)


def computed(gravel: Gravel, *words: str) -> list[str]:
    gravel.run("--quiet", *words)
    return [key for key, state in gravel.states().items() if state == "computed"]


def distances(gravel: Gravel, place: Path) -> dict[int, int]:
    gravel.export("bfs", place / "bfs.csv")
    with (place / "bfs.csv").open() as file:
        return {int(row["vertex"]): int(row["distance"] or -1) for row in csv.DictReader(file)}


def test_two_formats_of_one_graph_share_what_follows(place: Path):
    text, market = of(place, "a.txt"), of(place, "a.mtx", source=2)
    assert computed(text) == STAGES
    assert computed(market) == ["edges"], "source 1 of the one file is source 2 of the other"
    ids = [{stage["key"]: stage["outputs"] for stage in record["stages"]} for record in text.records()]
    assert ids[0]["edges"][0] == ids[1]["edges"][0]
    assert ids[0]["edges"][1] != ids[1]["edges"][1]
    assert ids[0]["bfs"] == ids[1]["bfs"]
    assert distances(text, place) == {0: 1, 1: 0, 2: 1, 3: 2, 4: 1, 5: -1, 6: -1}
    assert distances(market, place) == {1: 1, 2: 0, 3: 1, 4: 2, 5: 1, 6: -1, 7: -1}


def test_source_1_of_each_file_is_its_own_vertex(place: Path):
    assert computed(of(place, "a.txt")) == STAGES
    first = of(place, "a.mtx")
    assert computed(first) == ["edges", "bfs", "check"]
    assert distances(first, place) == {1: 0, 2: 1, 3: 2, 4: 2, 5: 1, 6: -1, 7: -1}


def test_a_cosmetic_edit_reruns_nothing(place: Path):
    assert computed(of(place, "a.txt")) == STAGES
    lines = WORKFLOW.splitlines()
    stages = [line.replace(":   {", ": {") for line in lines[3:]]
    text = "\n\n".join(["# A comment.", *lines[:1], lines[2], *stages[:1], *stages[:0:-1], lines[1], ""])
    text = text.replace(
        "stage: reorder, input: graph, method: degree", "method: 'degree', input: graph, stage: reorder"
    )
    (place / "renamed.yml").write_text(text.replace("workflow: pair", "workflow: other"))
    gravel = of(place, "a.txt", "renamed.yml")
    assert computed(gravel) == []
    assert set(gravel.states().values()) == {"cached"}
    (place / "elsewhere").mkdir()
    (place / "a.txt").rename(place / "elsewhere" / "b.txt")
    assert computed(of(place, "elsewhere/b.txt")) == []


def test_measuring_again_does_not_verify_again(place: Path):
    gravel = of(place, "a.txt")
    assert computed(gravel) == STAGES
    assert computed(gravel, "--force", "bfs") == ["bfs"]
    outputs = [{stage["key"]: stage["outputs"] for stage in record["stages"]} for record in gravel.records()]
    assert outputs[0]["bfs"][0] == outputs[1]["bfs"][0]
    assert outputs[0]["bfs"][1] != outputs[1]["bfs"][1]
    assert computed(gravel) == []


def test_an_input_edited_in_place_reruns_what_depends_on_it(place: Path):
    other = of(place, "a.mtx")
    gravel = of(place, "a.txt")
    computed(other)
    computed(gravel)
    path = place / "a.txt"
    before = path.stat()
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns + 10**9))
    assert computed(gravel) == [], "touched, and the same as before"
    content = path.read_text()
    path.write_text(content.replace("2\t3", "2\t5"))
    assert computed(gravel) == STAGES
    assert distances(gravel, place) == {0: 1, 1: 0, 2: 1, 3: 2, 4: 1, 5: 2, 6: 3}
    assert computed(other) == []
    path.write_text(content.replace("# From", "# from"))
    assert computed(gravel) == ["edges"], "another comment, the same edges"
    assert distances(gravel, place)[5] == -1


def test_an_edit_that_keeps_size_and_second_is_seen(place: Path):
    gravel = of(place, "a.txt")
    computed(gravel)
    path = place / "a.txt"
    for number in range(3):  # each within the same second or so, each of the same size
        path.write_text(snap([*EDGES[:-1], (5, number)]))
        assert "edges" in computed(gravel)
        assert distances(gravel, place)[5] == {0: 2, 1: 1, 2: 2}[number]


def test_a_changed_parameter_reruns_what_it_reaches(place: Path):
    gravel = of(place, "a.txt")
    computed(gravel)
    (place / "plain.yaml").write_text(WORKFLOW.replace("varint", "csr"))
    assert computed(replace(gravel, file=place / "plain.yaml")) == ["packed", "bfs"]
