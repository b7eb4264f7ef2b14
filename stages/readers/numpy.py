"""NumPy files: `.npy` of shape (edges, 2), or `.npz` with `source`, `target` and perhaps `weight`.

Only plain arrays are read: of whole numbers, or of texts and dates, whose ids are texts. Pickled objects are
never read.
"""

from __future__ import annotations

import lzma
import math
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from gravel.stages.errors import StageError
from gravel.stages.parsing.column_values import check_ids, check_weights, text_chunk
from gravel.stages.parsing.head import Head
from gravel.stages.readers import Chunk, Counts, Header, Reader, Reading, TextChunk

if TYPE_CHECKING:
    from numpy.typing import NDArray

NPY = b"\x93NUMPY"
ZIP = b"PK\x03\x04"
LONGEST_HEADER = 1 << 16

_DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    struct.error,
    OSError,
    EOFError,
    KeyError,
    ValueError,
    RuntimeError,
)
"""What reading a damaged archive raises; NotImplementedError is a RuntimeError."""


def _fits(head: Head) -> bool:
    return head.data.startswith((NPY, ZIP))


@dataclass(frozen=True)
class _Layout:
    shape: tuple[int, ...]
    dtype: Any
    fortran: bool
    begin: int

    @property
    def edges(self) -> int:
        return self.shape[0] if self.shape else 0


class _Block(NamedTuple):
    source: NDArray[Any]
    target: NDArray[Any]
    weight: NDArray[Any] | None = None


def _layout(file: Any, location: str, what: str) -> _Layout:
    """Read an npy header."""
    from numpy.lib import format as npy

    try:
        version = npy.read_magic(file)
        if version not in ((1, 0), (2, 0), (3, 0)):
            raise ValueError(f"its version is {version}")
        # Version 3 differs in the names of records alone.
        read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
        shape, fortran, dtype = read(file, LONGEST_HEADER)
        if dtype.names is not None:
            raise ValueError(f"it holds records, {dtype!s:.60}")
        if min(shape, default=0) < 0 or math.prod(shape) * dtype.itemsize > 1 << 62:
            raise ValueError(f"its shape is {shape!r:.60}")
    except Exception as error:  # a damaged header is parsed as Python
        raise _damaged(location, f"{what}: {_reason(error)}") from None
    return _Layout(shape, dtype, fortran, file.tell())


def _read(reading: Reading) -> tuple[Header, Iterator[Chunk]]:
    path = reading.stream.as_local_file(reading.scratch)
    try:
        archive = zipfile.is_zipfile(path)
    except OSError as error:
        raise _damaged(reading.stream.location, _reason(error)) from None
    return _read_npz(reading, path) if archive else _read_npy(reading, path)


def _read_npy(reading: Reading, path: Path) -> tuple[Header, Iterator[Chunk]]:
    location = reading.stream.location
    with path.open("rb") as file:
        layout = _layout(file, location, "the array")
    if len(layout.shape) != 2 or layout.shape[1] != 2:
        raise StageError(f"found an array of shape {layout.shape}; expected (edges, 2)", file=location)
    _check_ids_type(layout, "the array", location, reading.ids)
    texts = reading.ids == "text" or layout.dtype.kind not in "iu"

    def blocks() -> Iterator[_Block]:
        with path.open("rb") as file:
            for row, rows in _steps(reading, layout.edges, layout.dtype):
                if layout.fortran:
                    columns = []
                    for column in range(2):
                        file.seek(layout.begin + (column * layout.edges + row) * layout.dtype.itemsize)
                        columns.append(_exactly(file, rows, layout.dtype, location))
                    yield _Block(*columns)
                else:
                    file.seek(layout.begin + 2 * row * layout.dtype.itemsize)
                    pairs = _exactly(file, 2 * rows, layout.dtype, location).reshape(-1, 2)
                    yield _Block(pairs[:, 0], pairs[:, 1])

    return Header(texts=texts), _chunks(reading, blocks(), ("column 0", "column 1"), texts=texts)


