"""Arrow IPC: files (Feather is another name for them) and streams, with columns as Parquet has them.

The columns that are read of one batch are in memory at a time.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gravel.stages.parsing.arrow_tables import read_table, readable
from gravel.stages.parsing.head import Head
from gravel.stages.readers import Chunk, Counts, Header, Reader, Reading

MAGIC, CONTINUATION = b"ARROW1", b"\xff\xff\xff\xff"
"""How files and streams begin."""

LEAST_BYTES = 4
"""Of an edge in a stream, which does not count its rows."""


def _fits(head: Head) -> bool:
    return head.data.startswith((MAGIC, CONTINUATION))


class IpcTable:
    """A file or stream of Arrow IPC, which is read by its batches."""

    def __init__(self, path: Path, location: str) -> None:
        self._path, self._location = path, location
        with readable(location, "Arrow IPC"):
            self.schema = _opened(path).schema

    def batches(self, columns: list[str], rows: int, expression: Any = None) -> Iterator[Any]:
        """Yield slices of the batches with these columns; an expression leaves out none."""
        with readable(self._location, "Arrow IPC"):
            reader = _opened(self._path, sorted(map(self.schema.names.index, columns)))
            count = getattr(reader, "num_record_batches", None)
            for batch in reader if count is None else map(reader.get_batch, range(count)):
                batch.validate(full=True)  # Arrow itself would follow a damaged offset.
                yield from (batch.slice(start, rows) for start in range(0, batch.num_rows, rows))

    def row_bytes(self, columns: list[str]) -> int:
        """Return what columns of a row take on average in the first batch."""
        batch = next(self.batches(columns, 1 << 16), None)
        return batch.nbytes // batch.num_rows if batch is not None else 0


def _opened(path: Path, fields: list[int] | None = None) -> Any:
    from os import fsencode

    from pyarrow import OSFile, ipc

    # Not mapped: a file that another program cuts off would end this process.
    source = OSFile(fsencode(path))
    stream = source.read(len(MAGIC)) != MAGIC
    source.seek(0)
    options = ipc.IpcReadOptions(included_fields=fields or [], use_threads=False)
    return (ipc.open_stream if stream else ipc.open_file)(source, options=options)


def _read(reading: Reading) -> tuple[Header, Iterator[Chunk]]:
    path = reading.stream.as_local_file(reading.scratch)
    return read_table(reading, IpcTable(path, reading.stream.location), "Arrow IPC")


def schema_of(path: Path) -> Any:
    """Return the schema of a local file; raises what pyarrow does."""
    return _opened(path).schema


def _counts(head: Head, location: str) -> Counts | None:
    from gravel.stages.streams.opening import is_url, local_path

    if is_url(location):
        return None
    path = local_path(location)
    try:
        if not head.data.startswith(MAGIC):
            return Counts(None, path.stat().st_size // LEAST_BYTES)
        reader = _opened(path, [0])
        batches = reader.num_record_batches
        # Batches have as many rows as the first one, or fewer.
        return Counts(None, batches * reader.get_batch(0).num_rows if batches else 0)
    except Exception:  # the run itself says what is wrong with the file
        return None


READER = Reader(
    name="arrow",
    title="Arrow IPC",
    rank=30,
    suffixes=(".feather", ".arrow", ".ipc"),
    fits=_fits,
    read=_read,
    counts=_counts,
    binary=True,
    aliases=("feather", "ipc"),
    takes=("columns", "filter", "ids"),
)
