"""What a report says first, and that it says no more than was measured."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy
import pytest

from gravel.stages.artifact import Artifact
from gravel.stages.artifacts import Counters, Measurement, Traversal, Verification
from gravel.stages.context import PlainContext
from gravel.stages.report import ReportParameters, report
from tests.stages.measured import searched
from tests.stages.traverse_case import as_graph

PASSED = {"check": "tree", "passed": True, "searches": 2, "detail": "predecessors form a tree"}


def sections(inputs: dict[str, Artifact], **parameters: Any) -> list[dict[str, Any]]:
    labels = tuple(inputs)
    made = report(
        PlainContext(), ReportParameters(labels=labels, **parameters), inputs=tuple(inputs.values())
    )
    return list(made.sections)


def answer(inputs: dict[str, Artifact], **parameters: Any) -> tuple[str, dict[str, str], str]:
    first = sections(inputs, **parameters)[0]
    assert (first["kind"], first["part"]) == ("answer", "answer")
    return first["title"], dict(first["facts"]), first["verdict"]


def check(*checks: dict[str, Any]) -> Verification:
    return Verification(algorithm="bfs", checks=list(checks))


def with_searches(one: Measurement, **values: Any) -> Measurement:
    return replace(one, searches=[{**search, **values} for search in one.searches])


def test_one_measurement_has_its_figure_its_verdict_and_its_machine():
    title, facts, verdict = answer({"bfs": searched("serial", 2.0), "check": check(PASSED)})
    assert title == (
        "BFS from 2 sources over 31 vertices: median 2 ms, 0.000226 GTEPS (harmonic mean, distinct edges), "
        "searches verified."
    )
    assert verdict == "passed"
    assert facts["checked"] == "Passed: 1 check on 2 searches, from the graph alone."
    assert facts["machine"] == "a test"
    assert facts["reached"] == "31 of 31 vertices (100 %); the farthest at distance 1 to 2."
    assert facts["asked"].startswith("A graph of 31 vertices and 904 arcs; strategy serial")
    assert facts["compared"] == "Nothing: there is one measurement."


@pytest.mark.parametrize(
    ("places", "told"),
    [
        (("cuda",), ", on the GPU"),
        (("cpu",), ", on the CPU"),
        (("ranks",), ", by the ranks that have the graph"),
        (("cuda", "cpu"), ", on the CPU or on the GPU"),
    ],
)
def test_where_checks_were_made_is_said(places: tuple[str, ...], told: str):
    checks = check(*({**PASSED, "on": place} for place in places))
    inputs = {"bfs": searched("serial", 2.0), "check": checks}
    assert f"from the graph alone{told}." in answer(inputs)[1]["checked"]
    (table,) = [each for each in sections(inputs) if each["title"] == "Verification"]
    assert (
        table["about"]
        == f"Checked from the graph alone, with code that is independent of the traversal{told}."
    )


def test_a_failed_or_missing_verification_is_said():
    wrong = {**PASSED, "passed": False, "detail": "vertex 3 is its own ancestor"}
    title, facts, verdict = answer({"bfs": searched("serial", 2.0), "check": check(wrong)})
    assert title.endswith("; verification of the searches FAILED.")
    assert verdict == "FAILED"
    assert facts["checked"] == "check: tree failed: vertex 3 is its own ancestor."
    title, facts, verdict = answer({"bfs": searched("serial", 2.0)})
    assert title.endswith(", searches not verified.")
    assert verdict == "not verified"
    two = {
        "bfs[a=1]": searched("serial", 2.0),
        "bfs[a=2]": searched("serial", 3.0),
        "check[a=1]": check(PASSED),
    }
    title, facts, verdict = answer(two)
    assert verdict == "not verified"
    assert facts["checked"] == "1 of 2 measurements were verified."


@pytest.mark.parametrize(
    ("one", "told"),
    [
        (
            with_searches(searched("serial", 2.0), reached=1, arcs=0, edges=0, depth=0),
            "no rate, as no source",
        ),
        (replace(searched("serial", 2.0), searches=[]), "BFS: no search was made"),
        (
            replace(
                with_searches(searched("serial", 2.0), reached=1, arcs=0, edges=0),
                graph={"vertices": 1, "arcs": 0, "symmetric": True, "digest": "a"},
            ),
            "BFS from 2 sources over 1 vertex: median 2 ms, no rate",
        ),
    ],
)
def test_searches_without_edges_have_no_rate(one: Measurement, told: str):
    title, _, _ = answer({"bfs": one})
    assert told in title
    assert "nan" not in title
    assert "inf" not in title


def test_nothing_measured_is_said_with_the_reason():
    graph = as_graph(numpy.zeros(2, numpy.int64), numpy.zeros(0, numpy.uint32))
    title, facts, verdict = answer({"graph": graph}, not_run={"bfs": "needs a GPU", "other": "needs a GPU"})
    assert title == "Nothing was measured, of a graph of 1 vertex without edges."
    assert verdict == ""
    assert facts == {"not run": "2 stage runs: needs a GPU."}


def test_components_tell_how_many_there_are():
    labels = Traversal(algorithm="components", component=numpy.array([0, 0, 2]), vertex_count=3)
    one = replace(searched("afforest", 2.0), algorithm="components")
    title, _, _ = answer({"parts": one, "labels": labels})
    assert title.startswith("Connected components of 31 vertices: 2 components, the largest of 2 vertices;")


def test_the_best_is_named_and_a_tie_is_a_tie():
    times = (1.0, 1.1, 0.9)
    runs: dict[str, Artifact] = {
        "bfs[s=a]": searched("serial", 2.0, times=times),
        "bfs[s=b]": searched("top_down", 9.0, times=times),
    }
    _, facts, _ = answer(runs)
    assert facts["compared"] == ("fastest is serial, 2 ms; the slowest, top_down, takes 4.5 times as long.")
    runs["bfs[s=b]"] = searched("top_down", 2.0, times=(1.1, 0.9, 1.0))
    _, facts, _ = answer(runs)
    assert "are tied within the spread of their times" in facts["compared"]
    assert "fastest" not in facts["compared"]


def test_a_thousand_experiments_are_one_answer():
    runs: dict[str, Artifact] = {
        f"bfs[a={a},b=x{b}]": searched("serial", 1.0 + a + b / 10, graph=f"g{a}")
        for a in range(10)
        for b in range(12)
    }
    made = sections(runs)
    assert len(made[0]["title"]) < 200
    assert all(len(text) < 300 for _, text in made[0]["facts"])
    assert len([each for each in made if each["part"] == "answer"]) == 2
    assert all(
        len(each["columns"]) < 20 for each in made if each["kind"] == "table" and each["part"] != "data"
    )


def test_results_come_before_details_and_nothing_is_said_twice():
    runs: dict[str, Artifact] = {
        f"bfs[order={order},layout={layout}]": searched("serial", 1.0 + place)
        for place, order in enumerate(("a", "b", "c"))
        for layout in ("x", "y", "z")
    }
    made = sections(runs)
    parts = [each["part"] for each in made]
    assert parts == sorted(parts, key=["answer", "results", "details", "data"].index)
    shown = {each["title"] for each in made if each["part"] != "data"}
    assert "Experiments" in shown
    assert not {"Every strategy on every graph", "Arc rates"} & shown


def test_strategies_without_cpu_code_are_one_reason():
    reasons = {
        f"bfs[strategy={name}]": f"needs a GPU: strategy {name} has no CPU code"
        for name in ("flex", "hybrid", "two_phase", "persistent")
    }
    not_run = {**reasons, "bfs[graph=other,strategy=flex]": reasons["bfs[strategy=flex]"]}
    _, facts, _ = answer({"bfs": searched("serial", 2.0)}, not_run=not_run)
    assert facts["not run"] == (
        "5 stage runs: needs a GPU: no CPU code of strategies flex, hybrid, two_phase and 1 more."
    )


def test_groups_name_the_labels_once():
    members = {
        f"bfs[output={output},s={name}]": searched(name, time, asked={"strategy": name, "output": output})
        for output in ("distance", "predecessor")
        for name, time in (("serial", 4.0), ("hybrid", 2.0))
    }
    _, facts, _ = answer(members)
    assert facts["compared"].startswith(
        "distance: fastest is hybrid, 2 ms; the slowest, serial, takes 2 times"
    )
    assert "(distance)" not in facts["compared"]


def test_constants_are_told_by_the_names_that_a_workflow_gives_them():
    members = {
        f"bfs[threshold={threshold},directions={name}]": searched(
            "auto",
            time + threshold,
            asked={"strategy": "auto", "tuning": {"direction_optimized": name == "DOBFS"}},
        )
        for threshold in (8, 32)
        for name, time in (("DOBFS", 1.0), ("BFS", 2.0))
    }
    _, facts, _ = answer(members)
    assert "direction_optimized" not in facts["compared"]
    assert "8 DOBFS" in facts["compared"]


def test_why_counters_were_not_read_is_said_first():
    one = searched("serial", 2.0)
    counters = Counters(
        strategy="serial",
        backend="cpu",
        hardware="a test",
        searches=one.searches,
        graph=one.graph,
        asked=one.asked,
        ran=one.ran,
        why="no GPU",
    )
    _, facts, _ = answer({"a": counters, "b": counters})
    assert facts["not read"] == "no GPU."
