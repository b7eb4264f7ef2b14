"""What a report says of searches over ranks beside the formulas and the model of Pan, Pearce and Owens."""

from __future__ import annotations

from dataclasses import replace
from statistics import mean

import numpy
import pytest

from gravel.kernels.partition import predict
from gravel.kernels.partition.machines import CPU_WORKERS, H200_NCCL, H200_PEER, P100_RAY
from gravel.kernels.partition.model import Searching, calibrated
from gravel.stages.artifact import Artifact
from gravel.stages.artifacts import EdgeList, Measurement, Partition
from gravel.stages.charts import Chart
from gravel.stages.context import PlainContext
from gravel.stages.papers.pan2018.formulas import paper_mean_sections, table_bytes
from gravel.stages.papers.pan2018.predicted import compare, computed
from gravel.stages.papers.pan2018.thousand import (
    COUNTS,
    curve,
    efficiencies,
    paper_efficiency,
    thousand_sections,
)
from gravel.stages.report import ReportParameters, report
from gravel.stages.sections.thresholds import splits_of
from tests.stages.sections.ranked_case import (
    Sections,
    column,
    graph_of,
    on_gpus,
    ran,
    sections_of,
    two_graphs,
)


@pytest.fixture(scope="module")
def study() -> dict[str, Artifact]:
    return two_graphs()


@pytest.fixture(scope="module")
def sections(study: dict[str, Artifact]) -> Sections:
    return sections_of(study)


def test_every_section_is_there_and_drawn(study: dict[str, Artifact], sections: Sections) -> None:
    over_ranks = [
        "Vertices and arcs over degree thresholds",
        "Memory of partitions against table I",
        "Suggested degree thresholds",
        "Suggested thresholds over sizes",
        "Searches over ranks",
        "Where searches over ranks spend their time",
        "Levels of searches over ranks",
        "Predicted against measured",
        "Model against measurement",
        "Geometric means as the paper takes them",
        "Communication volume by formula and as counted",
    ]
    assert [title for title in sections if title in over_ranks] == over_ranks
    for section in sections.values():
        if section["kind"] == "table":
            assert all(len(row) == len(section["columns"]) for row in section["rows"])
        else:
            assert Chart.model_validate(section["chart"]).panels
    whole = report(PlainContext(), ReportParameters(labels=tuple(study)), inputs=tuple(study.values()))
    assert set(over_ranks) <= {section["title"] for section in whole.sections}


def test_memory_is_told_as_stored_and_by_the_formula(study: dict[str, Artifact], sections: Sections) -> None:
    data = sections["Memory of partitions against table I"]["data"]["scale=10"]
    parts = study["parts[scale=10,ranks=3,threshold=8]"]
    assert isinstance(parts, Partition)
    told = parts.statistics
    stored = next(
        value for name, (threshold, value) in data["stored"].items() if "ranks=3" in name and threshold == 8
    )
    assert stored == (told["bytes"] + told["list_bytes"]) / parts.arc_count
    at_eight = next(value for threshold, value in data["formula"]["3"] if threshold == 8)
    assert at_eight == told["table_bytes"] / parts.arc_count
    assert data["csr"] == told["csr_bytes"] / parts.arc_count
    (graph, _) = splits_of([(label, one) for label, one in study.items() if isinstance(one, Partition)])
    assert table_bytes(graph, graph.divisions[0], 1) == 8 * graph.vertices + 8 * graph.divisions[
        0
    ].delegates + (4 * graph.arcs)


def test_masks_that_are_sent_whole_are_predicted_to_the_byte() -> None:
    _, whole = ran(graph_of(9), 3, 60, changed_only=False)
    _, alone = ran(graph_of(9), 1, 60)
    table = sections_of({"bfs[ranks=1]": alone, "bfs[ranks=3]": whole})["Predicted against measured"]
    assert column(table, "mask bytes predicted") == pytest.approx(column(table, "mask bytes"))
    assert column(table, "mask bytes")[1] > 0
    # Every cut arc of the vertices that are reached is sent once.
    sent, predicted = column(table, "vertex bytes")[1], column(table, "vertex bytes predicted")[1]
    assert sent == pytest.approx(predicted, rel=0.2)


