"""What the columns of each kind of artifact are, in batches of bounded size and under the file's ids."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from gravel.pipeline.core.errors import RequestError

if TYPE_CHECKING:
    from gravel.stages.artifact import Artifact
    from gravel.stages.artifacts import (
        Centrality,
        EdgeList,
        Graph,
        Measurement,
        Ordering,
        Paths,
        Traversal,
        VertexIds,
    )

BATCH_ROWS = 1 << 20
"""Rows in a batch: some tens of megabytes, a good row group for Parquet."""

Batch = dict[str, Any]
"""Arrays by column: of NumPy, or of Arrow where ids are texts."""

TEXT = "text"
"""The dtype of a column of texts."""


@dataclass(frozen=True)
class Columns:
    """A table: the dtype of each column, the number of rows, and the rows in batches."""

    dtypes: dict[str, str]
    rows: int
    batches: Callable[[], Iterator[Batch]]
    longest: int = 0  # characters of the longest text


class FileIds:
    """Leads from internal indices to the ids of the input file; -1 (none) stays -1, and of texts is null.

    `dtype` is int64 or `TEXT`, and `longest` the characters of the longest text.
    """

    def __init__(self, vertex_ids: VertexIds) -> None:
        self._first = vertex_ids.first
        self._ids: Any = None
        if vertex_ids.ids is not None:
            import numpy

            self._ids = numpy.asarray(vertex_ids.ids)
        self._texts: Any = None
        self.dtype, self.longest = "int64", 0
        if vertex_ids.text is not None:
            self._texts = _arrow_texts(vertex_ids)
            self.dtype, self.longest = TEXT, _longest(self._texts)

    def __call__(self, indices: Any) -> Any:
        """Return the ids of an array of indices: int64, or an array of Arrow of texts."""
        import numpy

        signed = numpy.asarray(indices).astype(numpy.int64)
        if self._texts is not None:
            import pyarrow

            return self._texts.take(pyarrow.array(signed, mask=signed < 0))
        named = signed + self._first if self._ids is None else self._ids[numpy.maximum(signed, 0)]
        if len(signed) and signed.min() < 0:
            named[signed < 0] = -1
        return named

    def one(self, index: int) -> int | str:
        """Return the id of one vertex."""
        if self._ids is None and self._texts is None:
            return index + self._first if index >= 0 else -1
        found = self([index])[0]
        return int(found) if self._texts is None else str(found.as_py())


def _arrow_texts(vertex_ids: VertexIds) -> Any:
    import numpy
    import pyarrow

    buffers = [pyarrow.py_buffer(numpy.asarray(part)) for part in (vertex_ids.offsets, vertex_ids.text)]
    count = vertex_ids.vertex_count
    return pyarrow.LargeStringArray.from_buffers(count, buffers[0], buffers[1])


def _longest(texts: Any) -> int:
    from pyarrow import compute

    return int(compute.max(compute.utf8_length(texts)).as_py() or 0)


def _sliced(dtypes: dict[str, str], rows: int, cut: Callable[[int, int], Batch]) -> Columns:
    """Make a table of what `cut` returns of rows from and to."""
    starts = range(0, rows, BATCH_ROWS)
    return Columns(dtypes, rows, lambda: (cut(start, min(start + BATCH_ROWS, rows)) for start in starts))


def _traversal(one: Traversal, ids: FileIds) -> Columns:
    if one.component is not None:
        return _components(one, ids)
    if one.distance is None and one.predecessor is None:
        raise RequestError(
            "the searches were checked on their ranks and kept no labels (output: checks)",
            hint="traverse with another output to export them",
        )
    return _searches(one, ids)


def _components(one: Traversal, ids: FileIds) -> Columns:
    import numpy

    def cut(start: int, stop: int) -> Batch:
        assert one.component is not None
        return {"vertex": ids(numpy.arange(start, stop)), "component": ids(one.component[start:stop])}

    return _sliced({"vertex": ids.dtype, "component": ids.dtype}, one.vertex_count, cut)


def _searches(one: Traversal, ids: FileIds) -> Columns:
    import numpy

    sources = numpy.asarray(one.sources)
    dtypes = {"source": ids.dtype, "vertex": ids.dtype}
    if one.distance is not None:
        # Hops are stored in the smallest type; lengths of paths have a type of their own.
        dtypes["distance"] = str(one.distance.dtype) if one.algorithm == "sssp" else "int32"
    if one.predecessor is not None:
        dtypes["predecessor"] = ids.dtype

    def batches() -> Iterator[Batch]:
        for row, source in enumerate(sources):
            for start in range(0, one.vertex_count, BATCH_ROWS):
                stop = min(start + BATCH_ROWS, one.vertex_count)
                batch = {
                    "source": ids(numpy.full(stop - start, source)),
                    "vertex": ids(numpy.arange(start, stop)),
                }
                if one.distance is not None:
                    batch["distance"] = numpy.asarray(one.distance[row, start:stop]).astype(
                        dtypes["distance"]
                    )
                if one.predecessor is not None:
                    batch["predecessor"] = ids(one.predecessor[row, start:stop])
                yield batch

    return Columns(dtypes, len(sources) * one.vertex_count, batches)


def _edges(one: EdgeList, ids: FileIds) -> Columns:
    dtypes = {"source": ids.dtype, "target": ids.dtype}
    if one.weight is not None:
        dtypes["weight"] = "float64"

    def cut(start: int, stop: int) -> Batch:
        batch = {"source": ids(one.source[start:stop]), "target": ids(one.target[start:stop])}
        return batch if one.weight is None else {**batch, "weight": one.weight[start:stop]}

    return _sliced(dtypes, len(one.source), cut)


def _arcs(one: Graph, ids: FileIds) -> Columns:
    import numpy

    offsets = numpy.asarray(one.row_offsets)

    def cut(start: int, stop: int) -> Batch:
        rows = numpy.searchsorted(offsets, numpy.arange(start, stop), side="right") - 1
        batch = {"source": ids(rows), "target": ids(one.column_indices[start:stop])}
        return batch if one.weights is None else {**batch, "weight": one.weights[start:stop]}

    dtypes = {"source": ids.dtype, "target": ids.dtype}
    if one.weights is not None:
        dtypes["weight"] = str(one.weights.dtype)
    return _sliced(dtypes, one.arc_count, cut)


def _positions(one: Ordering, ids: FileIds) -> Columns:
    import numpy

    def cut(start: int, stop: int) -> Batch:
        place = one.permutation[start:stop].astype(numpy.int64)
        return {"vertex": ids(numpy.arange(start, stop)), "position": place}

    return _sliced({"vertex": ids.dtype, "position": "int64"}, one.vertex_count, cut)


def _measurement(one: Measurement, ids: FileIds) -> Columns:
    import numpy

    numbers = ("milliseconds", "map_back_milliseconds", "reached", "arcs", "edges", "depth")
    dtypes = {name: "float64" if name.endswith("milliseconds") else "int64" for name in numbers}

    def cut(start: int, stop: int) -> Batch:
        searches = one.searches[start:stop]
        sources = [-1 if search["source"] is None else search["source"] for search in searches]
        rest = {
            name: numpy.array([search[name] for search in searches], dtype) for name, dtype in dtypes.items()
        }
        return {"source": ids(numpy.array(sources, numpy.int64)), **rest}

    return _sliced({"source": ids.dtype, **dtypes}, len(one.searches), cut)


def _centrality(one: Centrality, ids: FileIds) -> Columns:
    import numpy

    ends = {"vertex": one.vertex} if one.target is None else {"source": one.vertex, "target": one.target}

    def cut(start: int, stop: int) -> Batch:
        vertices = {
            name: ids(numpy.arange(start, stop) if end is None else end[start:stop])
            for name, end in ends.items()
        }
        return {**vertices, one.measure: numpy.asarray(one.value[start:stop])}

    dtypes = {**dict.fromkeys(ends, ids.dtype), one.measure: str(one.value.dtype)}
    return _sliced(dtypes, len(one.value), cut)


def _paths(one: Paths, ids: FileIds) -> Columns:
    """One row for each vertex on a path; a pair without one has a row that names its source."""
    import numpy

    dtypes = {"source": ids.dtype, "target": ids.dtype, "distance": str(one.distance.dtype)}
    sources, targets, distance = (numpy.asarray(each) for each in (one.source, one.target, one.distance))
    if one.offsets is None or one.vertex is None:
        return _sliced(
            dtypes,
            len(sources),
            lambda start, stop: {
                "source": ids(sources[start:stop]),
                "target": ids(targets[start:stop]),
                "distance": distance[start:stop],
            },
        )
    offsets, vertex = numpy.asarray(one.offsets), numpy.asarray(one.vertex)
    # Where a path has no vertices, its source stands for them.
    rows = numpy.maximum(numpy.diff(offsets), 1)
    first = numpy.cumsum(rows) - rows
    pair = numpy.repeat(numpy.arange(len(rows)), rows)
    step = numpy.arange(len(pair)) - first[pair]
    place = numpy.minimum(offsets[pair] + step, max(0, len(vertex) - 1))
    there = numpy.diff(offsets)[pair] > 0
    on_path = numpy.where(there, vertex[place] if len(vertex) else 0, sources[pair])

    def cut(start: int, stop: int) -> Batch:
        part = pair[start:stop]
        return {
            "source": ids(sources[part]),
            "target": ids(targets[part]),
            "distance": distance[part],
            "step": step[start:stop],
            "vertex": ids(on_path[start:stop]),
        }

    return _sliced({**dtypes, "step": "int64", "vertex": ids.dtype}, len(pair), cut)


def _vertex_ids(one: VertexIds, ids: FileIds) -> Columns:
    import numpy

    return _sliced(
        {"vertex": ids.dtype},
        one.vertex_count,
        lambda start, stop: {"vertex": ids(numpy.arange(start, stop))},
    )


EXPORTABLE: dict[str, Callable[[Any, FileIds], Columns]] = {
    "Traversal": _traversal,
    "Centrality": _centrality,
    "Paths": _paths,
    "Ordering": _positions,
    "Graph": _arcs,
    "EdgeList": _edges,
    "Measurement": _measurement,
    "VertexIds": _vertex_ids,
}
"""Kinds that can be exported; of a stage with several outputs the first of these is taken."""


def columns_of(artifact: Artifact, vertex_ids: VertexIds) -> Columns:
    """Return an artifact's table under the ids of `vertex_ids`; KeyError for a kind without one."""
    ids = FileIds(vertex_ids)
    return replace(EXPORTABLE[type(artifact).__name__](artifact, ids), longest=ids.longest)