def check_archive(path: Path) -> None:
    """Raise StageError for a zip archive that is damaged or holds no arrays, reading its directory alone."""
    try:
        with zipfile.ZipFile(path) as archive:
            _arrays(archive, str(path))
    except _DAMAGE as error:
        raise _damaged(str(path), _reason(error)) from None


def _arrays(archive: zipfile.ZipFile, location: str) -> dict[str, str]:
    """Return the member of each array; raises StageError if there is none."""
    members = archive.namelist()
    names = {Path(name).stem: name for name in members if name.endswith(".npy")}
    if not names:
        listed = ", ".join(members[:3]) + (", ..." if members[3:] else "")
        raise StageError(
            f"the file is {f'a zip archive of {listed}' if members else 'empty'}; an archive is read if it "
            "holds NumPy arrays",
            hint="unpack it, and name the file in it that has the edges",
            file=location,
        )
    return names


def _read_npz(reading: Reading, path: Path) -> tuple[Header, Iterator[Chunk]]:
    import numpy

    location = reading.stream.location
    try:
        with zipfile.ZipFile(path) as archive:
            names = _arrays(archive, location)
            if not {"source", "target"} <= names.keys():
                raise StageError(
                    f"found the arrays {', '.join(names)}; expected source and target",
                    hint="write it with numpy.savez(FILE, source=..., target=...)",
                    file=location,
                )
            weighted = "weight" in names and reading.weights
            layouts = {}
            for name in ("source", "target", "weight")[: 2 + weighted]:
                with archive.open(names[name]) as member:
                    layouts[name] = _layout(member, location, name)
    except _DAMAGE as error:
        raise _damaged(location, _reason(error)) from None
    source, target = layouts["source"], layouts["target"]
    for name, layout in layouts.items():
        if layout.shape != (source.edges,):
            raise StageError(
                f"array {name!r} has the shape {layout.shape}; expected ({source.edges},) as the others",
                file=location,
            )
    for name in ("source", "target"):
        _check_ids_type(layouts[name], name, location, reading.ids)
    texts = reading.ids == "text" or all(each.dtype.kind not in "iu" for each in (source, target))
    for name in ("source", "target"):
        if not texts and layouts[name].dtype.kind not in "iu":
            raise StageError(
                f"{name} holds '{layouts[name].dtype.str:.40}'; expected whole numbers, as the other end has",
                hint="if ids are texts, set `ids: text`",
                file=location,
            )
    if weighted and layouts["weight"].dtype.kind not in "iuf":
        raise StageError(
            f"array 'weight' holds '{layouts['weight'].dtype.str:.40}'; expected numbers",
            hint="`weights: false` reads the edges alone",
            file=location,
        )

    def blocks() -> Iterator[_Block]:
        with ExitStack() as stack:
            archive = stack.enter_context(zipfile.ZipFile(path))
            members = []
            for name, layout in layouts.items():
                members.append((stack.enter_context(archive.open(names[name])), layout.dtype))
                members[-1][0].read(layout.begin)
            widest = max((layout.dtype for layout in layouts.values()), key=lambda dtype: dtype.itemsize)
            for _, rows in _steps(reading, source.edges, widest):
                source_, target_, *weight = (_exactly(file, rows, dtype, location) for file, dtype in members)
                yield _Block(source_, target_, weight[0].astype(numpy.float64) if weight else None)

    def chunks() -> Iterator[Any]:
        try:
            yield from _chunks(reading, blocks(), ("source", "target"), texts=texts)
        except _DAMAGE as error:
            raise _damaged(location, _reason(error)) from None

    return Header(weighted=weighted, texts=texts), chunks()


