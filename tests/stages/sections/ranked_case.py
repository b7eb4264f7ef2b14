"""Partitions of graphs and searches over their ranks, for what a report says of them."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

from gravel.stages.artifact import Artifact
from gravel.stages.artifacts import Graph, Measurement, Partition
from gravel.stages.context import PlainContext
from gravel.stages.partition import PartitionParameters, partition
from gravel.stages.sections.page import Findings, make_sections
from gravel.stages.traversal.parameters import TraverseParameters
from gravel.stages.traverse import traverse
from tests.kernels.cuda_case import fast_csr, rmat
from tests.stages.traverse_case import as_graph

Sections = dict[str, dict[str, Any]]


def graph_of(scale: int) -> Graph:
    offsets, columns = fast_csr(rmat(scale, 16), symmetric=True)
    return as_graph(offsets, columns)


def ran(graph: Graph, ranks: int, threshold: int, **tuning: Any) -> tuple[Partition, Measurement]:
    asked = PartitionParameters(ranks=ranks, threshold=threshold)
    parts = partition(PlainContext(), asked, input=graph)
    how = TraverseParameters(sources={"random": 3, "seed": 2}, tuning=tuning)
    return parts, traverse(PlainContext(), how, input=parts)[1]


@cache
def two_graphs() -> dict[str, Artifact]:
    """Two graphs, each over one and three ranks at two thresholds."""
    found: dict[str, Artifact] = {}
    for scale in (8, 10):
        for ranks in (1, 3):
            for threshold in (8, 40):
                at = f"scale={scale},ranks={ranks},threshold={threshold}"
                parts, measured = ran(graph_of(scale), ranks, threshold)
                found |= {f"parts[{at}]": parts, f"bfs[{at}]": measured}
    return found


def sections_of(members: dict[str, Artifact]) -> Sections:
    return {section["title"]: section for section in make_sections(Findings(list(members.items())))}


def column(section: dict[str, Any], name: str) -> list[Any]:
    return [row[section["columns"].index(name)] for row in section["rows"]]


def on_gpus(scale: int, ranks: int, millis: float, parts: tuple[float, ...], **more: Any) -> Measurement:
    """Make believe that GPUs took so many milliseconds, and so many of each part in all levels."""
    _, one = ran(graph_of(scale), ranks, 8)
    searches = []
    for search in one.searches:
        told = dict(search["ranks"])
        for name, taken in zip(("visit", "reduce", "exchange"), parts, strict=True):
            told[name] = [taken / len(told[name])] * len(told[name])
        searches.append({**search, "milliseconds": millis, "ranks": told})
    more["asked"] = {**one.asked, **more.get("asked", {})}
    return replace(one, backend="cuda", searches=searches, notes=[], **more)
