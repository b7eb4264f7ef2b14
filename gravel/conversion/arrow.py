"""Tables as edges: pandas, Polars, DuckDB, cuDF, PyArrow, and whatever else exports an Arrow stream."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from numbers import Integral
from typing import TYPE_CHECKING, Any, NamedTuple

from gravel.conversion.converted import Edges
from gravel.stages.edge_columns import Columns, ColumnsError, EdgeColumns, find_columns, shown

if TYPE_CHECKING:
    from gravel.stages.filters import Filter
    from gravel.stages.sizes import Machine


class Table(NamedTuple):
    """Edges, their weights or None, and a mask of the rows that a filter keeps, or None."""

    edges: Edges
    weights: Any = None
    kept: Any = None


def as_label(asked: Any, data: Any = None) -> Any:
    """Return the label of a column; None for what names no column: an array, True or None."""
    if isinstance(asked, Integral):
        return None if asked is True else int(asked)
    is_label = isinstance(asked, str) or (
        isinstance(asked, tuple) and asked in list(getattr(data, "columns", ()))
    )
    return asked if is_label else None


def end_of(asked: Mapping[str, Any], name: str, data: Any = None) -> Any:
    """Return the label of the source or target, None if not asked for; raises TypeError for no label."""
    label = as_label(asked.get(name), data)
    if label is None and name in asked:
        raise TypeError(f"{name}= is {asked[name]!r:.60}, which names no column: give its label")
    return label


def from_table(
    data: Any,
    asked: Columns,
    *,
    weights: bool,
    directed: bool,
    rows: Filter | None = None,
    machine: Machine | None = None,
) -> Table:
    """Return the edges in the rows of a table, or in those that a filter keeps.

    Raises TypeError and ValueError for columns that are not clear or hold no ids or weights, KeyError for a
    column that is not there, and ValueError for a stream that fails midway.
    """
    import pyarrow

    from gravel.conversion.columns import numbered
    from gravel.stages.filters.conditions import decoded

    library = type(data).__module__.split(".")[0]
    if library == "cudf" and rows is None and not weights and (there := _cudf(data, asked, directed)):
        return Table(there)
    stream = None if library == "pandas" else _stream(data)
    labels = list(data.columns if stream is None else stream.schema.names)

    def first_row() -> Sequence[Any]:
        if stream is None:
            return [data.iat[0, place] for place in range(len(labels))] if len(data) else ()
        return next(([column[0] for column in batch.columns] for batch in stream if batch.num_rows), ())

    found = _found(labels, asked, weights, directed, first_row)
    places = [place for place in (found.source, found.target, found.weight) if place >= 0]
    try:
        filtered = {} if rows is None else rows.places(labels)
    except ColumnsError as error:
        raise _of_columns(error) from None
    batches = _batches(stream) if stream else [_pandas_columns(data, {*places, *filtered.values()})]
    chunks: list[list[Any]] = [[] for _ in places]
    masks = []
    for columns in batches:
        mask = None
        if rows is not None:
            mask = rows.kept(
                pyarrow.table({name: columns[place] for name, place in filtered.items()}), typed=True
            )
            masks.append(mask)
        for each, place in zip(chunks, places, strict=True):
            each.append(columns[place] if mask is None else decoded(columns[place]).filter(mask))
    whole = [_whole(each) for each in chunks]
    names = [str(labels[place]) for place in places]
    kept = None if rows is None else pyarrow.chunked_array(masks, pyarrow.bool_()).to_numpy()
    if kept is not None and not kept.any():
        raise ValueError(f"the filter {rows} leaves no row of {len(kept):,}, so there is no edge")
    edges = numbered(whole[0], whole[1], names=(names[0], names[1]), machine=machine)
    return Table(edges, _numbers(whole[2], names[2]) if len(whole) > 2 else None, kept)


def _found(
    labels: Sequence[Hashable],
    asked: Columns,
    weights: bool,
    directed: bool,
    first_row: Callable[[], Sequence[Any]],
) -> EdgeColumns:
    """Find the columns of the edges, among them a weight if it is asked for."""
    try:
        found = find_columns(labels, asked, weights=weights)
    except ColumnsError as error:
        row = ", ".join(shown(str(value)) for value in list(first_row())[:20])
        raise _of_columns(error, f"; the first row is {row}" if row else "") from None
    if weights and found.weight < 0:
        names = ", ".join(map(shown, labels[:20]))
        raise KeyError(f"no column is known as the weight; name it by weights=NAME; the columns are {names}")
    if directed and found.interchangeable:
        raise ValueError(
            "the columns tail and head do not say which of them is the source: give source= and target="
        )
    return found


def _of_columns(error: ColumnsError, row: str = "") -> Exception:
    """Return the exception for a column that does not exist or is ambiguous."""
    if "there is no column" in str(error):
        return KeyError(str(error))
    return ValueError(f"{error}{row}. {error.hint}")


def _stream(data: Any) -> Any:
    import pyarrow

    try:
        return pyarrow.RecordBatchReader.from_stream(data)
    except pyarrow.ArrowException as error:
        raise TypeError(
            f"a column of the table has no type of Arrow ({error}): cast it, or leave it out"
        ) from None


def _batches(stream: Any) -> Iterator[Sequence[Any]]:
    """Yield the columns of each batch."""
    rows = 0
    try:
        for batch in stream:
            yield batch.columns
            rows += batch.num_rows
    except Exception as error:
        raise ValueError(f"the Arrow stream failed after {rows:,} rows: {error}") from error


def _pandas_columns(data: Any, places: set[int]) -> dict[int, Any]:
    """Take columns of pandas; integers are not copied."""
    import pyarrow

    found = {}
    for place in places:
        column, name = data.iloc[:, place], data.columns[place]
        if column.dtype == object:
            refuse_mixed(column, name)
        try:
            found[place] = exact(column, pyarrow.array(column, from_pandas=True), name)
        except (pyarrow.ArrowException, TypeError, ValueError) as error:
            raise TypeError(f"column {name!r} cannot be read: {error}") from None
    return found


def _whole(chunks: list[Any]) -> Any:
    """Join the chunks of all batches into one column."""
    import pyarrow

    arrays = [part for each in chunks for part in (each.chunks if hasattr(each, "chunks") else [each])]
    return pyarrow.chunked_array(arrays or [pyarrow.nulls(0, pyarrow.int64())])


def _numbers(column: Any, name: str) -> Any:
    """Return a column of weights as an array of NumPy; raises TypeError for other types than numbers."""
    from pyarrow import float64, types

    if types.is_decimal(column.type):
        column = column.cast(float64())
    if not (types.is_integer(column.type) or types.is_floating(column.type)):
        raise TypeError(f"column {name!r} holds {column.type}, which is no weight of an edge; numbers are")
    return column.to_numpy()


def exact(values: Any, column: Any, name: Any) -> Any:
    """Return an Arrow column of Python objects, unrounded; raises TypeError for moments that are no ids."""
    from gravel.stages.texts.moments import exact_column

    if not isinstance(values, list | tuple) and getattr(getattr(values, "dtype", None), "kind", "") != "O":
        return column
    try:
        return exact_column(values, column)
    except ValueError as error:
        raise TypeError(f"column {name!r} {error}") from None


def _cudf(data: Any, asked: Columns, directed: bool) -> Edges | None:
    """Return the edges of a cuDF table on the GPU where its ids are integers, else None."""
    from gravel.conversion.cupy import from_device

    found = _found(list(data.columns), asked, False, directed, tuple)
    columns = [data[found.labels[place]] for place in (found.source, found.target)]
    if any(column.dtype.kind not in "iu" or column.hasnans for column in columns):
        return None
    return from_device(*(column.values for column in columns))


def refuse_mixed(values: Any, name: Any) -> None:
    """Raise TypeError for Python objects of several types, some of which Arrow would convert silently.

    None and NaN are left to those who refuse missing ids.
    """
    if len(set(map(type, values))) < 2:
        return
    first: dict[str, int] = {}
    for row, value in enumerate(values):
        if value is not None and value == value:
            first.setdefault(_family(value), row)
        if len(first) > 1:
            (one, earlier), (other, later) = first.items()
            raise TypeError(
                f"column {name!r} mixes types: row {earlier} is of type {one}, row {later} of type {other}. "
                "Convert it to one type: would 1, 1.0 and '1' be the same vertex?"
            )


def _family(value: Any) -> str:
    """Name a value's type; integers and texts of NumPy count as Python's."""
    import numbers

    if isinstance(value, bool):
        return "bool"
    if isinstance(value, numbers.Integral):
        return "int"
    if isinstance(value, str):
        return "str"
    return type(value).__name__
