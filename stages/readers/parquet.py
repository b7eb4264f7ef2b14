"""Parquet tables: columns `source`, `target`, perhaps `weight`; else the first two of whole numbers.

Ids are whole numbers, or what is read as texts: strings, binary in UTF-8, UUIDs, dates and times. If no
columns are called so and fewer than two hold whole numbers, the first two that hold texts are the ends.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gravel.stages.errors import StageError
from gravel.stages.parsing.array_checks import check_ids, check_weights
from gravel.stages.parsing.arrow_texts import is_text_like, text_chunk
from gravel.stages.parsing.head import Head
from gravel.stages.readers import Chunk, Counts, Header, Reader, Reading

if TYPE_CHECKING:
    from numpy.typing import NDArray

MAGIC = b"PAR1"


def _fits(head: Head) -> bool:
    return head.data.startswith(MAGIC)


def _read(reading: Reading) -> tuple[Header, Iterator[Chunk]]:
    import pyarrow
    from pyarrow import parquet

    location = reading.stream.location
    path = reading.stream.as_local_file(reading.scratch)
    try:
        file = parquet.ParquetFile(_opened(path), buffer_size=1 << 20)
        schema = file.schema_arrow
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        raise _damaged(location, error) from None
    source, target, weight, texts = _columns(schema, location, reading.ids)
    weighted = weight is not None and reading.weights
    wanted = [source, target, *([weight] if weight is not None and weighted else [])]

    size = max(1024, reading.block_bytes // 16)
    if texts:
        reading.log("ids are texts")
        size = max(256, reading.block_bytes // (64 + _mean_bytes(file, wanted)))

    def chunks() -> Iterator[Any]:
        row = 0
        try:
            with file:
                for batch in file.iter_batches(batch_size=size, columns=wanted, use_threads=False):
                    if texts:
                        number = _weights(batch.column(weight), row, location) if weighted else None
                        yield text_chunk(
                            batch.column(source),
                            batch.column(target),
                            number,
                            row,
                            location,
                            (source, target),
                        )
                        row += batch.num_rows
                        continue
                    ids = [_ids(batch.column(name), name, row, location) for name in (source, target)]
                    number = _weights(batch.column(weight), row, location) if weighted else None
                    row += batch.num_rows
                    yield Chunk(ids[0], ids[1], number)
        except (pyarrow.ArrowException, OSError, ValueError) as error:
            raise _damaged(location, error) from None
        if not row:
            raise StageError("the table has no rows: no edge was found", file=location)

    return Header(weighted=weighted, texts=texts), chunks()


def _opened(path: Path) -> Any:
    """Open a file whose name need not be UTF-8."""
    import pyarrow

    return pyarrow.OSFile(os.fsencode(path))


def texts_in(location: str, ids: str) -> bool:
    """Whether the ids of a local file are texts; raises what reading its schema does."""
    from pyarrow import parquet

    from gravel.stages.streams.opening import local_path

    return _columns(parquet.read_schema(_opened(local_path(location))), location, ids)[3]


def _columns(schema: Any, location: str, ids: str) -> tuple[str, str, str | None, bool]:
    import pyarrow

    names = {name.lower(): name for name in reversed(schema.names)}
    if len(set(schema.names)) != len(schema.names):
        raise StageError(f"two columns have the same name: {', '.join(schema.names)}", file=location)
    whole = [field.name for field in schema if pyarrow.types.is_integer(field.type)]
    as_text = [field.name for field in schema if is_text_like(field.type)] if ids != "integer" else []
    if "source" in names and "target" in names:
        pair = [names["source"], names["target"]]
        texts = ids == "text" or all(name in as_text for name in pair)
        for name in pair:
            if name not in (whole + as_text if texts else whole):
                raise StageError(
                    f"column {name!r} holds {schema.field(name).type}; expected whole numbers",
                    hint=None if name not in as_text else "if ids are texts, set `ids: text`",
                    file=location,
                )
    else:
        pair = whole[:2] if ids != "text" else [name for name in schema.names if name in whole + as_text][:2]
        texts = ids == "text"
        if len(pair) < 2 and len(as_text) > 1:
            pair, texts = as_text[:2], True
    if len(pair) < 2:
        held = ", ".join(f"{field.name} ({field.type})" for field in schema) or "none"
        raise StageError(
            f"found the columns {held}; expected source and target, or two columns of whole numbers",
            hint="rename or convert the columns",
            file=location,
        )
    weight = names.get("weight")
    if weight is not None:
        kind = schema.field(weight).type
        if not (pyarrow.types.is_integer(kind) or pyarrow.types.is_floating(kind)):
            raise StageError(
                f"column {weight!r} holds {kind}; expected numbers",
                hint="`weights: false` reads the edges alone",
                file=location,
            )
    return pair[0], pair[1], weight if weight not in pair else None, texts


def _mean_bytes(file: Any, columns: list[str]) -> int:
    """Return the bytes that these columns of a row take on average, as they are stored before compression."""
    total = 0
    for group in range(file.metadata.num_row_groups):
        stored = file.metadata.row_group(group)
        for place in range(stored.num_columns):
            if stored.column(place).path_in_schema in columns:
                total += stored.column(place).total_uncompressed_size
    return int(total // max(1, file.metadata.num_rows))


def _ids(column: Any, name: str, row: int, location: str) -> NDArray[Any]:
    import numpy

    _whole(column, name, row, location)
    values: NDArray[Any] = column.to_numpy(zero_copy_only=False)
    check_ids(values, name, row, location)
    return values.astype(numpy.int64, copy=False)


def _weights(column: Any, row: int, location: str) -> NDArray[Any]:
    import numpy

    _whole(column, "weight", row, location)
    values: NDArray[Any] = column.to_numpy(zero_copy_only=False).astype(numpy.float64, copy=False)
    check_weights(values, row, location)
    return values


def _whole(column: Any, name: str, row: int, location: str) -> None:
    if column.null_count:
        empty = row + column.is_null().index(True).as_py()
        raise StageError(f"row {empty:,} (from 0) has no {name!r}; each edge needs one", file=location)


def _damaged(location: str, error: Exception) -> StageError:
    text = str(error).split("\n")[0] or type(error).__name__
    return StageError(
        f"this Parquet file cannot be read: {text}",
        hint="it is truncated or damaged, or not Parquet: write it again, or name its format with `format`",
        file=location,
    )


def _largest(metadata: Any) -> int | None:
    """Return the largest whole number among the statistics of all columns; None where one has none."""
    found = 0
    for group in map(metadata.row_group, range(metadata.num_row_groups)):
        for column in map(group.column, range(group.num_columns)):
            statistics = column.statistics
            if statistics is None or not statistics.has_min_max:
                return None
            found = max(found, statistics.max if isinstance(statistics.max, int) else 0)
    return found


def _counts(head: Head, location: str) -> Counts | None:
    from gravel.stages.streams.opening import is_url, local_path

    if is_url(location) or not head.data.startswith(MAGIC):
        return None
    from pyarrow import parquet

    try:
        metadata = parquet.read_metadata(_opened(local_path(location)))
        return Counts(None, int(metadata.num_rows), _largest(metadata))
    except Exception:  # the run itself says what is wrong with the file
        return None


READER = Reader(
    name="parquet",
    title="Parquet",
    suffixes=(".parquet", ".pq"),
    fits=_fits,
    read=_read,
    counts=_counts,
)
