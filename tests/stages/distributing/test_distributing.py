"""distribute from files on every real graph: as one machine, over 1 to 4 ranks, whatever the ids are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy
import pytest

from gravel.stages.context import PlainContext
from gravel.stages.traversal.parameters import TraverseParameters
from gravel.stages.traverse import traverse
from gravel.stages.verify import VerifyParameters, verify
from tests.stages.distributing.files_case import assert_same, on_one_machine, over_ranks, write_parquet
from tests.workflows.real_graphs import graph_cases, read
from tests.zoo import needs_data

SMALL = 2_000
"""Bytes of a packed file up to which a graph is not a slow test."""


def asked_for(path: Path, kind: str, folder: Path) -> dict[str, Any]:
    """Return where the graph is: its own file, or Parquet files under sparse ids or texts."""
    if kind == "as it is":
        return {"file": str(path), "weights": False}
    graph = read(path)
    # An odd factor gives each id another one of 62 bits.
    ids: Any = graph.ids.astype(numpy.uint64) * numpy.uint64(0x9E3779B97F4A7C15) >> numpy.uint64(2)
    if kind == "text":
        ids = numpy.array([f"v{each:x}" for each in ids.tolist()])
    names = []
    for number in range(3):
        rows = slice(len(graph.source) * number // 3, len(graph.source) * (number + 1) // 3)
        names.append(str(folder / f"{number}.parquet"))
        write_parquet(Path(names[-1]), ids[graph.source[rows]], ids[graph.target[rows]])
    return {"files": names}


@needs_data
@pytest.mark.parametrize("kind", ["as it is", "sparse", "text"])
@pytest.mark.parametrize("path", graph_cases(SMALL))
def test_ranks_find_what_one_machine_does(path: Path, kind: str, tmp_path: Path) -> None:
    given = asked_for(path, kind, tmp_path)
    searches = [
        TraverseParameters(sources={"random": 2, "seed": 1}),
        TraverseParameters(algorithm="components"),
    ]
    wanted: list[Any] = []
    for ranks in (1, 2, 3, 4):
        _, ids, graph, split = on_one_machine(ranks, "auto", **given)
        found, numbered = over_ranks(ranks, "auto", **given)
        assert_same(numbered, ids)
        assert_same(found, split)
        wanted = wanted or [traverse(PlainContext(), each, input=graph)[0] for each in searches]
        for each, expected in zip(searches, wanted, strict=True):
            searched, _ = traverse(PlainContext(), each, input=found)
            for name in ("sources", "distance", "component"):
                assert numpy.array_equal(getattr(searched, name), getattr(expected, name)), name
            verify(PlainContext(), VerifyParameters(), graph=found, traversal=searched)
