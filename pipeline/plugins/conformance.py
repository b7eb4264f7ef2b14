"""What a stage promises, tried on small artifacts of every kind."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from itertools import pairwise
from typing import Any

import numpy

from gravel.kernels.algorithms import PACKAGES
from gravel.stages.artifact import Artifact
from gravel.stages.artifacts import EdgeList, Graph, Ordering, Traversal, VertexIds
from gravel.stages.traversal.parameters import either

GRAPHS: dict[str, dict[str, Any]] = {
    "rmat": {"source": {"rmat": {"scale": 6, "edge_factor": 4, "seed": 1}}},
    "grid": {"source": {"grid": {"dimensions": [5, 9]}}},
    "sparse": {"source": {"uniform": {"vertices": 40, "edges": 30, "seed": 3}}},
    "loops": {"source": {"uniform": {"vertices": 6, "edges": 40, "seed": 2}}},
    "no edges": {"source": {"uniform": {"vertices": 5, "edges": 0}}},
}
"""Parameters of `ingest` by name: skewed, regular, with many parts, with self-loops, with nothing in it."""

CHAIN: dict[str, dict[str, Any]] = {
    "edges": {"stage": "ingest"},
    "graph": {"stage": "symmetrize", "input": "edges"},
    "ordered": {"stage": "reorder", "input": "graph", "method": "degree"},
    "parts": {"stage": "partition", "input": "graph", "ranks": 2, "threshold": 6},
    "packed": {"stage": "compress", "input": "graph"},
    "bfs": {"stage": "traverse", "input": "graph", "sources": {"random": 2, "seed": 7}},
    "check": {"stage": "verify", "graph": "graph", "traversal": "bfs"},
    "levels": {"stage": "probe", "input": "graph", "repeats": 1, "sources": {"random": 1, "seed": 7}},
    "centre": {"stage": "centrality", "input": "graph", "measure": "closeness"},
    "ways": {"stage": "paths", "input": "graph", "pairs": {"random": 3}},
    "page": {"stage": "report", "inputs": ["graph", "bfs"]},
}
"""Entries of a workflow that together give every kind, each after those that it needs."""


def entries_for(graph: str) -> dict[str, dict[str, Any]]:
    """Return the entries of `CHAIN` for one of `GRAPHS`."""
    entries = {name: dict(entry) for name, entry in CHAIN.items()}
    entries["edges"].update(GRAPHS[graph])
    if graph == "loops":
        entries["graph"]["self_loops"] = "keep"
    return entries


def giver_of(kinds: tuple[str, ...]) -> str:
    """Name the first entry of `CHAIN` with an output that fits; raises LookupError if none has one."""
    from gravel.stages.stage import all_stages

    for name, entry in CHAIN.items():
        if not set(kinds).isdisjoint(all_stages()[entry["stage"]].outputs):
            return name
    raise LookupError(f"no stage of gravel gives {' or '.join(kinds)}")


def sample(graph: str, kinds: tuple[str, ...]) -> Artifact | None:
    """Return an artifact of the first of these kinds that there is, made from one of `GRAPHS`."""
    for kind in kinds:
        with suppress(LookupError):
            made = _made(graph, giver_of((kind,)))
            return next(each for each in made if type(each).__name__ == kind)
    return None


@cache
def _made(graph: str, name: str) -> tuple[Artifact, ...]:
    """Run an entry of `CHAIN` after those that it needs."""
    from gravel.stages.context import PlainContext
    from gravel.stages.stage import all_stages

    entry = entries_for(graph)[name]
    stage = all_stages()[entry.pop("stage")]
    inputs: dict[str, Any] = {}
    for slot, each in stage.inputs.items():
        if each.optional and slot not in entry:
            continue
        named = entry.pop(slot)
        givers = named if isinstance(named, list) else [named]
        made = (artifact for giver in givers for artifact in _made(graph, giver))
        given = tuple(artifact for artifact in made if type(artifact).__name__ in each.kinds)
        inputs[slot] = given if each.many else given[0]
    result = stage.run(PlainContext(), stage.parameters.model_validate(entry), **inputs)
    return result if isinstance(result, tuple) else (result,)


def broken_promises(artifact: Artifact) -> list[str]:
    """Say in plain sentences what an artifact's arrays and flags do not keep; empty if all is well.

    Looks into EdgeList, VertexIds, Graph, Ordering and Traversal; what the other kinds hold is made by
    gravel's own stages, whose tests look into it. Reads everything into memory.
    """
    checks: dict[type[Artifact], Callable[[Any], Iterator[str]]] = {
        **{Graph: _of_graph, Ordering: _of_ordering, EdgeList: _of_edges},
        **{VertexIds: _of_ids, Traversal: _of_traversal},
    }
    return [each for kind, check in checks.items() if isinstance(artifact, kind) for each in check(artifact)]


def _of_graph(graph: Graph) -> Iterator[str]:
    offsets, columns = numpy.asarray(graph.row_offsets), numpy.asarray(graph.column_indices)
    n, m = graph.vertex_count, graph.arc_count
    if wrong := _misfit("row_offsets", offsets, "int64", n + 1):
        yield wrong
        return
    if offsets[0] != 0 or offsets[-1] != m or (numpy.diff(offsets) < 0).any():
        yield f"row_offsets must rise from 0 to arc_count, which is {m}"
        return
    yield from _indices("column_indices", columns, m, n)
    if columns.shape != (m,) or (m and int(columns.max()) >= n):
        return
    rows, columns = numpy.repeat(numpy.arange(n), numpy.diff(offsets)), columns.astype(numpy.int64)
    order = numpy.lexsort((columns, rows))
    same = (numpy.diff(rows[order]) == 0) & (numpy.diff(columns[order]) == 0)
    if graph.sorted and not (order == numpy.arange(m)).all():
        yield "`sorted` is true, and a row is not ascending"
    if graph.deduplicated and same.any():
        yield "`deduplicated` is true, and an arc is there twice"
    loops = int((rows == columns).sum())
    if loops != graph.loop_count:
        yield f"loop_count is {graph.loop_count}, and there are {loops} self-loops"
    back = numpy.lexsort((rows, columns))
    if not graph.symmetric:
        return
    if not ((rows[order] == columns[back]).all() and (columns[order] == rows[back]).all()):
        yield "`symmetric` is true, and an arc lacks its reverse"
    elif graph.weights is not None:
        weights = numpy.asarray(graph.weights)
        order, back = numpy.lexsort((weights, columns, rows)), numpy.lexsort((weights, rows, columns))
        if not (weights[order] == weights[back]).all():
            yield "`symmetric` is true, and an arc and its reverse have different weights"


def _of_ordering(ordering: Ordering) -> Iterator[str]:
    permutation, n = numpy.asarray(ordering.permutation), ordering.vertex_count
    yield from _indices("permutation", permutation, n, n)
    if not (numpy.sort(permutation) == numpy.arange(n)).all():
        yield "permutation does not name every vertex once"


def _of_edges(edges: EdgeList) -> Iterator[str]:
    source, target = numpy.asarray(edges.source), numpy.asarray(edges.target)
    yield from _indices("source", source, len(source), edges.vertex_count)
    yield from _indices("target", target, len(source), edges.vertex_count)
    if edges.weight is not None:
        weight = numpy.asarray(edges.weight)
        if weight.dtype != numpy.float64 or weight.shape != source.shape:
            yield f"weight is {weight.dtype} of shape {weight.shape}, and float64 like source is expected"


def _of_ids(vertices: VertexIds) -> Iterator[str]:
    if vertices.text is not None or vertices.offsets is not None:
        yield from _of_texts(vertices)
        return
    if vertices.ids is None:
        return
    ids = numpy.asarray(vertices.ids)
    if wrong := _misfit("ids", ids, "int64", vertices.vertex_count):
        yield wrong
    if (numpy.diff(ids) <= 0).any() or (len(ids) and ids[0] < 0):
        yield "ids must be ascending, without repetition, from 0 on"


def _of_texts(vertices: VertexIds) -> Iterator[str]:
    if vertices.text is None or vertices.offsets is None or vertices.ids is not None or vertices.first:
        yield "ids that are texts are in text and offsets, both, and nowhere else"
        return
    text, offsets = numpy.asarray(vertices.text), numpy.asarray(vertices.offsets)
    n = vertices.vertex_count
    if text.dtype != numpy.uint8 or text.ndim != 1:
        yield f"text is {text.dtype} of shape {text.shape}, and uint8 of (bytes,) is expected"
        return
    if wrong := _misfit("offsets", offsets, "int64", n + 1):
        yield wrong
        return
    if offsets[0] != 0 or offsets[-1] != len(text) or (numpy.diff(offsets) <= 0).any():
        yield f"offsets must rise from 0 to the bytes of text, which are {len(text)}; no id is empty"
        return
    ids = [text[begin:end].tobytes() for begin, end in pairwise(offsets)]
    if any(one >= other for one, other in pairwise(ids)):
        yield "texts must be ascending, by their bytes, without repetition"
    try:
        _ = [each.decode() for each in ids]
    except UnicodeDecodeError:
        yield "texts must be UTF-8"


def _of_traversal(traversal: Traversal) -> Iterator[str]:
    n = traversal.vertex_count
    if traversal.algorithm not in PACKAGES:
        yield f"algorithm is {traversal.algorithm!r}, and {either([*PACKAGES])} is expected"
    if traversal.component is not None:
        yield from _indices("component", numpy.asarray(traversal.component), n, n)
    searches = 0 if traversal.sources is None else len(traversal.sources)
    wide = ("int32" if n < 1 << 31 else "int64",)
    lengths = (
        ("int32", "int64", "float64")
        if traversal.algorithm == "shortest_paths"
        else ("int32", "int16", "int8")
    )
    for name, dtypes in (("distance", lengths), ("predecessor", wide)):
        array = getattr(traversal, name)
        if array is not None and (str(array.dtype) not in dtypes or array.shape != (searches, n)):
            wanted = f"{' or '.join(dtypes)} of {(searches, n)}"
            yield f"{name} is {array.dtype} of shape {array.shape}, and {wanted} is expected"


def _indices(name: str, array: Any, length: int, vertices: int) -> Iterator[str]:
    if wrong := _misfit(name, array, "uint32" if vertices < 1 << 32 else "uint64", length):
        yield wrong
    elif length and int(array.max()) >= vertices:
        yield f"{name} names vertex {int(array.max())}, and there are {vertices}"


def _misfit(name: str, array: Any, dtype: str, length: int) -> str:
    """Say what is wrong with the form of an array; nothing if it is right."""
    if array.dtype == dtype and array.shape == (length,):
        return ""
    return f"{name} is {array.dtype} of shape {array.shape}, and {dtype} of ({length},) is expected"
