"""The ids of a result's vertices: those of the input file, through the subgraphs that lie between."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gravel.pipeline.plan.model import Plan
    from gravel.stages.artifacts import VertexIds

NAMING = frozenset(("VertexIds", "Subset"))
"""Kinds of artifacts that ids of vertices are read from."""

Output = tuple[str, int]
"""A stage run's key, and the place of one of its outputs."""


def ids_outputs(
    start: Iterable[str],
    upstream: Callable[[str], Iterable[str]],
    kinds: Callable[[str], Sequence[str]],
) -> tuple[Output, ...]:
    """Find the outputs that name vertices: each `Subset` on the shortest way to `VertexIds`, and these last.

    Parameters
    ----------
    start : the runs that the way may begin with.
    upstream : the runs that a run reads, in order.
    kinds : the kinds of a run's outputs.

    Returns nothing where no run on any way gives ids. Only what a subgraph was taken out of, its first input,
    has the ids of its vertices.

    """
    waiting: list[tuple[str, tuple[Output, ...]]] = [(key, ()) for key in start]
    seen = {key for key, _ in waiting}
    for key, passed in waiting:
        made = kinds(key)
        if "VertexIds" in made:
            return (*passed, (key, made.index("VertexIds")))
        if "Subset" in made:
            passed = (*passed, (key, made.index("Subset")))
        for before in upstream(key):
            if before not in seen:
                seen.add(before)
                waiting.append((before, passed))
    return ()


def planned_ids(plan: Plan, *start: str) -> tuple[Output, ...]:
    """Find the outputs that name vertices in a plan; see `ids_outputs`."""
    return ids_outputs(start, lambda key: plan.runs[key].upstream, lambda key: plan.runs[key].stage.outputs)


def ids_through(artifacts: Sequence[Any]) -> VertexIds:
    """Compose what `ids_outputs` found: the ids of the vertices of the innermost subgraph.

    Without a `Subset` these are the `VertexIds` themselves.
    """
    *subsets, vertex_ids = artifacts
    if not subsets:
        found: VertexIds = vertex_ids
        return found
    import numpy

    from gravel.stages.artifacts import VertexIds

    vertices = numpy.asarray(subsets[0].vertices)
    for each in subsets[1:]:
        vertices = numpy.asarray(each.vertices)[vertices]
    vertices = vertices.astype(numpy.int64, copy=False)
    if vertex_ids.text is None:
        ids = (
            vertices + vertex_ids.first if vertex_ids.ids is None else numpy.asarray(vertex_ids.ids)[vertices]
        )
        return VertexIds(ids=ids, vertex_count=len(vertices))
    import pyarrow

    parts = [pyarrow.py_buffer(numpy.asarray(part)) for part in (vertex_ids.offsets, vertex_ids.text)]
    texts = pyarrow.LargeStringArray.from_buffers(vertex_ids.vertex_count, *parts)
    _, ends, text = texts.take(pyarrow.array(vertices)).buffers()
    offsets = numpy.frombuffer(ends, numpy.int64)[: len(vertices) + 1]
    content = numpy.frombuffer(text, numpy.uint8) if text else numpy.empty(0, numpy.uint8)
    return VertexIds(vertex_count=len(vertices), text=content[: int(offsets[-1])], offsets=offsets)
