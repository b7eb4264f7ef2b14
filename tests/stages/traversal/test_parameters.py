"""The table of strategies decides what goes together; the rest is refused when a workflow is read."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from gravel.kernels.algorithms import PACKAGES
from gravel.kernels.strategy import strategies_in
from gravel.pipeline.core.errors import WorkflowError
from gravel.pipeline.workflow.loader import load_workflow
from gravel.stages.context import PlainContext
from gravel.stages.stage import Extent
from gravel.stages.traversal.parameters import TraverseParameters
from gravel.stages.traverse import STAGE

PLACEMENTS = ("device", "split", "pinned", "streamed")
OUTPUTS = ("distance", "predecessor", "both")
EVERY = [
    (algorithm, name)
    for algorithm in ("bfs", "components", "shortest_paths")
    for name in strategies_in(PACKAGES[algorithm])
]

WORKFLOW = """\
stages:
  edges: {{stage: ingest, source: {{grid: {{dimensions: [5, 4]}}}}}}
  graph: {{stage: symmetrize, input: edges}}
  split: {{stage: partition, input: graph, ranks: 2}}
  found:
    stage: traverse
    input: {kind}
    {parameters}
"""


@pytest.mark.parametrize(("algorithm", "name"), EVERY)
def test_a_strategy_takes_what_the_table_says_and_nothing_else(algorithm: str, name: str) -> None:
    known = strategies_in(PACKAGES[algorithm])
    asked: list[tuple[str, str]] = [*product(["placement"], PLACEMENTS)]
    asked += [] if algorithm == "components" else [*product(["output"], OUTPUTS)]
    for what, value in asked:
        given = {"algorithm": algorithm, "strategy": name, what: value}
        if value in getattr(known[name], f"{what}s"):
            assert getattr(TraverseParameters.model_validate(given), what) == value
            continue
        with pytest.raises(ValidationError, match=f"{what} {value} do not go together") as caught:
            TraverseParameters.model_validate(given)
        told = str(caught.value)
        assert all(fitting in told for fitting in getattr(known[name], f"{what}s"))
        able = [other for other, each in known.items() if value in getattr(each, f"{what}s")]
        assert all(other in told for other in able)


def refused(folder: Path, kind: str, parameters: str) -> str:
    path = folder / "w.yaml"
    path.write_text(WORKFLOW.format(kind=kind, parameters=parameters))
    with pytest.raises(WorkflowError) as caught:
        load_workflow(path)
    (problem,) = caught.value.problems
    assert problem.location is not None
    assert (Path(problem.location.file).name, problem.location.line) == ("w.yaml", 8)
    return problem.message


@pytest.mark.parametrize(
    ("kind", "parameters", "message"),
    [
        (
            "split",
            "strategy: serial",
            "than auto; leave strategy out, or traverse the graph",
        ),
        ("split", "output: checks", "ask for another output"),
        ("graph", "output: checks", "ask for another output"),
        ("split", "sources_over: workers", "leave sources_over out, or traverse the graph before"),
        (
            "split",
            "tuning: {width: 2, by_weight: true}\n    algorithm: shortest_paths",
            "shortest paths over ranks have no constant but width; leave the others out, or traverse the",
        ),
        (
            "split",
            "backend: cuda\n    algorithm: shortest_paths",
            "shortest paths over ranks have no CUDA form; leave backend out, or traverse the graph that symm",
        ),
        ("split", "algorithm: strong_components", "partition keeps no whole rows, which "),
    ],
)
def test_a_kind_of_graph_that_does_not_fit_names_file_and_line(
    tmp_path: Path, kind: str, parameters: str, message: str
) -> None:
    assert message in refused(tmp_path, kind, parameters)


def test_a_directed_graph_is_refused_by_the_plan_where_the_strategy_needs_a_symmetric_one() -> None:
    def refusal(strategy: str, directed: bool) -> str:
        extent = Extent("Graph", vertices=9, arcs=20, bytes=152, directed=directed)
        parameters = TraverseParameters(strategy=strategy)
        return STAGE.estimate(parameters, {"input": (extent,)}, PlainContext().machine).refusal

    said, _, able = refusal("direction_optimizing", True).partition(" takes auto, ")
    assert said.endswith("needs a symmetric graph; a directed one")
    assert "direction_optimizing" not in able
    assert "top_down" in able
    assert refusal("direction_optimizing", False) == refusal("top_down", True) == refusal("auto", True) == ""


DISTRIBUTED: list[tuple[dict[str, Any], str]] = [
    ({"strategy": "serial"}, "no other strategy than auto"),
    ({"placement": "pinned"}, "exist only in the memory of its ranks"),
    ({"host_memory": "1GB"}, "exist only in the memory of its ranks"),
    ({"statistics": True}, "do not count the arcs"),
    ({"algorithm": "components", "tuning": {"rounds": 1}}, "have no constant but"),
]


@pytest.mark.parametrize(("given", "message"), DISTRIBUTED)
def test_what_distributed_graphs_do_not_have(given: dict[str, Any], message: str) -> None:
    parameters = TraverseParameters.model_validate(given)
    (fault,) = STAGE.kind_faults(parameters, {"input": ["DistributedGraph"]})
    assert message in fault.message
    assert not [*STAGE.kind_faults(parameters, {"input": ["Graph"]})]
