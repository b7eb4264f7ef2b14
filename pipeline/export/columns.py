"""What the columns of each kind of artifact are, in batches of bounded size and under the file's ids."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
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
"""Arrays by column: of NumPy, masked where there is no value, or of Arrow where ids are texts."""

Column = tuple[str, Callable[[int, int], Any]]
"""A dtype, and what returns the rows from and to."""

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
    """Leads from internal indices to the ids of the input file; -1 leads to none, which is masked or null.

    `dtype` is int64 or `TEXT`, and `longest` the characters of the longest text.
    """

    def __init__(self, vertex_ids: VertexIds) -> None:
        self._first = vertex_ids.first
        self._ids: Any = None
        self._texts: Any = None
        self.dtype, self.longest = "int64", 0
        if vertex_ids.ids is not None:
            import numpy  # a page that is made again for a run that finds everything needs none

            self._ids = numpy.asarray(vertex_ids.ids)
        if vertex_ids.text is not None:
            import numpy
            import pyarrow
            from pyarrow import compute

            parts = [pyarrow.py_buffer(numpy.asarray(part)) for part in (vertex_ids.offsets, vertex_ids.text)]
            self._texts = pyarrow.LargeStringArray.from_buffers(vertex_ids.vertex_count, *parts)
            self.dtype, self.longest = TEXT, int(compute.max(compute.utf8_length(self._texts)).as_py() or 0)

    def __call__(self, indices: Any) -> Any:
        """Return the ids of an array of indices: int64, masked where there is none, or of Arrow texts."""
        import numpy

        signed = numpy.asarray(indices).astype(numpy.int64)
        if self._texts is not None:
            import pyarrow

            return self._texts.take(pyarrow.array(signed, mask=signed < 0))
        named = signed + self._first if self._ids is None else self._ids[numpy.maximum(signed, 0)]
        if len(signed) and signed.min() < 0:
            named[signed < 0] = -1
            return numpy.ma.masked_array(named, signed < 0)
        return named

    def one(self, index: int) -> int | str:
        """Return the id of one vertex."""
        if self._ids is None and self._texts is None:
            return index + self._first if index >= 0 else -1
        found = self([index])[0]
        return int(found) if self._texts is None else str(found.as_py())

    def column(self, indices: Any = None, *row: int) -> Column:
        """Make a column of the ids of an array of indices, or of its `row`; without it, of every vertex."""
        import numpy

        if indices is None:
            return self.dtype, lambda start, stop: self(numpy.arange(start, stop))
        return self.dtype, lambda start, stop: self(indices[(*row, slice(start, stop))])


def _numbers(values: Any, *row: int, dtype: str | None = None) -> Column:
    """Make a column of the numbers of an array, or of its `row`."""
    import numpy

    dtype = dtype or str(values.dtype)
    return dtype, lambda start, stop: numpy.asarray(values[(*row, slice(start, stop))], dtype)


def _distances(values: Any, *row: int, dtype: str | None = None) -> Column:
    """Make a column of distances, masked where a vertex is not reached (-1, or inf)."""
    import numpy

    kind, part = _numbers(values, *row, dtype=dtype)

    def reached(start: int, stop: int) -> Any:
        found = part(start, stop)
        return numpy.ma.masked_array(found, (found < 0) | ~numpy.isfinite(found))

    return kind, reached


def _table(rows: int, columns: dict[str, Column]) -> Columns:
    def batch(start: int) -> Batch:
        stop = min(start + BATCH_ROWS, rows)
        return {name: part(start, stop) for name, (_, part) in columns.items()}

    dtypes = {name: dtype for name, (dtype, _) in columns.items()}
    return Columns(dtypes, rows, lambda: map(batch, range(0, rows, BATCH_ROWS)))


def _traversal(one: Traversal, ids: FileIds) -> Columns:
    if one.component is not None:
        return _table(one.vertex_count, {"vertex": ids.column(), "component": ids.column(one.component)})
    if one.distance is None and one.predecessor is None:
        raise RequestError(
            "the searches were checked on their ranks and kept no labels (output: checks)",
            hint="traverse with another output to export them",
        )
    import numpy

    sources = numpy.asarray(one.sources)

    def search(row: int) -> Columns:
        columns = {
            "source": (ids.dtype, lambda start, stop: ids(numpy.full(stop - start, sources[row]))),
            "vertex": ids.column(),
        }
        if one.distance is not None:
            # Hops are stored in the smallest type; lengths of paths have a type of their own.
            hops = None if one.algorithm == "shortest_paths" else "int32"
            columns["distance"] = _distances(one.distance, row, dtype=hops)
        if one.predecessor is not None:
            columns["predecessor"] = ids.column(one.predecessor, row)
        return _table(one.vertex_count, columns)

    def batches() -> Iterator[Batch]:
        for row in range(len(sources)):
            yield from search(row).batches()

    return Columns(search(0).dtypes, len(sources) * one.vertex_count, batches)


def _edges(one: EdgeList, ids: FileIds) -> Columns:
    columns = {"source": ids.column(one.source), "target": ids.column(one.target)}
    if one.weight is not None:
        columns["weight"] = _numbers(one.weight, dtype="float64")
    return _table(len(one.source), columns)


def _arcs(one: Graph, ids: FileIds) -> Columns:
    import numpy

    offsets = numpy.asarray(one.row_offsets)

    def sources(start: int, stop: int) -> Any:
        return ids(numpy.searchsorted(offsets, numpy.arange(start, stop), side="right") - 1)

    columns = {"source": (ids.dtype, sources), "target": ids.column(one.column_indices)}
    if one.weights is not None:
        columns["weight"] = _numbers(one.weights)
    return _table(one.arc_count, columns)


def _positions(one: Ordering, ids: FileIds) -> Columns:
    position = _numbers(one.permutation, dtype="int64")
    return _table(one.vertex_count, {"vertex": ids.column(), "position": position})


def _measurement(one: Measurement, ids: FileIds) -> Columns:
    import numpy

    sources = [-1 if search["source"] is None else search["source"] for search in one.searches]
    columns = {"source": ids.column(numpy.array(sources, numpy.int64))}
    for name in ("milliseconds", "map_back_milliseconds", "reached", "arcs", "edges", "depth"):
        dtype = "float64" if name.endswith("milliseconds") else "int64"
        columns[name] = _numbers(numpy.array([search[name] for search in one.searches], dtype))
    return _table(len(one.searches), columns)


def _centrality(one: Centrality, ids: FileIds) -> Columns:
    ends = {"vertex": one.vertex} if one.target is None else {"source": one.vertex, "target": one.target}
    columns = {name: ids.column(end) for name, end in ends.items()}
    columns[one.measure] = _numbers(one.value)
    if one.error is not None:
        columns["error"] = _numbers(one.error)
    return _table(len(one.value), columns)


def _paths(one: Paths, ids: FileIds) -> Columns:
    """One row for each vertex on a path; a pair without one has a row that names its source."""
    import numpy

    sources, targets, distance = (numpy.asarray(each) for each in (one.source, one.target, one.distance))
    steps = {}
    if one.offsets is not None and one.vertex is not None:
        offsets, vertex = numpy.asarray(one.offsets), numpy.asarray(one.vertex)
        # Where a path has no vertices, its source stands for them.
        rows = numpy.maximum(numpy.diff(offsets), 1)
        pair = numpy.repeat(numpy.arange(len(rows)), rows)
        step = numpy.arange(len(pair)) - (numpy.cumsum(rows) - rows)[pair]
        place = numpy.minimum(offsets[pair] + step, max(0, len(vertex) - 1))
        there = numpy.diff(offsets)[pair] > 0
        sources, targets, distance = sources[pair], targets[pair], distance[pair]
        on_path = numpy.where(there, vertex[place] if len(vertex) else 0, sources)
        steps = {"step": _numbers(step), "vertex": ids.column(on_path)}
    pairs = {"source": ids.column(sources), "target": ids.column(targets), "distance": _distances(distance)}
    return _table(len(sources), {**pairs, **steps})


def _vertex_ids(one: VertexIds, ids: FileIds) -> Columns:
    return _table(one.vertex_count, {"vertex": ids.column()})


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


def joined(parts: Sequence[tuple[Mapping[str, str], Columns]]) -> Columns:
    """Put tables one below the other, each with columns of texts before its own that say which it is.

    Raises RequestError for tables whose columns differ.
    """
    (axes, first), *others = parts
    dtypes = dict(first.dtypes)
    for name in axes:
        if name in dtypes:
            raise _apart(f"a result has a column of the axis's name, {name!r}", name)
    for where, each in others:
        if each.dtypes.keys() != dtypes.keys():
            raise _apart(f"their columns differ ({', '.join(dtypes)}; {', '.join(each.dtypes)})", *where)
        for name, dtype in each.dtypes.items():
            if (dtype == TEXT) != (dtypes[name] == TEXT):
                raise _apart(f"the ids of some are texts, and those of others numbers ({name})", *where)
            if dtype != dtypes[name]:
                import numpy

                dtypes[name] = str(numpy.result_type(dtype, dtypes[name]))

    def batches() -> Iterator[Batch]:
        import pyarrow

        for where, each in parts:
            for batch in each.batches():
                rows = len(next(iter(batch.values())))
                texts = {
                    name: pyarrow.repeat(pyarrow.scalar(text, pyarrow.large_string()), rows)
                    for name, text in where.items()
                }
                numbers = {
                    name: column if dtypes[name] == each.dtypes[name] else column.astype(dtypes[name])
                    for name, column in batch.items()
                }
                yield {**texts, **numbers}

    longest = max(len(text) for where, _ in parts for text in ("", *where.values()))
    return Columns(
        {**dict.fromkeys(axes, TEXT), **dtypes},
        sum(each.rows for _, each in parts),
        batches,
        max(longest, *(each.longest for _, each in parts)),
    )


def _apart(problem: str, *axes: str) -> RequestError:
    shown = ".".join(f"{{{axis}}}" for axis in axes)
    return RequestError(
        f"these results are no one table: {problem}",
        hint=f"write a file for each: put {shown} into the name" if shown else None,
    )
