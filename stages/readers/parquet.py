"""Parquet: the columns of edges are found by their names (`gravel.stages.edge_columns`) or asked for.

Ids are whole numbers, or what is read as texts: strings, binary in UTF-8, UUIDs, dates and times. Row groups
that statistics say a filter leaves out are not read.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gravel.stages.parsing.arrow_tables import read_table, readable
from gravel.stages.parsing.head import Head
from gravel.stages.readers import Chunk, Counts, Header, Reader, Reading

MAGIC = b"PAR1"


def _fits(head: Head) -> bool:
    return head.data.startswith(MAGIC)


class ParquetTable:
    """A file of Parquet, which is read by row groups."""

    def __init__(self, path: str | Path, location: str) -> None:
        from pyarrow import parquet

        self._path, self._location = path, location
        with readable(location, "Parquet"):
            self._file = parquet.ParquetFile(opened(path), buffer_size=1 << 20)
            self.schema = self._file.schema_arrow

    def groups(self, expression: Any) -> list[int]:
        """Return the row groups that may have rows for which an expression is true."""
        from pyarrow import ArrowNotImplementedError, dataset

        every = list(range(self._file.metadata.num_row_groups))
        if expression is None:
            return every
        fragment = dataset.ParquetFileFormat().make_fragment(opened(self._path))
        try:
            return [group.id for group in fragment.subset(filter=expression).row_groups]
        except ArrowNotImplementedError:  # Arrow compares no statistics of such a column.
            return every

    def batches(self, columns: list[str], rows: int, expression: Any = None) -> Iterator[Any]:
        """Yield batches of columns, without row groups that an expression leaves out."""
        with readable(self._location, "Parquet"), self._file:
            groups = self.groups(expression)
            yield from self._file.iter_batches(rows, groups, columns, use_threads=False)

    def row_bytes(self, columns: list[str]) -> int:
        """Return what columns of a row take on average, as they are stored before compression."""
        total = 0
        for group in range(self._file.metadata.num_row_groups):
            stored = self._file.metadata.row_group(group)
            for place in range(stored.num_columns):
                if stored.column(place).path_in_schema in columns:
                    total += stored.column(place).total_uncompressed_size
        return int(total // max(1, self._file.metadata.num_rows))


def opened(path: str | Path) -> Any:
    """Open a file whose name need not be UTF-8."""
    import pyarrow

    return pyarrow.OSFile(os.fsencode(path))


def _read(reading: Reading) -> tuple[Header, Iterator[Chunk]]:
    path = reading.stream.as_local_file(reading.scratch)
    return read_table(reading, ParquetTable(path, reading.stream.location), "Parquet")


def schema_of(path: Path) -> Any:
    """Return the schema of a local file; raises what pyarrow does."""
    from pyarrow import parquet

    return parquet.read_schema(opened(path))


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
        metadata = parquet.read_metadata(opened(local_path(location)))
        return Counts(None, int(metadata.num_rows), _largest(metadata))
    except Exception:  # the run itself says what is wrong with the file
        return None


READER = Reader(
    name="parquet",
    title="Parquet",
    rank=20,
    suffixes=(".parquet", ".pq"),
    fits=_fits,
    read=_read,
    counts=_counts,
    binary=True,
    takes=("columns", "filter", "ids"),
)
