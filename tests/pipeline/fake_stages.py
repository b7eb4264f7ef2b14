"""Stages with the shapes of the real ones, that compute nothing: for tests of workflows and plans."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from gravel.stages.stage import Extent, FileInput, Machine, Need, Parameters, Slot, Stage

GRAPHS = ("Graph", "Ordering", "Partition", "CompressedGraph")


class Rmat(Parameters):
    scale: int = Field(ge=0, le=40)
    """Base-2 logarithm of the number of vertices."""
    edge_factor: int = 16
    seed: int = 1


class Generated(Parameters):
    rmat: Rmat


class IngestParameters(Parameters):
    source: Generated | None = None
    file: str | None = None
    format: Literal["auto", "snap", "metis"] = "auto"


class Nothing(Parameters):
    pass


class ReorderParameters(Parameters):
    method: Literal["original", "degree", "rcm", "random"] = "original"
    seed: int = 1


class CompressParameters(Parameters):
    codec: Literal["csr", "varint"] = "varint"


class RandomSources(Parameters):
    random: int
    seed: int = 7


class TraverseParameters(Parameters):
    algorithm: Literal["bfs", "components"] = "bfs"
    sources: RandomSources | list[int] | None = None
    max_depth: int | None = None


class ReportParameters(Parameters):
    title: str = "Report"
    labels: tuple[str, ...] = ()


def _run(*arguments: Any, **inputs: Any) -> Any:
    raise AssertionError("a fake stage does not run")


def _stage(
    name: str, parameters: type[Parameters], inputs: dict[str, Slot], *outputs: str, **more: Any
) -> Stage:
    def estimate(given: Any, extents: Any, machine: Machine) -> Need:
        size = 1000 + sum(extent.bytes for each in extents.values() for extent in each)
        return Need(2 * size, 0, tuple(Extent(kind=kind, vertices=10, bytes=size) for kind in outputs))

    about = f"The {name} of the tests."
    return Stage(name, 1, about, parameters, inputs, outputs, _run, estimate, **more)


def _files(parameters: IngestParameters) -> tuple[FileInput, ...]:
    return (FileInput(parameters.file),) if parameters.file is not None else ()


def _ids(parameters: TraverseParameters) -> tuple[int, ...]:
    return tuple(parameters.sources) if isinstance(parameters.sources, list) else ()


def _with_vertices(parameters: TraverseParameters, vertices: Any) -> TraverseParameters:
    return parameters.model_copy(update={"sources": list(vertices)})


ANY = ("EdgeList", "VertexIds", *GRAPHS, "Traversal", "Measurement", "Verification", "Report")

GRAPH = Slot(("Graph",), "the graph")
SEARCHED = {"input": Slot(GRAPHS, "the graph to search")}
LABELLED = {"graph": GRAPH, "traversal": Slot(("Traversal",), "the labels")}
FOUND = ("Traversal", "Measurement")
READ, SEARCH = {"files": _files, "hidden": frozenset({"file"})}, {"with_vertices": _with_vertices}
FAKES: dict[str, Stage] = {
    stage.name: stage
    for stage in (
        _stage("ingest", IngestParameters, {}, "EdgeList", "VertexIds", **READ),
        _stage("symmetrize", Nothing, {"input": Slot(("EdgeList",), "the edges")}, "Graph"),
        _stage("reorder", ReorderParameters, {"input": GRAPH}, "Ordering"),
        _stage("compress", CompressParameters, {"input": Slot(GRAPHS[:3], "the graph")}, "CompressedGraph"),
        _stage("traverse", TraverseParameters, SEARCHED, *FOUND, measures=True, source_ids=_ids, **SEARCH),
        _stage("verify", Nothing, LABELLED, "Verification"),
        _stage("report", ReportParameters, {"inputs": Slot(ANY, "what to report on", many=True)}, "Report"),
    )
}

ORDERINGS = """\
workflow: orderings
about: How vertex order and compression interact.

parameters:
  scale: 18
  sources: 16

matrix:
  order: [original, rcm, degree]
  layout: [csr, varint]

stages:
  edges:   {stage: ingest, source: {rmat: {scale: "${scale}", edge_factor: 16, seed: 1}}}
  graph:   {stage: symmetrize, input: edges}
  ordered: {stage: reorder, input: graph, method: "${order}"}
  packed:  {stage: compress, input: ordered, codec: "${layout}"}
  bfs:     {stage: traverse, input: packed, algorithm: bfs, sources: {random: "${sources}", seed: 7}}
  check:   {stage: verify, graph: graph, traversal: bfs}
  summary: {stage: report, over: matrix, inputs: [packed, bfs, check]}
"""