def test_predictions_rest_on_the_run_with_the_fewest_ranks(study: dict[str, Artifact]) -> None:
    runs = [
        (label, one) for label, one in study.items() if isinstance(one, Measurement) and "scale=10" in label
    ]
    found = compare(runs)
    assert [each.fitted for each in found] == [True, False, False, False]
    base, last = found[0], found[-1]
    how = Searching(
        levels=numpy.mean([len(search["ranks"]["visit"]) for search in base.one.searches]), mask_levels=0
    )
    measured = numpy.median([sum(search["ranks"]["visit"]) for search in base.one.searches])
    facts = {"vertices": 1024, "ranks": 1}
    machine = calibrated(CPU_WORKERS, measured / 1e3, base.split.division, searching=how, **facts)
    assert base.prediction.local == pytest.approx(measured / 1e3)
    again = predict(base.split.division, machine=machine, searching=how, **facts)
    assert again.local == pytest.approx(base.prediction.local)
    assert last.prediction.vertex_bytes == pytest.approx(4 * last.split.division.nn * 2 / 3)
    # One fit serves all graphs, or growing ones would be compared with themselves.
    every = compare([(label, one) for label, one in study.items() if isinstance(one, Measurement)])
    assert [each.fitted for each in every] == [True] + [False] * 7
    figure = sections_of(dict(runs))["Model against measurement"]
    assert figure["data"]["predicted_local"][0] == pytest.approx(measured)
    assert "Predicted against measured" not in sections_of(dict(runs[:1]))


def test_what_gpus_compute_holds_labels() -> None:
    one = on_gpus(8, 1, 0.36, (0.15, 0.1, 0.05))
    two = on_gpus(8, 2, 0.5, (0.15, 0.2, 0.1))
    rows = compare([("bfs[ranks=1]", one), ("bfs[ranks=2]", two)])
    assert [computed(each.one) for each in rows] == pytest.approx([0.36, 0.35])
    assert rows[0].prediction.seconds == pytest.approx(0.36e-3)
    # Levels are all there is to so small a graph; on two ranks they meet and read each other's.
    gained = rows[1].prediction.barriers
    levels = numpy.mean([search["depth"] + 1 for search in two.searches])
    each = 2 * H200_PEER.link_latency + H200_PEER.commit_seconds
    assert gained == pytest.approx((levels + H200_PEER.end_levels) * each)
    # What one GPU holds goes rank by rank, and is not compared with GPUs at once.
    held = replace(two, notes=["2 GPUs were not there at once, so one holds all ranks"])
    table = sections_of({"bfs[ranks=1]": one, "bfs[ranks=2]": held})["Predicted against measured"]
    assert column(table, "search, ms") == [0.36, None]


def test_transports_are_predicted_apart() -> None:
    nccl = {"asked": {"transport": "nccl"}}
    runs = [
        ("peer", on_gpus(8, 1, 0.36, (0.15, 0.1, 0.05))),
        ("nccl", on_gpus(8, 1, 2.7, (1.4, 1.1, 1.9), **nccl)),
        ("two", on_gpus(8, 2, 4.3, (1.5, 1.2, 2.0), **nccl)),
    ]
    found = {each.label: each for each in compare(runs)}
    assert found["peer"].fitted
    assert found["nccl"].fitted
    assert found["nccl"].prediction.seconds == pytest.approx(2.7e-3)
    assert computed(found["two"].one) == pytest.approx(1.5)
    assert found["two"].prediction.barriers > 5 * H200_NCCL.commit_seconds


