"""What a report says of partitions and of searches over ranks."""

from __future__ import annotations

from dataclasses import replace

import numpy
import pytest

from gravel.kernels.partition import Division, suggest_threshold
from gravel.stages.artifact import Artifact
from gravel.stages.artifacts import Measurement, Partition
from gravel.stages.sections.rates import median_search
from gravel.stages.sections.studies import Member, standings
from gravel.stages.sections.thresholds import allowed, splits_of
from tests.stages.sections.ranked_case import Sections, column, graph_of, ran, sections_of, two_graphs


@pytest.fixture(scope="module")
def study() -> dict[str, Artifact]:
    return two_graphs()


@pytest.fixture(scope="module")
def sections(study: dict[str, Artifact]) -> Sections:
    return sections_of(study)


def test_thresholds_divide_vertices_and_arcs(sections: Sections) -> None:
    data = sections["Vertices and arcs over degree thresholds"]["data"]
    assert set(data) == {"scale=8", "scale=10"}
    graph = graph_of(10)
    degrees = numpy.diff(graph.row_offsets)
    told = data["scale=10"]
    for place, threshold in enumerate(told["threshold"]):
        share = 100 * (degrees > threshold).mean()
        assert told["delegates, of the vertices"][place] == pytest.approx(share)
        classes = sum(told[name][place] for name in ("nn arcs", "nd and dn arcs", "dd arcs"))
        assert classes == pytest.approx(100)
    assert told["used"] == [8, 40]


def test_the_band_holds_what_keeps_both_few() -> None:
    thresholds = [
        {"threshold": t, "delegates": d, "nn": nn, "mixed": 0, "dd": 1000 - nn}
        for t, d, nn in ((0, 900, 0), (4, 60, 50), (8, 40, 90), (16, 20, 400))
    ]
    statistics = {"thresholds": thresholds, "delegates": 40, "nn_arcs": 90, "nd_arcs": 0, "dn_arcs": 0}
    statistics |= {"dd_arcs": 910, "bytes": 5000, "list_bytes": 10}
    parts = Partition(
        arrays={},
        delegates=numpy.zeros(0, numpy.uint32),
        ranks=2,
        threshold=8,
        vertex_count=1000,
        arc_count=1000,
        symmetric=True,
        statistics=statistics,
    )
    (graph,) = splits_of([("parts", parts)])
    assert allowed(graph) == (4, 8)
    assert graph.splits[0].division == Division(8, 40, 90, 0, 910)
    (over_many,) = splits_of([("parts", replace(parts, ranks=200))])
    assert allowed(over_many) is None  # more than 4 n / p delegates
    without = replace(parts, statistics={"bytes": 1})
    assert splits_of([("parts", without)]) == []
    assert list(sections_of({"parts": without})) == ["Partitions"]


def test_measurements_alone_tell_their_partitions(study: dict[str, Artifact], sections: Sections) -> None:
    alone = sections_of({label: one for label, one in study.items() if isinstance(one, Measurement)})
    titles = ("Suggested degree thresholds", "Predicted against measured")
    for title in titles:
        assert alone[title] == sections[title]


def test_suggestions_fit_their_graphs(sections: Sections) -> None:
    found = sections
    table = found["Suggested degree thresholds"]
    chosen = list(zip(column(table, "graph"), column(table, "ranks"), strict=True))
    assert {name for name, _ in chosen} == {"scale=8", "scale=10"}
    assert set(column(table, "hosts")) == {1}
    for (name, ranks), threshold in zip(chosen, column(table, "threshold"), strict=True):
        graph = graph_of(int(name.removeprefix("scale=")))
        assert threshold == suggest_threshold(graph.row_offsets, graph.column_indices, ranks)
    for delegates, nn in zip(column(table, "delegates, %"), column(table, "nn arcs, %"), strict=True):
        assert delegates <= (25 if nn <= 10 else 6.25)
    data = found["Suggested thresholds over sizes"]["data"]
    assert data["vertices"] == [256, 1024]
    most = {name: threshold for (name, _), threshold in zip(chosen, column(table, "threshold"), strict=True)}
    assert data["threshold"] == [most["scale=8"], most["scale=10"]]


def test_parts_of_searches_are_added_up(study: dict[str, Artifact], sections: Sections) -> None:
    found = sections
    table = found["Searches over ranks"]
    assert column(table, "ranks") == [1, 1, 3, 3] * 2
    assert column(table, "threshold") == [8, 40] * 4
    assert (
        column(table, "ranks ran") == ["at once"] * 2 + ["in turns"] * 2 + ["at once"] * 2 + ["in turns"] * 2
    )
    assert column(table, "mask bytes")[0] == 0 < column(table, "mask bytes")[2]
    one = study["bfs[scale=8,ranks=3,threshold=40]"]
    assert isinstance(one, Measurement)
    visits = sorted(sum(search["ranks"]["visit"]) for search in one.searches)
    assert column(table, "local computation, ms")[3] == visits[1]
    assert len(found["Where searches over ranks spend their time"]["data"]["run"]) == 8


def test_options_are_named() -> None:
    graph = graph_of(8)
    _, usual = ran(graph, 2, 8)
    _, plain = ran(graph, 2, 8, direction_optimized=False, reduction="blocking")
    table = sections_of({"bfs[how=usual]": usual, "bfs[how=plain]": plain})["Searches over ranks"]
    assert column(table, "options") == ["", "direction_optimized=false, reduction=blocking"]
    backward = column(table, "levels with a backward visit")
    assert backward[1] == 0


def test_an_option_without_effect_is_noted_and_crowns_nobody() -> None:
    graph = graph_of(8)
    _, usual = ran(graph, 2, 8)
    _, same = ran(graph, 2, 8, predecessors="smallest", nn_directed=False)
    assert "not used between CPUs: predecessors, nn_directed" in same.notes
    assert same.ran == usual.ran
    assert "message_bytes" in usual.ran["options"]
    crowned = standings([Member("DO", usual), Member("DO_nn", same)])
    assert [each.text for each in crowned] == ["same code as DO_nn", "same code as DO"]
    _, forward = ran(graph, 2, 8, direction_optimized=False, dd_backward=5.0)
    assert "not used by a search that is forward alone: dd_backward" in forward.notes
    assert "dd_backward" not in forward.ran["options"]


def test_transports_are_compared_level_by_level() -> None:
    _, usual = ran(graph_of(8), 2, 8)
    slower = [
        {**search, "ranks": {**search["ranks"], "reduce": [9.0 for _ in search["ranks"]["reduce"]]}}
        for search in usual.searches
    ]
    peer = replace(usual, backend="cuda")
    nccl = replace(usual, backend="cuda", searches=slower, asked={**usual.asked, "transport": "nccl"})
    found = sections_of({"bfs[transport=auto]": peer, "bfs[transport=nccl]": nccl})
    title = next(title for title in found if "level by level" in title)
    assert title == "auto against nccl, level by level: 2 ranks, 256 vertices"
    assert set(column(found[title], "nccl delegate reduction")) == {9.0}
    assert 9.0 not in column(found[title], "auto delegate reduction")
    told = median_search(peer)["ranks"]
    frontier = [sum(each) for each in zip(told["normal"], told["delegates"], strict=True)]
    assert column(found[title], "frontier") == frontier
    assert column(found["Searches over ranks"], "options") == ["", "transport=nccl"]
    assert not any("level by level" in title for title in sections_of({"bfs": peer, "cpu": usual}))
