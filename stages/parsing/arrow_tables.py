"""Edges in tables of Arrow's types: which columns they are, and the chunks of their batches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

from gravel.stages.edge_columns import Columns, ColumnsError, EdgeColumns, find_columns, shown
from gravel.stages.errors import StageError
from gravel.stages.parsing.column_values import (
    check_ids,
    check_weights,
    check_whole,
    is_text_like,
    text_chunk,
)
from gravel.stages.readers import Chunk, Header, Reading
from gravel.stages.urls import file_name

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Table(Protocol):
    """A file that holds one table."""

    schema: Any

    def batches(self, columns: list[str], rows: int, expression: Any = None) -> Iterator[Any]:
        """Yield batches of columns, perhaps without rows that an expression leaves out."""
        ...

    def row_bytes(self, columns: list[str]) -> int:
        """Return what these columns of a row take on average."""
        ...


def read_table(reading: Reading, table: Table, title: str) -> tuple[Header, Iterator[Any]]:
    """Return what a table says of its edges, and their chunks; raises StageError for what is wrong."""
    location, constants, made = reading.stream.location, reading.constants, reading.filter
    expression = None
    with readable(location, title):  # A name may not be UTF-8.
        labels = [*table.schema.names, *constants]
    try:
        found = find(table.schema, reading.columns, reading.weights, constants)
    except ColumnsError as error:
        raise StageError(f"{error}{_first_row(table)}", hint=error.hint, file=location) from None
    try:
        texts = has_text_ids(table.schema, found, reading.ids, constants)
        if made is not None:
            expression = made.expression(table.schema, constants)
    except ValueError as error:
        raise StageError(str(error), hint=getattr(error, "hint", None), file=location) from None
    reading.note(f"read {file_name(location)} as: {title}; {found}")
    names = [str(labels[place]) for place in (found.source, found.target, found.weight) if place >= 0]
    wanted = [name for name in names if name not in constants] or table.schema.names[:1]
    if made is not None:
        filtered = {str(labels[place]) for place in made.places(labels).values()}
        wanted += sorted(filtered - {*wanted, *constants})
    size = max(1024, reading.block_bytes // 16)
    if texts:
        reading.log("ids are texts")
        size = max(256, reading.block_bytes // (64 + table.row_bytes(wanted)))

    def chunks() -> Iterator[Any]:
        rows = 0
        for batch in table.batches(wanted, size, expression):
            kept = None if made is None else made.kept(batch, constants, typed=True)
            columns = [_column(batch, name, constants, texts, kept) for name in names]
            if not len(columns[0]):
                continue
            weight = _weights(columns[2], names[2], rows, location) if len(names) > 2 else None
            if texts:
                yield text_chunk(columns[0], columns[1], weight, rows, location, (names[0], names[1]))
            else:
                source, target = (_ids(columns[end], names[end], rows, location) for end in (0, 1))
                yield Chunk(source, target, weight)
            rows += len(columns[0])
        if not rows and reading.alone:
            what = "the table has no rows" if made is None else f"the filter {made} leaves no row"
            hint = None if made is None else "correct or remove `filter`"
            raise StageError(f"{what}: no edge was found", hint=hint, file=location)

    return Header(weighted=len(names) > 2, texts=texts, ends_unordered=found.interchangeable), chunks()


def find(schema: Any, asked: Columns, weights: bool, constants: Mapping[str, str]) -> EdgeColumns:
    """Return the columns of a table's edges; raises ColumnsError."""
    for label in asked:
        if isinstance(label, int):
            raise ColumnsError(
                f"column {label} is asked for, and the columns of a table are named: "
                + ", ".join(map(shown, schema.names[:20])),
                "positions are for text files; give a name",
            )
    return find_columns([*schema.names, *constants], asked, weights=weights, extra=len(constants))


def has_text_ids(schema: Any, found: EdgeColumns, ids: str, constants: Mapping[str, str]) -> bool:
    """Return whether the ids of a table's edges are texts; raises ColumnsError for columns of other types."""
    from pyarrow import types

    def column(place: int) -> tuple[str, Any, bool]:
        name = str(found.labels[place])
        if name in constants:
            return name, "a text", constants[name].isdecimal()
        kind = schema.field(name).type
        kind = kind.value_type if types.is_dictionary(kind) or types.is_run_end_encoded(kind) else kind
        return name, kind, types.is_integer(kind)

    ends = [column(found.source), column(found.target)]
    as_text = [ids != "integer" and (name in constants or is_text_like(kind)) for name, kind, _ in ends]
    texts = ids == "text" or (all(as_text) and not all(whole for *_, whole in ends))
    for (name, kind, whole), text in zip(ends, as_text, strict=True):
        if not whole and not (texts and text):
            raise ColumnsError(
                f"column {shown(name)} holds {kind}; expected whole numbers" + " or texts" * texts,
                "if ids are texts, set `ids: text`" if text else "convert the column, or name another one",
            )
    if found.weight >= 0:
        name, kind, whole = column(found.weight)
        if not whole and (name in constants or not (types.is_floating(kind) or types.is_decimal(kind))):
            raise ColumnsError(
                f"column {shown(name)} holds {kind}; expected numbers",
                "`weights: false` reads the edges alone",
            )
    return texts


@contextmanager
def readable(location: str, title: str) -> Iterator[None]:
    """Say of whatever pyarrow raises within it that the file cannot be read."""
    import pyarrow

    try:
        yield
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        text = str(error).split("\n")[0] or type(error).__name__
        raise StageError(
            f"this {title} file cannot be read: {text}",
            hint=f"it is truncated or damaged, or not {title}: write it again, or give its `format`",
            file=location,
        ) from None


def _first_row(table: Table) -> str:
    batch = next(table.batches(table.schema.names, 1), None)
    if batch is None or not batch.num_rows:
        return ""
    values = [column[0].as_py() for column in batch.columns[:20]]
    return f"; the first row is {', '.join(shown(str(value)) for value in values)}"


def _column(batch: Any, name: str, constants: Mapping[str, str], texts: bool, kept: Any) -> Any:
    """Return a column of a batch, or of those of its rows that are kept."""
    import pyarrow

    from gravel.stages.filters.conditions import decoded

    if name in constants:
        column = pyarrow.repeat(constants[name] if texts else int(constants[name]), batch.num_rows)
    else:
        column = batch.column(name)
    return decoded(column) if kept is None else decoded(column).filter(kept)


def _numbers(column: Any, name: str, row: int, location: str) -> NDArray[Any]:
    check_whole(column, name, row, location)
    values: NDArray[Any] = column.to_numpy(zero_copy_only=False)
    return values


def _ids(column: Any, name: str, row: int, location: str) -> NDArray[Any]:
    values = _numbers(column, name, row, location)
    check_ids(values, name, row, location)
    return values.astype("int64", copy=False)


def _weights(column: Any, name: str, row: int, location: str) -> NDArray[Any]:
    values = _numbers(column, name, row, location).astype("float64", copy=False)
    check_weights(values, row, location)
    return values
