"""Tables as edges: pandas, Polars, DuckDB, cuDF, PyArrow, and all else that exports an Arrow stream."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gravel.conversion.converted import Edges

if TYPE_CHECKING:
    from gravel.stages.sizes import Machine

PAIRS = (("source", "target"), ("src", "dst"), ("from", "to"), ("sources", "targets"), ("u", "v"))
"""Names of the columns of an edge list that need not be given."""


def is_table(data: Any) -> bool:
    """Say whether data exports an Arrow stream or table."""
    return hasattr(data, "__arrow_c_stream__")


def from_table(data: Any, sources: str | None, targets: str | None, machine: Machine | None = None) -> Edges:
    """Return the edges of a table.

    Raises TypeError and ValueError for columns that are no ids, KeyError for a column that is not there, and
    ValueError for a stream that fails midway.
    """
    from gravel.conversion.columns import numbered

    if type(data).__module__.split(".")[0] == "pandas":
        names = chosen(list(data.columns), sources, targets)
        columns = [_pandas_column(data, name) for name in names]
    elif type(data).__module__.split(".")[0] == "cudf" and (found := _cudf(data, sources, targets)):
        return found
    else:
        names, columns = _streamed(data, sources, targets)
    return numbered(columns[0], columns[1], names=(str(names[0]), str(names[1])), machine=machine)


def from_weighted_table(
    data: Any, sources: str | None, targets: str | None, weights: Any, machine: Machine | None = None
) -> tuple[Edges, Any]:
    """Return the edges of a table, and their weights: a column by its name, "weight" for True, or an array.

    Raises as `from_table` does, and TypeError for a column that holds no numbers.
    """
    import pyarrow

    if weights is not True and not isinstance(weights, str):
        return from_table(data, sources, targets, machine), weights
    name = "weight" if weights is True else weights
    if type(data).__module__.split(".")[0] == "pandas":
        _demand(list(data.columns), name)
        column, rest = pyarrow.array(data[name], from_pandas=True), data.drop(columns=[name])
    else:
        table = data.to_arrow() if hasattr(data, "to_arrow") else pyarrow.table(data)
        _demand(table.column_names, name)
        column, rest = table[name].combine_chunks(), table.drop_columns([name])
    try:
        values = column.to_numpy(zero_copy_only=False)
    except (pyarrow.ArrowInvalid, TypeError) as error:
        raise TypeError(f"column {name!r} holds no weights: {error}") from None
    return from_table(rest, sources, targets, machine), values


def _demand(columns: Sequence[Any], name: Any) -> None:
    if name not in columns:
        raise KeyError(f"the table has no column {name!r}; it has {_listed(columns)}")


def chosen(columns: Sequence[Any], sources: Any, targets: Any) -> tuple[Any, Any]:
    """Return the names of the two columns of ends."""
    if (sources is None) != (targets is None):
        raise TypeError("give both `sources` and `targets`, or neither")
    lower = {str(name).lower(): name for name in columns}
    if sources is None:
        for pair in PAIRS:
            if pair[0] in lower and pair[1] in lower:
                sources, targets = lower[pair[0]], lower[pair[1]]
                break
        else:
            if len(columns) != 2:
                raise ValueError(
                    f"which columns are the edges? The table has {_listed(columns)}; name two of them: "
                    "gravel.graph(table, sources=..., targets=...)"
                )
            sources, targets = columns
    for name in dict.fromkeys((sources, targets)):
        found = list(columns).count(name)
        if not found:
            raise KeyError(f"the table has no column {name!r}; it has {_listed(columns)}")
        if found > 1:
            raise ValueError(
                f"the table has {found} columns {name!r}; rename them, so that it is clear which one is meant"
            )
    if sources == targets:
        raise ValueError(f"column {sources!r} cannot be both ends of the edges")
    return sources, targets


def _listed(columns: Sequence[Any]) -> str:
    shown = ", ".join(repr(name) for name in list(columns)[:12])
    return shown + (f" and {len(columns) - 12} more" if len(columns) > 12 else "") if columns else "none"


def _pandas_column(data: Any, name: Any) -> Any:
    """Take a pandas column; integers are not copied."""
    import pyarrow

    column = data[name]
    if column.dtype == object:
        refuse_mixed(column, name)
    try:
        return exact(column, pyarrow.array(column, from_pandas=True), name)
    except (pyarrow.ArrowInvalid, pyarrow.ArrowTypeError, TypeError) as error:
        raise TypeError(f"column {name!r} holds no vertex ids: {error}") from None


def exact(values: Any, column: Any, name: Any) -> Any:
    """Return what Arrow made of Python's objects, exactly; raises TypeError for moments that are no ids."""
    from gravel.stages.texts.moments import exact_column

    if not isinstance(values, list | tuple) and getattr(getattr(values, "dtype", None), "kind", "") != "O":
        return column
    try:
        return exact_column(values, column)
    except ValueError as error:
        raise TypeError(f"column {name!r} {error}") from None


def _cudf(data: Any, sources: str | None, targets: str | None) -> Edges | None:
    """Return the edges of a cuDF table on the GPU where its ids are integers, else None."""
    from gravel.conversion.cupy import from_device

    columns = [data[name] for name in chosen(list(data.columns), sources, targets)]
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


def _streamed(data: Any, sources: str | None, targets: str | None) -> tuple[tuple[Any, Any], list[Any]]:
    """Read the two columns batch by batch and drop the others as they come."""
    import pyarrow

    reader = pyarrow.RecordBatchReader.from_stream(data)
    names = chosen(reader.schema.names, sources, targets)
    places = [reader.schema.names.index(name) for name in names]
    chunks: list[list[Any]] = [[], []]
    rows = 0
    try:
        for batch in reader:
            for kept, place in zip(chunks, places, strict=True):
                kept.append(batch.column(place))
            rows += batch.num_rows
    except Exception as error:
        raise ValueError(f"the Arrow stream failed after {rows:,} rows: {error}") from error
    types = [reader.schema.field(place).type for place in places]
    return names, [pyarrow.chunked_array(kept, kind) for kept, kind in zip(chunks, types, strict=True)]
