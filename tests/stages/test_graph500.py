"""The graph500 stage: what is timed apart, keys, edges, validation; the block's statistics by hand."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import replace
from typing import Any

import numpy
import pytest
from pydantic import ValidationError

from gravel.kernels.bfs.result import BFSResult
from gravel.kernels.generate import generate
from gravel.stages.artifacts import Measurement, Verification
from gravel.stages.context import PlainContext
from gravel.stages.errors import StageError, VerificationFailed
from gravel.stages.graph500 import STAGE, graph500
from gravel.stages.graph500_parameters import Graph500Parameters
from gravel.stages.report import ReportParameters, report
from gravel.stages.sections.graph500 import Run, fields, harmonic_mean_and_error, lacking, lines, rule_texts
from gravel.stages.stage import Machine

SCALE, SEED = 7, 3


def machine(**facts: Any) -> Machine:
    return Machine(**{"backend": "cpu", "threads": 2, "host_memory": 1 << 30, **facts})


def run(**parameters: Any) -> tuple[Measurement, Verification]:
    given = {"scale": SCALE, "edge_factor": 2, "seed": SEED, **parameters}
    return graph500(PlainContext(machine()), Graph500Parameters(**given))


@pytest.fixture(scope="module", params=["each_search", "once"])
def made(request: pytest.FixtureRequest) -> tuple[str, Measurement, Verification]:
    return request.param, *run(setup=request.param)


def the_list() -> list[tuple[int, int]]:
    source, target = generate("rmat", scale=SCALE, edge_factor=2, seed=SEED)
    return list(zip(source.tolist(), target.tolist(), strict=True))


def component(edges: list[tuple[int, int]], key: int) -> set[int]:
    near: dict[int, set[int]] = defaultdict(set)
    for one, other in edges:
        near[one].add(other)
        near[other].add(one)
    found, waiting = {key}, [key]
    while waiting:
        new = near[waiting.pop()] - found
        found |= new
        waiting += new
    return found


def test_edges_are_those_of_the_list_with_multiple_edges_and_loops(made: Any) -> None:
    _, one, _ = made
    edges = the_list()
    assert len({frozenset(edge) for edge in edges}) < len(edges)
    assert any(source == target for source, target in edges)
    for search in one.searches:
        reached = component(edges, search["source"])
        assert search["reached"] == len(reached)
        assert search["input_edges"] == sum(source in reached for source, _ in edges)
        distinct = {frozenset(edge) for edge in edges if edge[0] in reached and edge[0] != edge[1]}
        assert search["edges"] == len(distinct)


def test_keys_have_a_neighbour_and_do_not_repeat(made: Any) -> None:
    _, one, _ = made
    linked = {end for edge in the_list() if edge[0] != edge[1] for end in edge}
    keys = [search["source"] for search in one.searches]
    assert len(keys) == len(set(keys)) == 64 < len(linked)
    assert set(keys) <= linked
    few, _ = run(scale=3, searches=64)
    assert len(few.searches) <= 8
    assert [s["source"] for s in run()[0].searches] == keys
    assert [s["source"] for s in run(key_seed=9)[0].searches] != keys


def test_keys_are_drawn_uniformly() -> None:
    from gravel.stages.traversal.preparation import draw_sources

    # Vertices 1, 2, 4 and 5 of six have arcs, by very different numbers.
    offsets = numpy.array([0, 0, 1, 100, 100, 102, 105])
    drawn = [key for seed in range(2000) for key in draw_sources(offsets, 1, seed).tolist()]
    counts = {key: drawn.count(key) for key in (1, 2, 4, 5)}
    assert sum(counts.values()) == 2000
    assert all(400 < count < 600 for count in counts.values())


def test_the_record_says_where_the_preparation_was(made: Any) -> None:
    setup, one, _ = made
    text = rule_texts(one)["Structures from degrees (section 9.1)"]
    if setup == "each_search":
        assert one.benchmark["prepared_within_searches"] == 64
        assert one.prepare_milliseconds == 0
        assert all(0 < s["setup_milliseconds"] < s["milliseconds"] for s in one.searches)
        assert text.startswith("Built within each search: 64 searches were prepared anew")
        assert not any("degrees" in each for each in lacking(one))
    else:
        assert one.benchmark["prepared_within_searches"] == 0
        assert one.prepare_milliseconds > 0
        assert all(s["setup_milliseconds"] == 0 for s in one.searches)
        assert text.startswith("Not built within each search")
        assert any("degrees" in each for each in lacking(one))
    assert "edgefactor 2; 16 is required" in lacking(one)


def test_generation_construction_searches_and_validation_are_timed_apart(made: Any) -> None:
    _, one, _ = made
    names = ("generation_milliseconds", "construction_milliseconds")
    assert all(one.benchmark[name] > 0 for name in names)
    assert all(s["milliseconds"] > 0 and s["validate_milliseconds"] > 0 for s in one.searches)
    assert one.benchmark["input_edges"] == 2 << SCALE


def test_every_search_is_validated(made: Any) -> None:
    _, _, verification = made
    assert {each["check"]: each["searches"] for each in verification.checks} == dict.fromkeys(
        ("ranges", "source", "tree", "edge_levels", "component", "tree_edges"), 64
    )
    assert [each["check"] for each in verification.skipped] == ["tree_levels"]


def test_a_wrong_search_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    from gravel.kernels.bfs.cpu.search import CPUSearch as Searched

    searched = Searched.run

    def wrong(self: Any, source: int) -> BFSResult:
        result = searched(self, source)
        tree = result.predecessor.copy()
        tree[numpy.flatnonzero(tree >= 0)[-1]] = -1
        return replace(result, predecessor=tree)

    monkeypatch.setattr(Searched, "run", wrong)
    with pytest.raises(VerificationFailed, match=r"search 1 of 64: .*component"):
        run()


def test_what_the_rules_or_the_graph_do_not_allow() -> None:
    with pytest.raises(ValidationError, match="searches from several keys at once"):
        Graph500Parameters(scale=4, strategy="multi_source")
    loops = next(
        seed
        for seed in range(1000)
        if (numpy.equal(*generate("rmat", scale=1, edge_factor=1, seed=seed))).all()
    )
    with pytest.raises(StageError, match="no vertex of this graph of scale 1 has a neighbour"):
        run(scale=1, edge_factor=1, seed=loops)
    assert "no CPU code" in STAGE.cannot_run(Graph500Parameters(scale=4, strategy="hybrid"), "cpu").reason
    assert STAGE.cannot_run(Graph500Parameters(scale=4), "cpu") is None


ORDERS = ("min", "firstquartile", "median", "thirdquartile", "max")

HAND = Run(
    scale=3,
    edge_factor=16,
    generation=0.5,
    processes=1,
    construction=0.25,
    times=[0.004, 0.001, 0.002, 0.002],
    edges=[8, 4, 4, 8],
    validations=[1.0, 3.0, 2.0, 2.0],
)


def test_statistics_by_hand() -> None:
    found = fields(HAND)
    assert [found[f"bfs  {name}_time"] for name in ORDERS] == [0.001, 0.0015, 0.002, 0.003, 0.004]
    assert found["bfs  mean_time"] == pytest.approx(0.00225)
    # Squares of the distances: 1.75^2 + 1.25^2 + 2 * 0.25^2 = 4.75, over 3.
    assert found["bfs  stddev_time"] == pytest.approx(1e-3 * math.sqrt(4.75 / 3))
    assert [found[f"{name}_nedge"] for name in ("min", "median", "max", "mean")] == [4, 6, 8, 6]
    assert found["stddev_nedge"] == pytest.approx(math.sqrt(16 / 3))
    # Seconds per edge: 1/2000, 1/4000, 1/2000, 1/4000.
    rates = [found[f"bfs  {name}_TEPS"] for name in ORDERS]
    assert rates == pytest.approx([2000, 2000, 1 / 3.75e-4, 4000, 4000])
    assert found["bfs  harmonic_mean_TEPS"] == pytest.approx(1 / 3.75e-4)
    # s = 1.25e-4 * sqrt(4 / 3); s / (m^2 sqrt(3)) = 1.25e-4 * 2 / 3 / 3.75e-4^2.
    assert found["bfs  harmonic_stddev_TEPS"] == pytest.approx(1.25e-4 * 2 / 3 / 3.75e-4**2)
    assert (found["bfs  mean_validate"], found["bfs  max_validate"]) == (2, 3)
    assert math.isnan(harmonic_mean_and_error([0.5])[1])


def test_fields_are_those_of_the_reference_code_in_its_order() -> None:
    names = [line.split(":")[0] for line in lines(fields(HAND))]
    every = [*ORDERS, "mean", "stddev"]
    assert names == [
        *("SCALE", "edgefactor", "NBFS", "graph_generation", "num_mpi_processes", "construction_time"),
        *(f"bfs  {name}_time" for name in every),
        *(f"{name}_nedge" for name in every),
        *(f"bfs  {name}_TEPS" for name in ORDERS),
        *("bfs  harmonic_mean_TEPS", "bfs  harmonic_stddev_TEPS"),
        *(f"bfs  {name}_validate" for name in every),
    ]
    assert "bfs  harmonic_mean_TEPS:     !  2666.67" in lines(fields(HAND))
    assert "graph_generation:               0.5" in lines(fields(HAND))


def test_the_report_has_the_block_and_the_rules() -> None:
    inputs = {f"bench[setup={setup}]": run(setup=setup) for setup in ("each_search", "once")}
    members = [(label, artifact) for label, made in inputs.items() for artifact in made]
    found = report(
        PlainContext(machine()),
        ReportParameters(labels=tuple(label for label, _ in members)),
        inputs=tuple(artifact for _, artifact in members),
    )
    sections = {section["title"]: section for section in found.sections}
    block = sections["Graph500 output"]
    assert block["columns"] == ["field", *inputs]
    told = {row[0]: row[1:] for row in block["rows"]}
    assert told["NBFS"] == [64, 64]
    for place, (one, _) in enumerate(inputs.values()):
        assert told["max_nedge"][place] == max(search["input_edges"] for search in one.searches)
        prepared = one.prepare_milliseconds
        construction = (one.benchmark["construction_milliseconds"] + prepared) / 1e3
        assert told["construction_time"][place] == pytest.approx(construction)
    rules = sections["Graph500 rules"]["rows"]
    assert ["Search keys (section 5)", "all"] in [row[:2] for row in rules]
    assert sum(row[0].startswith("Structures from degrees") for row in rules) == 2
    assert {block["part"], sections["Graph500 rules"]["part"]} == {"results"}
    assert found.sections[0]["verdict"] == "passed"
    (fact,) = (text for name, text in found.sections[0]["facts"] if name == "Graph500")
    for setup, when in (("each_search", "within each search"), ("once", "once before all")):
        rate = told["bfs  harmonic_mean_TEPS"][list(inputs).index(f"bench[setup={setup}]")] / 1e9
        assert f"bench[setup={setup}]: {rate:.3g}, structures from degrees built {when}" in fact
    assert fact.startswith("GTEPS (input list, multiple edges and self-loops included)")
