"""Parquet, CSV and npz files, written batch by batch beside their name and put in place when whole."""

from __future__ import annotations

import errno
import filecmp
import os
import zipfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path, PurePath
from typing import Any, BinaryIO

from gravel.pipeline.core.errors import GravelError, Location, RequestError
from gravel.pipeline.core.files import as_given
from gravel.pipeline.export.columns import TEXT, Batch, Columns

LONGEST_IN_NPZ = 256
"""Characters of a text: npz has no texts of any length without pickle, so each takes 4 bytes a character of
the longest."""

TEXT_BYTES = 32 << 20
"""Bytes of texts for npz that are in memory at once."""


def _write_parquet(columns: Columns, path: Path) -> None:
    import pyarrow
    from pyarrow.parquet import ParquetWriter

    # The name of the file need not be UTF-8.
    with pyarrow.OSFile(os.fsencode(path), "wb") as sink:
        _write_batches(columns, sink, lambda sink, schema: ParquetWriter(sink, schema, compression="zstd"))


def _write_csv(columns: Columns, path: Path) -> None:
    import pyarrow

    with pyarrow.OSFile(os.fsencode(path), "wb") as sink:
        _write_batches(_as_float32(columns), sink, _csv_writer(columns))


def _as_float32(columns: Columns) -> Columns:
    """Return the columns with distances as float32: sums of float32, whose further digits say nothing."""
    if columns.dtypes.get("distance") != "float64":
        return columns

    def batches() -> Iterator[Batch]:
        for batch in columns.batches():
            yield {**batch, "distance": batch["distance"].astype("float32")}

    return replace(columns, dtypes={**columns.dtypes, "distance": "float32"}, batches=batches)


def _csv_writer(columns: Columns) -> Callable[[Any, Any], Any]:
    from pyarrow.csv import CSVWriter, WriteOptions

    options = WriteOptions(quoting_style="needed" if TEXT in columns.dtypes.values() else "none")
    return lambda sink, schema: CSVWriter(sink, schema, write_options=options)


def _write_batches(columns: Columns, sink: Any, open_writer: Callable[[Any, Any], Any]) -> None:
    import pyarrow

    schema = pyarrow.schema(
        [
            (name, pyarrow.large_string() if dtype == TEXT else pyarrow.from_numpy_dtype(dtype))
            for name, dtype in columns.dtypes.items()
        ]
    )
    with open_writer(sink, schema) as writer:
        for batch in columns.batches():
            # Arrow reads NumPy's masks as nulls.
            arrays = [
                each if isinstance(each, pyarrow.Array) else pyarrow.array(each) for each in batch.values()
            ]
            writer.write_batch(pyarrow.record_batch(arrays, schema=schema))


def _write_npz(columns: Columns, path: Path) -> None:
    import numpy

    if columns.longest > LONGEST_IN_NPZ:
        raise RequestError(
            f"an id has {columns.longest:,} characters, and npz has as many for every one; "
            f"at most {LONGEST_IN_NPZ} are written",
            hint="export to .parquet or .csv",
        )
    # One pass over the batches per column keeps memory bounded: a zip member is written from end to end.
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, dtype in columns.dtypes.items():
            plain = numpy.dtype(f"<U{max(1, columns.longest)}" if dtype == TEXT else dtype)
            header = {"descr": plain.str, "fortran_order": False, "shape": (columns.rows,)}
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                numpy.lib.format.write_array_header_1_0(member, header)
                for batch in columns.batches():
                    for part in _plain_parts(batch[name], plain):
                        member.write(part.tobytes())


def _plain_parts(column: Any, dtype: Any) -> Iterator[Any]:
    """Yield a column as arrays of NumPy; texts some at a time, since each takes as much as the longest."""
    import numpy

    if dtype.kind != "U":
        yield numpy.ascontiguousarray(numpy.ma.getdata(column), dtype)
        return
    step = max(1, TEXT_BYTES // dtype.itemsize)
    for first in range(0, len(column), step):
        # A text that is none, as a predecessor, is empty.
        yield numpy.array([text or "" for text in column[first : first + step].to_pylist()], dtype)


FORMATS: dict[str, Callable[[Columns, Path], None]] = {
    ".parquet": _write_parquet,
    ".csv": _write_csv,
    ".npz": _write_npz,
}


def check_format(name: str, place: Location | None = None) -> None:
    """Raise RequestError when a name has no known ending."""
    if PurePath(name).suffix not in FORMATS:
        hint = f"end the name in {', '.join(FORMATS)}"
        raise RequestError(f"cannot tell the format of {name!r}", hint=hint, location=place)


def check_place(path: Path) -> None:
    """Raise RequestError where no file can be written: a folder is there, or none around it."""
    if not path.parent.is_dir():
        raise RequestError(f"the folder {str(path.parent)!r} does not exist", hint="create it first")
    if path.is_dir():
        raise RequestError(f"{str(path)!r} is a folder", hint="name a file in it")


def write_file(columns: Columns, path: Path) -> bool:
    """Write a table in the format that the file's name ends in; says whether the file is another one now.

    Folders are made. The name appears only when the file is whole, and a file that has these bytes already
    stays untouched. Raises RequestError for an unknown ending and a folder in the place of the file, and
    GravelError when the disk refuses.
    """
    check_format(path.name)
    unfinished = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        check_place(path)
        FORMATS[path.suffix](columns, unfinished)
        if path.is_file() and filecmp.cmp(unfinished, path, shallow=False):
            return False
        as_given(unfinished)
        unfinished.replace(path)
    except OSError as error:
        reason = "the disk is full" if error.errno == errno.ENOSPC else (error.strerror or str(error))
        raise GravelError(f"could not write {str(path)!r}: {reason}") from error
    finally:
        with suppress(OSError):
            unfinished.unlink(missing_ok=True)
    return True


def write_csv_to(columns: Columns, stream: BinaryIO) -> None:
    """Write a table as CSV to an open stream, such as standard output."""
    _write_batches(_as_float32(columns), stream, _csv_writer(columns))
