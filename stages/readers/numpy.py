"""NumPy files: `.npy` of shape (edges, 2), or `.npz` with `source`, `target` and perhaps `weight`.

Only plain arrays are read: of whole numbers, or of texts and dates, whose ids are texts. Pickled objects are
never read.
"""

from __future__ import annotations

import ast
import lzma
import math
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from gravel.stages.errors import StageError
from gravel.stages.parsing.array_checks import check_ids, check_weights
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
    dtype: str
    fortran: bool
    begin: int

    @property
    def edges(self) -> int:
        return self.shape[0]


def _layout(file: BinaryIO, location: str, what: str) -> _Layout:
    """Read an npy header (NumPy's format description, versions 1 to 3)."""
    try:
        start = file.read(8)
        if len(start) < 8 or start[:6] != NPY or start[6] not in (1, 2, 3):
            raise ValueError("it does not start as an npy file does")
        width = 2 if start[6] == 1 else 4
        length = struct.unpack("<H" if width == 2 else "<I", file.read(width))[0]
        if length > LONGEST_HEADER:
            raise ValueError(f"its header takes {length:,} bytes")
        text = file.read(length)
        if len(text) < length:
            raise ValueError("its header is cut off")
        fields = ast.literal_eval(text.decode("utf-8" if start[6] == 3 else "latin1").strip())
        shape, dtype, fortran = fields["shape"], fields["descr"], fields["fortran_order"]
        if not isinstance(dtype, str) or not isinstance(shape, tuple):
            raise ValueError(f"it holds records, {dtype!r:.60}")
        if not all(isinstance(length, int) and length >= 0 for length in shape):
            raise ValueError(f"its shape is {shape!r:.60}")
    except (*_DAMAGE, SyntaxError, TypeError, RecursionError, MemoryError) as error:
        raise _damaged(location, f"{what}: {_reason(error)}") from None
    return _Layout(shape, dtype, bool(fortran), 8 + width + length)


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
    dtype = _id_type(layout, "the array", location, reading.ids)
    texts = reading.ids == "text" or dtype.kind not in "iu"

    def chunks() -> Iterator[Any]:
        _some(layout.edges, location)
        step = max(256, reading.block_bytes // max(16, 4 * dtype.itemsize))
        with path.open("rb", buffering=0) as file:
            for row in range(0, layout.edges, step):
                rows = min(step, layout.edges - row)
                if layout.fortran:
                    columns = []
                    for column in range(2):
                        file.seek(layout.begin + (column * layout.edges + row) * dtype.itemsize)
                        columns.append(_exactly(file, rows, dtype, location))
                else:
                    file.seek(layout.begin + 2 * row * dtype.itemsize)
                    pairs = _exactly(file, 2 * rows, dtype, location).reshape(-1, 2)
                    columns = [pairs[:, 0], pairs[:, 1]]
                if texts:
                    yield _text_chunk(columns[0], columns[1], None, row, location, ("column 0", "column 1"))
                    continue
                yield Chunk(
                    _ids(columns[0], "column 0", row, location),
                    _ids(columns[1], "column 1", row, location),
                    None,
                )

    return Header(texts=texts), chunks()


def check_archive(path: Path) -> None:
    """Raise StageError for a zip archive that is damaged or holds no arrays, reading its directory alone."""
    try:
        with zipfile.ZipFile(path) as archive:
            _arrays(archive, str(path))
    except _DAMAGE as error:
        raise _damaged(str(path), _reason(error)) from None


def _arrays(archive: zipfile.ZipFile, location: str) -> dict[str, str]:
    """Return the member of each array; raises StageError if there is none."""
    names = {Path(name).stem: name for name in archive.namelist() if name.endswith(".npy")}
    if not names:
        raise _no_arrays(archive.namelist(), location)
    return names


def _no_arrays(members: list[str], location: str) -> StageError:
    content = (
        f"a zip archive of {', '.join(members[:3])}{', ...' if members[3:] else ''}" if members else "empty"
    )
    return StageError(
        f"the file is {content}; an archive is read if it holds NumPy arrays",
        hint="unpack it, and name the file in it that has the edges",
        file=location,
    )


def _read_npz(reading: Reading, path: Path) -> tuple[Header, Iterator[Chunk]]:
    import numpy

    location = reading.stream.location
    try:
        with zipfile.ZipFile(path) as archive:
            names = _arrays(archive, location)
            missing = [name for name in ("source", "target") if name not in names]
            if missing:
                raise StageError(
                    f"found the arrays {', '.join(names)}; expected source and target",
                    hint="write it with numpy.savez(FILE, source=..., target=...)",
                    file=location,
                )
            weighted = "weight" in names and reading.weights
            wanted = ["source", "target", *(["weight"] if weighted else [])]
            layouts = {}
            for name in wanted:
                with archive.open(names[name]) as member:
                    layouts[name] = _layout(member, location, name)  # type: ignore[arg-type]
    except _DAMAGE as error:
        raise _damaged(location, _reason(error)) from None
    edges = layouts["source"].shape[0] if layouts["source"].shape else 0
    for name, layout in layouts.items():
        if layout.shape != (edges,):
            raise StageError(
                f"array {name!r} has the shape {layout.shape}; expected ({edges},) as the others",
                file=location,
            )
    ends = ("source", "target")
    dtypes = {name: _id_type(layouts[name], name, location, reading.ids) for name in ends}
    texts = reading.ids == "text" or all(dtypes[name].kind not in "iu" for name in ends)
    for name in ends:
        if not texts and dtypes[name].kind not in "iu":
            raise StageError(
                f"{name} holds {layouts[name].dtype!r:.40}; expected whole numbers, as the other end has",
                hint="if ids are texts, set `ids: text`",
                file=location,
            )
    if weighted:
        dtypes["weight"] = _plain(layouts["weight"])
        if dtypes["weight"].kind not in "iuf":
            raise StageError(
                f"array 'weight' holds {layouts['weight'].dtype!r:.40}; expected numbers",
                hint="`weights: false` reads the edges alone",
                file=location,
            )

    def chunks() -> Iterator[Any]:
        _some(edges, location)
        step = max(256, reading.block_bytes // max(16, 4 * max(dtype.itemsize for dtype in dtypes.values())))
        try:
            with ExitStack() as stack:
                archive = stack.enter_context(zipfile.ZipFile(path))
                members: dict[str, Any] = {}
                for name in wanted:
                    members[name] = stack.enter_context(archive.open(names[name]))
                    members[name].read(layouts[name].begin)
                for row in range(0, edges, step):
                    rows = min(step, edges - row)
                    values = {
                        name: _exactly(member, rows, dtypes[name], location)
                        for name, member in members.items()
                    }
                    weight = values["weight"].astype(numpy.float64) if weighted else None
                    if weight is not None:
                        check_weights(weight, row, location)
                    if texts:
                        yield _text_chunk(values["source"], values["target"], weight, row, location, ends)
                        continue
                    yield Chunk(
                        _ids(values["source"], "source", row, location),
                        _ids(values["target"], "target", row, location),
                        weight,
                    )
        except _DAMAGE as error:
            raise _damaged(location, _reason(error)) from None

    return Header(weighted=weighted, texts=texts), chunks()


def _plain(layout: _Layout) -> Any:
    import numpy

    try:
        return numpy.dtype(layout.dtype)
    except (TypeError, ValueError, SyntaxError):
        return numpy.dtype(object)


def _id_type(layout: _Layout, name: str, location: str, ids: str) -> Any:
    dtype = _plain(layout)
    if dtype.kind not in ("iu" if ids == "integer" else "iuUSM") or not dtype.itemsize:
        raise StageError(
            f"{name} holds {layout.dtype!r:.40}; expected whole numbers",
            hint="convert it, for example with .astype('int64')",
            file=location,
        )
    if layout.shape and math.prod(layout.shape) * dtype.itemsize > 1 << 62:
        raise _damaged(location, f"its shape is {layout.shape}")
    return dtype


def _text_chunk(
    source: Any, target: Any, weight: Any, row: int, location: str, names: tuple[str, str]
) -> TextChunk:
    import numpy
    import pyarrow

    from gravel.stages.parsing.arrow_texts import text_chunk
    from gravel.stages.texts.moments import in_single_units

    columns = []
    for values, name in zip((source, target), names, strict=True):
        native = in_single_units(numpy.ascontiguousarray(values, values.dtype.newbyteorder("=")))
        try:
            columns.append(pyarrow.array(native))
        except (pyarrow.ArrowException, ValueError) as error:
            raise StageError(
                f"{name} from row {row:,} (from 0) on cannot be read as texts: {error}", file=location
            ) from None
    return text_chunk(columns[0], columns[1], weight, row, location, names)


def _exactly(file: Any, count: int, dtype: Any, location: str) -> NDArray[Any]:
    import numpy

    data = b""
    while len(data) < count * dtype.itemsize:
        more = file.read(count * dtype.itemsize - len(data))
        if not more:
            raise StageError(
                "the file ends before its last row",
                hint="it is truncated: write or copy it again",
                file=location,
            )
        data = data + more if data else more
    return numpy.frombuffer(data, dtype)


def _ids(values: NDArray[Any], name: str, row: int, location: str) -> NDArray[Any]:
    import numpy

    check_ids(values, name, row, location)
    return numpy.ascontiguousarray(values, dtype=numpy.int64)


def _some(edges: int, location: str) -> None:
    if not edges:
        raise StageError("the array has no rows: no edge was found", file=location)


def _reason(error: Exception) -> str:
    """Say what is wrong; a damaged archive may lead to places that no file has, and the system says so."""
    return error.strerror.lower() if isinstance(error, OSError) and error.strerror else str(error)


def _damaged(location: str, text: str) -> StageError:
    return StageError(
        f"this NumPy file cannot be read: {text}",
        hint="it is truncated or damaged: write it again with numpy.save or numpy.savez",
        file=location,
    )


def _largest(data: bytes, layout: _Layout) -> int | None:
    """Return the largest id in the first bytes of an array."""
    import numpy

    dtype = numpy.dtype(layout.dtype)
    whole = data[: len(data) // dtype.itemsize * dtype.itemsize]
    return int(numpy.frombuffer(whole, dtype).max()) if whole and dtype.kind in "iu" else None


def _counts(head: Head, location: str) -> Counts | None:
    import io

    try:
        if head.data.startswith(NPY):
            layout = _layout(io.BytesIO(head.data), location, "the array")
            return Counts(None, layout.edges, _largest(head.data[layout.begin :], layout))
        from gravel.stages.streams.opening import local_path

        with zipfile.ZipFile(local_path(location)) as archive, archive.open("source.npy") as member:
            layout = _layout(member, location, "source")  # type: ignore[arg-type]
            return Counts(None, layout.edges, _largest(member.read(LONGEST_HEADER), layout))
    except Exception:  # the run itself says what is wrong with the file
        return None


READER = Reader(
    name="numpy",
    title="NumPy",
    suffixes=(".npy", ".npz"),
    aliases=("npy", "npz"),
    fits=_fits,
    read=_read,
    counts=_counts,
    takes=("ids",),
)