def _steps(reading: Reading, edges: int, dtype: Any) -> Iterator[tuple[int, int]]:
    """Yield the first row, and how many rows, of what is read at a time."""
    step = max(256, reading.block_bytes // max(16, 4 * dtype.itemsize))
    return ((row, min(step, edges - row)) for row in range(0, edges, step))


def _chunks(
    reading: Reading, blocks: Iterator[_Block], names: tuple[str, str], *, texts: bool
) -> Iterator[Any]:
    import numpy

    row, location = 0, reading.stream.location
    for block in blocks:
        if block.weight is not None:
            check_weights(block.weight, row, location)
        if texts:
            yield _text_chunk(block, row, location, names)
        else:
            for values, name in zip((block.source, block.target), names, strict=True):
                check_ids(values, name, row, location)
            source, target = (numpy.ascontiguousarray(each, numpy.int64) for each in block[:2])
            yield Chunk(source, target, block.weight)
        row += len(block.source)
    if not row and reading.alone:
        raise StageError("the array has no rows: no edge was found", file=location)


def _check_ids_type(layout: _Layout, name: str, location: str, ids: str) -> None:
    if layout.dtype.kind not in ("iu" if ids == "integer" else "iuUSM") or not layout.dtype.itemsize:
        raise StageError(
            f"{name} holds '{layout.dtype.str:.40}'; expected whole numbers",
            hint="convert it, for example with .astype('int64')",
            file=location,
        )


def _text_chunk(block: _Block, row: int, location: str, names: tuple[str, str]) -> TextChunk:
    import numpy
    import pyarrow

    from gravel.stages.texts.moments import in_single_units

    columns = []
    for values, name in zip((block.source, block.target), names, strict=True):
        native = in_single_units(numpy.ascontiguousarray(values, values.dtype.newbyteorder("=")))
        try:
            columns.append(pyarrow.array(native))
        except (pyarrow.ArrowException, ValueError) as error:
            raise StageError(
                f"{name} from row {row:,} (from 0) on cannot be read as texts: {error}", file=location
            ) from None
    return text_chunk(columns[0], columns[1], block.weight, row, location, names)


def _exactly(file: Any, count: int, dtype: Any, location: str) -> NDArray[Any]:
    import numpy

    data = file.read(count * dtype.itemsize)
    if len(data) < count * dtype.itemsize:
        raise StageError(
            "the file ends before its last row",
            hint="it is truncated: write or copy it again",
            file=location,
        )
    return numpy.frombuffer(data, dtype)


def _reason(error: Exception) -> str:
    """Say what is wrong; a damaged archive may lead to places that no file has, and the system says so."""
    return error.strerror.lower() if isinstance(error, OSError) and error.strerror else str(error)


def _damaged(location: str, text: str) -> StageError:
    return StageError(
        f"this NumPy file cannot be read: {text}",
        hint="it is truncated or damaged: write it again with numpy.save or numpy.savez",
        file=location,
    )


def _largest(data: bytes, dtype: Any) -> int | None:
    """Return the largest id in the first bytes of an array."""
    import numpy

    count = len(data) // dtype.itemsize if dtype.kind in "iu" else 0
    return int(numpy.frombuffer(data, dtype, count).max()) if count else None


def _counts(head: Head, location: str) -> Counts | None:
    from io import BytesIO

    from gravel.stages.streams.opening import local_path

    try:
        if head.data.startswith(NPY):
            file = BytesIO(head.data)
            layout = _layout(file, location, "the array")
            return Counts(None, layout.shape[0], _largest(file.read(), layout.dtype))
        with zipfile.ZipFile(local_path(location)) as archive, archive.open("source.npy") as member:
            layout = _layout(member, location, "source")
            return Counts(None, layout.shape[0], _largest(member.read(LONGEST_HEADER), layout.dtype))
    except Exception:  # the run itself says what is wrong with the file
        return None


READER = Reader(
    name="numpy",
    title="NumPy",
    rank=40,
    suffixes=(".npy", ".npz"),
    aliases=("npy", "npz"),
    fits=_fits,
    read=_read,
    counts=_counts,
    binary=True,
    takes=("ids",),
)
