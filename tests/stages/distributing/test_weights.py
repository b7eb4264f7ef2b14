"""Weights over ranks on every real graph: as one machine, over 1 to 4 ranks, whatever the ids are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy
import pytest

from gravel.stages.context import PlainContext
from gravel.stages.traversal.parameters import TraverseParameters
from gravel.stages.traverse import traverse
from gravel.stages.verify import VerifyParameters, verify
from tests.stages.distributing.files_case import assert_same, over_ranks, write_parquet
from tests.stages.distributing.test_distributing import SMALL
from tests.stages.distributing.weighted_case import assert_has_weights_of, on_one_machine
from tests.workflows.real_graphs import graph_cases, read
from tests.zoo import DATA, needs_data

WEIGHTED = "ego-Twitter.directed-weighted.csv.xz"
"""The real graph that has weights of its own."""

PATHS = TraverseParameters(algorithm="shortest_paths", sources={"random": 2, "seed": 1})


def written(path: Path, kind: str, folder: Path) -> dict[str, Any]:
    """Write a graph with drawn weights: as DIMACS, or as Parquet files under sparse ids or texts."""
    graph = read(path)
    drawn = numpy.random.default_rng(3)
    weights = drawn.integers(0, 1000, len(graph.source))
    if kind == "gr":
        lines = zip(graph.source.tolist(), graph.target.tolist(), weights.tolist(), strict=True)
        text = "".join(f"a {a + 1} {b + 1} {c}\n" for a, b, c in lines)
        (folder / "a.gr").write_text(f"p sp {len(graph.ids)} {len(weights)}\n{text}")
        return {"file": str(folder / "a.gr")}
    ids: Any = graph.ids.astype(numpy.uint64) * numpy.uint64(0x9E3779B97F4A7C15) >> numpy.uint64(2)
    if kind == "text":
        ids, weights = numpy.array([f"v{each:x}" for each in ids.tolist()]), weights / 8
    names = []
    for number in range(3):
        rows = slice(len(graph.source) * number // 3, len(graph.source) * (number + 1) // 3)
        names.append(str(folder / f"{number}.parquet"))
        ends = ids[graph.source[rows]], ids[graph.target[rows]]
        write_parquet(Path(names[-1]), *ends, weight=weights[rows])
    return {"files": names}


def assert_as_on_one_machine(given: dict[str, Any], policy: str) -> None:
    ids, graph = on_one_machine(policy, **given)
    expected, _ = traverse(PlainContext(), PATHS, input=graph)
    for ranks in (1, 2, 3, 4):
        split, numbered = over_ranks(ranks, "auto", weights=policy, **given)
        assert_same(numbered, ids)
        assert_has_weights_of(split, graph)
        searched, _ = traverse(PlainContext(), PATHS, input=split)
        assert_same(searched, expected)
        verify(PlainContext(), VerifyParameters(), graph=split, traversal=searched)


@needs_data
@pytest.mark.parametrize("kind", ["gr", "sparse", "text"])
@pytest.mark.parametrize("path", graph_cases(SMALL))
def test_ranks_find_what_one_machine_does(path: Path, kind: str, tmp_path: Path) -> None:
    assert_as_on_one_machine(written(path, kind, tmp_path), "sum" if kind == "text" else "minimum")


@needs_data
@pytest.mark.slow
@pytest.mark.parametrize("policy", ["minimum", "sum"])
def test_weights_that_a_real_graph_has_are_kept(policy: str) -> None:
    assert_as_on_one_machine({"file": str(DATA / WEIGHTED)}, policy)
