"""traverse as Moschou's report searches: pinned rows, one lane that decodes, passes, pruning on and off."""

from __future__ import annotations

from typing import Any

import pytest

from gravel.stages.artifacts import CompressedGraph, Graph
from gravel.stages.compress import CompressParameters, compress
from gravel.stages.context import PlainContext
from gravel.stages.stage import Machine
from gravel.stages.traversal.parameters import TraverseParameters
from gravel.stages.traverse import traverse
from gravel.stages.verify import VerifyParameters, verify
from tests.kernels.cuda_case import fast_csr, rmat
from tests.stages.traverse_case import as_graph

GPU = Machine(backend="cuda", threads=2, host_memory=1 << 32, device_memory=1 << 32)
WAYS = [
    {"strategy": "adaptive", "sources": {"random": 2}, "output": "distance"},
    {"strategy": "top_down", "sources": {"random": 2}, "output": "distance"},
    *(
        {"algorithm": "components", "strategy": f"afforest_{passes}_pass", "tuning": {"prune": prune}}
        for passes in ("single", "multi")
        for prune in (True, False)
    ),
]


@pytest.fixture(autouse=True)
def emulated(on_cpu: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gravel.stages.traversal.search.machine_name", lambda *_: "emulated")


@pytest.mark.parametrize("placement", ["device", "pinned"])
@pytest.mark.parametrize("given", WAYS, ids=str)
def test_the_searches_of_the_report(given: dict[str, Any], placement: str) -> None:
    offsets, columns = fast_csr(rmat(6, 4), symmetric=True)
    graph = as_graph(offsets, columns)
    packed = compress(PlainContext(), CompressParameters(codec="varint"), input=graph)
    stored: list[Graph | CompressedGraph] = [graph, packed]
    if given["strategy"] in ("adaptive", "top_down"):
        stored = [graph if given["strategy"] == "adaptive" else packed]
    for one in stored:
        decoder = {"decoder": "one_lane"} if one is packed else {}
        asked = {**given, "tuning": given.get("tuning", {}) | decoder}
        parameters = TraverseParameters(paper="moschou", placement=placement, **asked)
        found, measured = traverse(PlainContext(GPU), parameters, input=one)
        assert (measured.backend, measured.asked["placement"]) == ("cuda", placement)
        assert measured.strategy == given["strategy"]
        assert measured.ran["options"].get("decoder", "warp") == decoder.get("decoder", "warp")
        if "prune" in asked["tuning"]:
            assert measured.ran["options"]["prune"] is asked["tuning"]["prune"]
        if one is packed:
            assert measured.asked["layout"] == "varint"
        verify(PlainContext(), VerifyParameters(), graph=graph, traversal=found)
        assert found.converged or given["strategy"] == "afforest_single_pass"


def test_the_placement_of_the_report_is_pinned() -> None:
    parameters = TraverseParameters(paper="moschou", backend="cuda")
    assert (parameters.placement, parameters.strategy) == ("pinned", "adaptive")
