"""The studies of degree separation: their shape at the paper's sizes, and their reports from small runs."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from gravel.kernels.partition import SearchOptions
from gravel.pipeline.plan.builder import build_plan
from gravel.pipeline.workflow.loader import load_workflow
from tests.workflows.report_sections import WORKFLOWS, run

NAMES = (
    "papers/delegates_thresholds",
    "papers/delegates_options",
    "papers/delegates_paper",
    "papers/delegates_ranks",
    "papers/delegates_scaling",
    "papers/delegates_links",
)


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


def column(section: dict[str, Any], name: str) -> list[Any]:
    return [row[section["columns"].index(name)] for row in section["rows"]]


@pytest.mark.parametrize("name", NAMES)
def test_every_search_is_verified(name: str) -> None:
    plan = build_plan(load_workflow(WORKFLOWS / f"{name}.yaml"))
    runs: list[Any] = list(plan.runs.values())
    searched = [each for each in runs if each.stage.name == "traverse"]
    checked = [each for each in runs if each.stage.name == "verify"]
    assert len(searched) == len(checked) > 1


def test_thresholds(cache: Path) -> None:
    graphs = "graphs={a: {source: {rmat: {scale: 7}}}, b: {source: {rmat: {scale: 8}}}}"
    small = ["--set", graphs, "--set", "thresholds=[4, 8, 16]", "--set", "sources=2"]
    (found,) = run("papers/delegates_thresholds", cache, *small).values()
    assert column(found["Experiments"], "verified") == ["passed"] * 12
    curves = found["Median ms along threshold"]["data"]
    assert set(curves) == {"a, DOBFS", "a, BFS", "b, DOBFS", "b, BFS"}
    assert [x for x, _ in curves["a, BFS"]] == [4, 8, 16]
    divided = found["Vertices and arcs over degree thresholds"]["data"]
    assert set(divided) == {"a", "b"}
    assert {4, 8, 16} <= set(divided["a"]["used"])  # and the one that was suggested
    assert found["Suggested thresholds over sizes"]["data"]["vertices"] == [128, 256]
    assert set(found["Memory of partitions against table I"]["data"]) == {"a", "b"}


@pytest.mark.slow
def test_links(cache: Path) -> None:
    small = ["--set", "scale=7", "--set", "sources=1", "--set", "largest=4KiB", "--set", "repeats=1"]
    (found,) = run("papers/delegates_links", cache, *small).values()
    (row,) = found["Links between ranks"]["rows"]
    assert row[1:3] == ["wire", 2]
    assert all(value > 0 for value in row[3:])
    times = found["Time of messages by their size"]["data"]["wire, 2 ranks"]
    assert [point["bytes"] for point in times["pair"]] == [64, 256, 1024, 4096]
    assert "Links are those that were measured" in found["Predicted against measured"]["about"]


def test_options(cache: Path) -> None:
    small = ["--set", "scale=7", "--set", "sources=2", "--set", "dd_factors=[0.05, 0.5, 5]"]
    found = run("papers/delegates_options", cache, *small)
    assert set(found) == {"summary", "scan"}
    summary = found["summary"]
    assert set(column(summary["Experiments"], "verified")) == {"passed"}
    bars = summary["Where searches over ranks spend their time"]["data"]
    assert bars["run"] == [
        "DO",
        "none",
        "DO_BR",
        "DO_U",
        "DO_masks",
        "DO_groups",
        "DO_L",
        "DO_LU",
        "DO_LU_BR",
        "DO_tree",
        "DO_doubling",
        "DO_groups_tree",
        "DO_4MB",
        "DO_smallest",
        "DO_nn",
    ]
    table = summary["Searches over ranks"]
    told = dict(zip(bars["run"], table["rows"], strict=True))
    place = {name: table["columns"].index(name) for name in table["columns"]}
    assert told["none"][place["levels with a backward visit"]] == 0
    assert told["DO"][place["levels with a backward visit"]] > 0
    assert told["DO_masks"][place["mask bytes"]] >= told["DO"][place["mask bytes"]]
    assert told["DO_U"][place["vertex bytes"]] <= told["DO"][place["vertex bytes"]]
    curve = found["scan"]["Median ms along dd"]["data"]
    ((_, points),) = curve.items()
    assert [x for x, _ in points] == [0.05, 0.5, 5]


def test_the_paper_s_own_settings(cache: Path) -> None:
    found = run("papers/delegates_paper", cache, "--set", "scale=7", "--set", "sources=5")["summary"]
    means = found["Geometric means as the paper takes them"]
    assert column(means, "searches") == [5] * 6
    assert all(value > 0 for value in column(means, "geometric mean, ms"))
    ours = column(means, "geometric mean, GTEPS (distinct edges)")
    papers = column(means, "geometric mean, GTEPS (generated edges)")
    assert all(theirs > each > 0 for theirs, each in zip(papers, ours, strict=True))
    table = found["Searches over ranks"]
    local, names = column(table, "local exchange, ms"), column(table, "options")
    assert all(value > 0 for value in local)
    assert all("reduction_algorithm=tree" in name and "message_bytes=4194304" in name for name in names)
    volumes = found["Communication volume by formula and as counted"]
    assert column(volumes, "groups") == [2] * 6
    told = zip(
        column(volumes, "vertices counted"), column(volumes, "vertices by formula"), names, strict=True
    )
    # With local all-to-all most ids are sent twice.
    assert all(counted < formula or "local_all_to_all=true" in name for counted, formula, name in told)
    plan = build_plan(load_workflow(WORKFLOWS / "papers/delegates_paper.yaml"))
    searched: list[Any] = [each for each in plan.runs.values() if each.stage.name == "traverse"]
    assert {each.parameters.sources.random for each in searched} == {140}


def test_every_option_of_a_search_is_tried() -> None:
    tried: set[str] = set()
    for name in ("delegates_options", "merrill_striped"):
        plan = build_plan(load_workflow(WORKFLOWS / f"papers/{name}.yaml"))
        runs: list[Any] = [run for run in plan.runs.values() if run.stage.name == "traverse"]
        tried |= {name for run in runs for name in run.parameters.tuning}
    # How long ranks wait for each other changes no search.
    assert tried == {each.name for each in fields(SearchOptions)} - {"barrier_seconds"}


@pytest.mark.slow
def test_scaling(cache: Path) -> None:
    sizes = ["--set", "weak=[{scale: 6, ranks: 1}, {scale: 7, ranks: 2}]"]
    sizes += ["--set", "strong=[{scale: 7, ranks: 1}, {scale: 7, ranks: 2}]", "--set", "sources=2"]
    found = run("papers/delegates_scaling", cache, *sizes)
    weak, strong = (found[f"{kind}.summary"] for kind in ("weak", "strong"))
    ((_, curve),) = strong["Strong scaling with ranks"]["data"].items()
    assert curve["ranks"] == [1, 2]
    assert column(weak["Searches over ranks"], "ranks") == [1, 2]
    for sections in (weak, strong):
        assert set(column(sections["Experiments"], "verified")) == {"passed"}
        assert column(sections["Predicted against measured"], "ranks") == [1, 2]
        assert "Predicted times to 1,024 ranks" not in sections


@pytest.mark.parametrize("name", ["delegates_thresholds", "delegates_ranks", "delegates_scaling"])
def test_timed_searches_have_the_paper_s_settings_unless_gravel_s_are_asked_for(name: str) -> None:
    for paper in ("pan2018", None):
        given = {} if paper else {"paper": "null"}
        plan = build_plan(load_workflow(WORKFLOWS / "papers" / f"{name}.yaml", given))
        searched: list[Any] = [
            each.parameters for each in plan.runs.values() if each.stage.name == "traverse"
        ]
        assert {each.paper for each in searched} == {paper}
        whole = {each.tuning.get("changed_only", True) is False for each in searched}
        assert whole == {bool(paper)}
        assert {each.output for each in searched} == {"distance"}
    scaled = WORKFLOWS / "papers" / f"{name}.yaml"
    over: list[Any] = list(build_plan(load_workflow(scaled, {"transport": "nccl"})).runs.values())
    assert {each.parameters.transport for each in over if each.stage.name == "traverse"} == {"nccl"}


def test_table_2_is_a_matter_of_parameters() -> None:
    sizes = "[{scale: 24, ranks: 1}, {scale: 25, ranks: 2}, {scale: 26, ranks: 4}]"
    workflow = load_workflow(
        WORKFLOWS / "papers/delegates_scaling.yaml",
        {"weak": sizes, "sources": "140", "backend": "cuda", "keep": "false"},
    )
    runs: list[Any] = [run for run in build_plan(workflow).runs.values() if run.key.startswith("weak.")]
    parts = [run for run in runs if run.stage.name == "partition"]
    assert [run.parameters.ranks for run in parts] == [1, 2, 4]
    assert {run.keep for run in parts} == {False}
    edges = [run.parameters.source.rmat.scale for run in runs if run.stage.name == "ingest"]
    assert edges == [24, 25, 26]
    searches = [run.parameters for run in runs if run.stage.name == "traverse"]
    assert {(each.sources.random, each.backend) for each in searches} == {(140, "cuda")}
