"""What a report says of a study as a whole: experiments, pictures by axes, scaling, sparsity, bits."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy
import pytest
from numpy.testing import assert_allclose

from gravel.stages.artifacts import Graph, Traversal, Verification
from gravel.stages.context import PlainContext
from gravel.stages.report import ReportParameters, report
from gravel.stages.sections import graphs
from gravel.stages.sections.graphs import sparsity_sections
from gravel.stages.sections.scaling import scaling_sections
from gravel.stages.sections.studies import short_labels
from gravel.stages.sections.verification import verification_sections
from tests.pipeline.report.sample import along, scaling, study
from tests.stages.measured import searched
from tests.stages.traverse_case import as_graph


def made(inputs: dict[str, Any]) -> dict[str, dict[str, Any]]:
    result = report(PlainContext(), ReportParameters(labels=tuple(inputs)), inputs=tuple(inputs.values()))
    return {section["title"]: section for section in result.sections}


def test_experiments_join_what_all_stages_found():
    inputs = study()
    passed = {"check": "tree", "passed": True, "searches": 3}
    inputs["check[order=rcm,layout=csr]"] = Verification(algorithm="bfs", checks=[passed])
    inputs["check[order=rcm,layout=varint]"] = Verification(
        algorithm="bfs", checks=[passed, {**passed, "passed": False}]
    )
    table = made(inputs)["Experiments"]
    assert table["columns"] == [
        "order", "layout", "mean gap", "bits per arc", "strategy", "median ms",
        "GTEPS (distinct edges)", "verified", "standing", "times the fastest", "counted MB a search",
        "GB/s of counted bytes",
    ]  # fmt: skip
    assert len(table["rows"]) == 6
    rows = {tuple(row[:2]): row[2:] for row in table["rows"]}
    assert rows["rcm", "varint"][:6] == [
        90.0,
        9.0,
        "two_phase",
        2.0,
        pytest.approx(2.2e-4, rel=0.1),
        "FAILED",
    ]
    assert rows["rcm", "csr"][1:4] == [32.0, "two_phase", 2.0]
    assert [rows["rcm", "csr"][5], rows["degree", "csr"][5]] == ["passed", None]


def test_two_axes_of_words_make_a_heat_map():
    inputs = {
        f"bfs[order={order},layout={layout}]": searched("two_phase", time)
        for order, layout, time in (
            ("a", "x", 1.0), ("a", "y", 2.0), ("b", "x", 3.0), ("b", "y", 4.0), ("c", "x", 5.0),
        )
    }  # fmt: skip
    figure = made(inputs)["Median ms over order and layout"]
    assert figure["data"] == {
        "down": ["a", "b", "c"],
        "across": ["x", "y"],
        "maps": {"": [[1.0, 2.0], [3.0, 4.0], [5.0, None]]},
    }
    (panel,) = figure["chart"]["panels"]
    assert panel["values"] == [[1.0, 2.0], [3.0, 4.0], [5.0, None]]
    assert panel["shades"] == ["06", "ad", "f "]
    assert panel["framed"] == [[0, 0]]


def test_an_axis_that_changes_nothing_spans_no_map():
    inputs = {f"bfs[a={a},b={b}]": searched("serial", float(len(a))) for a in ("x", "yy") for b in ("p", "q")}
    titles = made(inputs)
    assert not any(" over " in title and title.startswith("Median") for title in titles)


def test_an_axis_of_numbers_is_a_line_and_repetitions_count_once():
    figure = made(along())["Median ms along scale"]
    assert set(figure["data"]) == {"serial", "two_phase"}
    assert [x for x, _ in figure["data"]["serial"]] == [10.0, 12.0, 14.0]
    assert figure["chart"]["panels"][0]["x"].get("scale", "linear") == "linear"


def test_an_axis_of_numbers_far_apart_is_logarithmic():
    factors = ("0.005", "0.05", "0.5", "5", "50")
    inputs = {f"bfs[dd={each}]": searched("partition", 1.0 + place) for place, each in enumerate(factors)}
    assert made(inputs)["Median ms along dd"]["chart"]["panels"][0]["x"]["scale"] == "log10"


def test_strong_and_weak_scaling():
    sections = {section["title"]: section for section in scaling_sections(list(scaling().items()))}
    strong = sections["Strong scaling with ranks"]["data"]["bfs, two_phase"]
    assert strong["ranks"] == [1, 2, 4, 8]
    assert_allclose(strong["efficiency"], [ranks**0.8 / ranks for ranks in (1, 2, 4, 8)])
    weak = sections["Weak scaling with workers"]["data"]["grown, hybrid"]
    # The graph grows with the workers, so an ideal search takes the same time.
    assert_allclose(weak["efficiency"], [1.1 / 1.1, 1.1 / 1.2, 1.1 / 1.4])
    rows = sections["Times of weak scaling with workers"]["rows"]
    assert [row[1:3] for row in rows] == [[1, 900], [2, 1800], [4, 3600]]


def test_threads_that_were_asked_for_count_as_workers():
    inputs = {
        f"bfs[how={name}]": searched("top_down", 8.0 / count, asked={"threads": count})
        for name, count in (("one", 1), ("two", 2))
    }
    (figure, _) = scaling_sections(list(inputs.items()))
    assert figure["title"] == "Strong scaling with threads"
    assert figure["data"]["top_down"]["efficiency"] == [1.0, 1.0]


def test_graphs_that_grow_otherwise_are_no_weak_scaling():
    inputs = {
        f"bfs[ranks={ranks}]": searched("hybrid", 1.0, graph=str(ranks), arcs=900 * ranks**3)
        for ranks in (1, 2, 4)
    }
    assert scaling_sections(list(inputs.items())) == []


def matrix(source: Any, target: Any, n: int) -> Graph:
    order = numpy.lexsort((target, source))
    offsets = numpy.zeros(n + 1, numpy.int64)
    numpy.cumsum(numpy.bincount(source, minlength=n), out=offsets[1:])
    return as_graph(offsets, target[order].astype(numpy.uint32), symmetric=False)


def test_sparsity_tells_an_order_near_the_diagonal_from_a_random_one():
    n = 1000
    here = numpy.arange(n - 1)
    path = matrix(here, here + 1, n)
    shuffle = numpy.random.default_rng(1).permutation(n)
    mixed = matrix(shuffle[here], shuffle[here + 1], n)
    (figure,) = sparsity_sections([("before", mixed), ("after", path)])
    assert figure["data"]["after"]["near_diagonal_share"] == 1.0
    assert figure["data"]["before"]["near_diagonal_share"] < 0.1
    before, after = figure["chart"]["panels"]
    assert {len(row) for row in before["shades"]} == {96}
    assert all(row.strip() and len(row.strip()) <= 2 for row in after["shades"][:-1])  # the diagonal
    assert dict(after["facts"])["arcs in blocks on the diagonal and beside it, %"] == pytest.approx(100)
    assert len(json.dumps(figure["chart"])) < 30_000


def test_rows_with_many_arcs_are_sampled_evenly(monkeypatch: pytest.MonkeyPatch):
    n = 50
    whole = matrix(numpy.repeat(numpy.arange(n), n), numpy.tile(numpy.arange(n), n), n)
    monkeypatch.setattr(graphs, "BLOCKS", 5)
    exact = graphs._density(whole)
    monkeypatch.setattr(graphs, "ARCS_OF_A_BLOCK_ROW", 400)
    sampled = graphs._density(whole)
    assert_allclose(exact, 1.0)
    assert_allclose(sampled, 1.0, atol=0.25)
    assert_allclose(sampled.mean(), 1.0)


def test_an_order_shows_degrees_where_its_graph_is_not_given():
    inputs = {label: one for label, one in study().items() if label != "graph"}
    assert "Degrees of ordered[order=original]" in made(inputs)
    # The planner says which inputs rest on which graph; without that, each is a graph of its own.
    whole = study()
    graphs = tuple("one" if label == "graph" or label.startswith("ordered") else "" for label in whole)
    found = report(
        PlainContext(), ReportParameters(labels=tuple(whole), graphs=graphs), inputs=tuple(whole.values())
    )
    titles = [section["title"] for section in found.sections]
    assert [title for title in titles if title.startswith("Degrees")] == ["Degrees of graph"]


def test_bits_per_arc_stand_under_short_names():
    assert made(study())["Bits per arc"]["data"]["rcm, varint"] == 9.0


def test_names_are_what_differs():
    assert short_labels(["bfs[a=1,b=2]", "bfs[a=3,b=2]"]) == ["1", "3"]
    assert short_labels(["graph", "ordered[order=rcm]"]) == ["graph", "ordered, rcm"]
    assert short_labels(["a[x=1]", "a[x=1]"]) == ["a[x=1]", "a[x=1]"]


def test_many_verifications_are_one_row_each_and_failures_are_told():
    one = Verification(
        algorithm="bfs",
        checks=[
            {"check": "tree", "passed": True, "searches": 3},
            {"check": "edge_levels", "passed": True, "searches": 3},
        ],
    )
    wrong = [one.checks[0], {**one.checks[1], "passed": False, "detail": "arc 3 -> 4"}]
    bad = replace(one, checks=wrong, skipped=[{"check": "source", "reason": "no labels"}])
    members = [(f"check[a={place}]", bad if place == 2 else one) for place in range(6)]
    table, failed, skipped = verification_sections(members)
    assert table["columns"] == ["run", "tree", "edge levels", "source"]
    assert table["rows"][2] == ["check[a=2]", "passed", "FAILED", "not made"]
    assert failed["title"] == "Checks that did not pass"
    assert failed["rows"] == [["check[a=2]", "edge_levels", "FAILED", 3, "arc 3 -> 4"]]
    assert skipped["title"] == "Checks that did not apply"
    assert skipped["rows"] == [["check[a=2]", "source", "not made", None, "no labels"]]
    assert len(verification_sections(members[:2])) == 1


def test_many_data_sets_are_rows_with_what_was_found_and_no_charts():
    inputs: dict[str, Any] = {}
    for place in range(9):
        name = f"[dataset=g{place}]"
        graph = searched("serial", 1.0).graph | {"digest": name}
        inputs[f"bfs{name}"] = replace(searched("serial", 1.0 + place), graph=graph)
        parts = numpy.array([0, 1, 1, 1, place % 2 and 4])
        inputs[f"parts{name}"] = Traversal(algorithm="components", component=parts, vertex_count=5)
    sections = made(inputs)
    table = sections["Experiments"]
    assert table["columns"][:5] == ["dataset", "components", "largest component", "reached, %", "depth"]
    assert table["rows"][1][:5] == ["g1", 3, 3, 100, 2]
    assert table["about"].startswith("Each row is a data set.")
    assert not [title for title in sections if title.startswith(("Component sizes", "Frontier", "Degrees"))]
    few = made({label: one for label, one in inputs.items() if "g8" not in label})
    assert any(title.startswith("Component sizes") for title in few)
    assert "components" not in few["Experiments"]["columns"]


def test_small_degrees_have_a_bar_each_and_one_degree_is_told():
    def graph(*degrees: int) -> Graph:
        offsets = numpy.concatenate([[0], numpy.cumsum(degrees)])
        columns = numpy.zeros(int(offsets[-1]), numpy.int64)
        size = {"vertex_count": len(degrees), "arc_count": len(columns), "symmetric": False}
        return Graph(row_offsets=offsets, column_indices=columns, deduplicated=True, **size)

    (line,) = made({"g": graph(1, 1, 3, 0)})["Degrees of g"]["chart"]["panels"][0]["lines"]
    assert (line["x"], line["y"]) == ([1, 2, 3], [2, None, 1])
    assert made({"g": graph(4, 4, 0)})["Degrees of g"]["rows"] == [[4, 2, 1]]