def test_other_machines_are_predicted_where_it_is_asked_for(study: dict[str, Artifact]) -> None:
    labels = tuple(study)
    titles = [
        [
            each["title"]
            for each in report(PlainContext(), asked, inputs=tuple(study.values())).sections
            if each["part"] != "data"
        ]
        for asked in (ReportParameters(labels=labels), ReportParameters(labels=labels, predict=True))
    ]
    names = ["Predicted for other machines, to 1,024 ranks", "Predicted times to 1,024 ranks"]
    assert titles[1] == [*titles[0], *names]  # after all that was measured
    found = {section["title"]: section for section in thousand_sections()}
    assert "not for the graphs of this page" in found[names[0]]["about"]
    table = found[names[1]]
    assert column(table, "ranks") == [*COUNTS] * 6
    parts = [column(table, name) for name in ("local", "masks", "vertices", "barriers")]
    assert [sum(each) for each in zip(*parts, strict=True)] == pytest.approx(column(table, "search"))
    assert column(table, "efficiency, %")[0] == 100
    data = found[names[0]]["data"]
    assert set(data) == {"Weak", "Strong"}
    assert set(data["Weak"]) == {"H200, peers", "H200, NCCL", "P100, Ray"}
    assert data["Strong"]["H200, peers"]["milliseconds"][0] > data["Strong"]["H200, peers"]["milliseconds"][3]
    points = curve(CPU_WORKERS, weak=True)
    assert [point.hosts for point in points] == list(COUNTS)
    assert points[-1].division.arcs == pytest.approx(32 << 36, rel=1e-6)


def test_the_model_loses_what_the_papers_own_rates_lose() -> None:
    """Table II: 22.9 GTEPS on one GPU and 259.8 on 124, 9 % of it for each; the model has 12 % for 128."""
    points = curve(P100_RAY, weak=True)
    assert paper_efficiency() == pytest.approx(0.0915, abs=1e-3)
    (share,) = (each for each, point in zip(efficiencies(points), points, strict=True) if point.ranks == 128)
    assert paper_efficiency() / 2 < share < 2 * paper_efficiency()


def test_volumes_stand_beside_what_was_counted(study: dict[str, Artifact], sections: Sections) -> None:
    table = sections["Communication volume by formula and as counted"]
    for row in table["rows"]:
        told = dict(zip(table["columns"], row, strict=True))
        one = study[told["run"]]
        assert isinstance(one, Measurement)
        facts = one.graph["partition"]
        assert told["vertices by formula"] == 4 * facts["nn_arcs"]
        assert told["vertices counted"] <= told["vertices by formula"]
        levels = mean(sum(1 for each in s["ranks"]["delegates"][1:] if each) for s in one.searches)
        assert told["masks by formula"] == pytest.approx(
            2 * (facts["ranks"] - 1) * facts["delegates"] / 8 * levels
        )
        reached = mean(search["reached"] for search in one.searches)
        assert told["1-D by formula"] == pytest.approx(4 * reached * (facts["ranks"] - 1))
        assert told["2-D by formula"] > 0


def test_means_leave_out_searches_of_one_level(study: dict[str, Artifact]) -> None:
    one = next(one for one in study.values() if isinstance(one, Measurement))
    deep = [{**one.searches[0], "depth": 3, "milliseconds": value, "edges": 10**6} for value in (1.0, 4.0)]
    shallow = {**deep[0], "depth": 1, "milliseconds": 1e6}
    found = paper_mean_sections(
        [
            ("some", replace(one, searches=[*deep, shallow])),
            ("none", replace(one, searches=[shallow])),
        ]
    )[0]
    assert found["rows"] == [
        ["some", 3, 2, pytest.approx(2.0), None, pytest.approx(0.5)],
        ["none", 1, 0, None, None, None],
    ]
    assert "no edge list is among the inputs" in found["about"]


def test_the_papers_means_count_edges_as_the_paper_does(study: dict[str, Artifact]) -> None:
    one = next(one for one in study.values() if isinstance(one, Measurement))
    deep = [{**one.searches[0], "depth": 3, "milliseconds": value, "edges": 10**6} for value in (1.0, 4.0)]
    ends = numpy.zeros(2 * 10**6, numpy.uint32)
    edges = EdgeList(source=ends, target=ends, vertex_count=1, undirected=True)
    found = paper_mean_sections([("bfs", replace(one, searches=deep))], [("edges", edges)])[0]
    row = dict(zip(found["columns"], found["rows"][0], strict=True))
    assert row["geometric mean, GTEPS (generated edges)"] == pytest.approx(1.0)
    assert row["geometric mean, GTEPS (distinct edges)"] == pytest.approx(0.5)
