"""How many files a graph goes through in `traverse`: a bound that fails when the way grows."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import numpy
import pytest

from gravel.pipeline.core.files import ROOT
from gravel.stages.artifacts import CompressedGraph, Graph, Partition
from gravel.stages.compress import CompressParameters, compress
from gravel.stages.context import PlainContext
from gravel.stages.partition import PartitionParameters, partition
from gravel.stages.traversal.parameters import OF_ALL_VERTICES, TraverseParameters
from gravel.stages.traverse import traverse
from tests.zoo import zoo

STAGES, KERNELS = str(ROOT / "stages"), str(ROOT / "kernels")

MAX_FILES = {
    ("columns", "bfs"): (10, 29),
    ("columns", "shortest_paths"): (10, 28),
    ("columns", "components"): (10, 23),
    ("columns", "strong_components"): (10, 22),
    ("compressed", "bfs"): (11, 34),
    ("compressed", "shortest_paths"): (11, 34),
    ("compressed", "components"): (11, 30),
    ("partition", "bfs"): (12, 33),
    ("partition", "components"): (10, 22),
}
"""Files of the stages that are entered, and those with the kernels, in a search on the CPU. The tables of
buffers are among both."""


def graph(**given: Any) -> Graph:
    offsets, columns = next(each for each in zoo() if each.name == "skewed_random").csr(symmetric=True)
    facts = {"vertex_count": len(offsets) - 1, "arc_count": len(columns), "symmetric": True}
    return Graph(row_offsets=offsets, column_indices=columns, deduplicated=True, **facts, **given)


def made(form: str, algorithm: str) -> Graph | CompressedGraph | Partition:
    stored = graph()
    if algorithm == "shortest_paths":
        stored = graph(weights=numpy.ones(stored.arc_count, numpy.uint32))
    if form == "compressed":
        return compress(PlainContext(), CompressParameters(), input=stored)
    if form == "partition":
        return partition(PlainContext(), PartitionParameters(ranks=2, threshold=8), input=stored)
    return stored


def followed(call: Callable[[], object]) -> tuple[set[str], list[str]]:
    """Return the files of stages and kernels that a call enters, and each call from a kernel to a stage."""
    files: set[str] = set()
    climbs = []

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event != "call":
            return
        file, caller = _file(frame), _file(frame.f_back)
        if file.startswith((STAGES, KERNELS)):
            files.add(file)
        if file.startswith(STAGES) and caller.startswith(KERNELS):
            climbs.append(f"{caller} calls {frame.f_code.co_qualname} of {file}")

    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    return files, climbs


def _file(frame: FrameType | None) -> str:
    return "" if frame is None else str(Path(frame.f_code.co_filename).resolve())


@pytest.mark.parametrize(("form", "algorithm"), list(MAX_FILES))
def test_the_way_of_a_graph_is_short_and_does_not_climb(form: str, algorithm: str) -> None:
    stored = made(form, algorithm)
    sources = {} if algorithm in OF_ALL_VERTICES else {"sources": {"vertices": [0]}}
    parameters = TraverseParameters.model_validate({"algorithm": algorithm, **sources})

    def search() -> object:
        return traverse(PlainContext(), parameters, input=stored)

    search()  # what is imported and compiled
    files, climbs = followed(search)
    assert climbs == []
    of_stages = sorted(file for file in files if file.startswith(STAGES))
    most, most_with_kernels = MAX_FILES[form, algorithm]
    assert len(of_stages) <= most, of_stages
    assert len(files) <= most_with_kernels, sorted(files - {*of_stages})


def test_a_climb_is_seen() -> None:
    names: dict[str, Any] = {}
    exec(compile("def climb(context):\n    context.log('')", f"{KERNELS}/made_up.py", "exec"), names)
    _, climbs = followed(lambda: names["climb"](PlainContext()))
    assert [climb.rpartition(" of ")[0] for climb in climbs] == [
        f"{KERNELS}/made_up.py calls PlainContext.log"
    ]
