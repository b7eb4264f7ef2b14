"""Ids and weights that arrive as columns, of Arrow or NumPy: their checks, and ids that are texts.

Rows count from 0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gravel.kernels.text import EMPTY_ID, FINE, LONG_ID, ZERO_BYTE
from gravel.stages.errors import StageError
from gravel.stages.parsing.head import shown
from gravel.stages.readers import LARGEST_ID, LONGEST_ID, TextChunk

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gravel.stages.texts import Texts

NOT_UTF8 = -1
"""Code of a text that is not UTF-8, beside those of `gravel.kernels.text`."""


def check_ids(values: NDArray[Any], name: str, row: int, location: str) -> None:
    """Raise StageError for the first value (row `row` on) that is no id: 0 to 2^63-1."""
    import numpy

    bad = numpy.flatnonzero((values < 0) | (values > LARGEST_ID))
    if len(bad):
        raise StageError(
            f"row {row + int(bad[0]):,} (from 0) of {name!r} is {int(values[bad[0]])}; "
            "ids are whole numbers from 0 to 2^63-1",
            file=location,
        )


def check_weights(values: NDArray[Any], row: int, location: str) -> None:
    """Raise StageError for the first weight that is infinite or no number."""
    import numpy

    bad = numpy.flatnonzero(~numpy.isfinite(values))
    if len(bad):
        raise StageError(
            f"row {row + int(bad[0]):,} (from 0) of 'weight' is {values[bad[0]]}; expected a finite number",
            hint="`weights: false` reads the edges alone",
            file=location,
        )


def check_whole(column: Any, name: str, row: int, location: str) -> None:
    """Raise StageError for the first row without a value."""
    if column.null_count:
        empty = row + column.is_null().index(True).as_py()
        raise StageError(f"row {empty:,} (from 0) has no {name!r}; each edge needs one", file=location)


def is_text_like(kind: Any) -> bool:
    """Return whether values of a type are read as texts: strings, binary, UUIDs, dates and times."""
    from pyarrow import types

    plain = types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)
    binary = types.is_binary(kind) or types.is_large_binary(kind) or types.is_binary_view(kind)
    moments = types.is_date(kind) or types.is_timestamp(kind) or types.is_time(kind)
    return plain or binary or moments or _is_uuid(kind)


def _is_uuid(kind: Any) -> bool:
    return getattr(kind, "extension_name", "") == "arrow.uuid"


def text_chunk(
    source: Any, target: Any, weight: NDArray[Any] | None, row: int, location: str, names: tuple[str, str]
) -> TextChunk:
    """Make a chunk of two arrays, whose first row is the file's row `row`; raises StageError for a bad id."""
    _refuse_other_moments(source.type, target.type, names, location)
    ends = []
    for column, name in zip((source, target), names, strict=True):
        check_whole(column, name, row, location)
        texts, bad, code = texts_of(column)
        if code:
            faults = {
                EMPTY_ID: "is empty",
                LONG_ID: f"has {texts.offsets[bad + 1] - texts.offsets[bad]:,} bytes",
                ZERO_BYTE: "has a zero byte",
                NOT_UTF8: f"is {shown(texts.item(bad))}, which is not UTF-8",
            }
            raise StageError(
                f"row {row + bad:,} (from 0) of {name!r} {faults[code]}; ids are texts in UTF-8 of 1 to "
                f"{LONGEST_ID:,} bytes, without a zero byte",
                file=location,
            )
        ends.append(texts)
    return TextChunk(row_by_row(*ends), weight)


def texts_of(column: Any) -> tuple[Texts, int, int]:
    """Return the texts of an array without nulls, and row and code of the first that is no id, or `FINE`."""
    import pyarrow
    from pyarrow import types

    from gravel.stages.texts import Texts

    kind = column.type
    if _is_uuid(kind):
        column = _uuid_texts(column)
    elif types.is_timestamp(kind) or types.is_time(kind):
        column = moment_texts(column)
    elif types.is_integer(kind) or types.is_date(kind):
        column = column.cast(pyarrow.string())
    stored = column.cast(pyarrow.large_binary())
    texts = Texts.of(stored)
    return texts, *(_fault_of(texts, stored) if texts.size else (0, FINE))


def _fault_of(texts: Texts, stored: Any) -> tuple[int, int]:
    import numpy
    import pyarrow

    lengths = numpy.diff(texts.offsets)
    if not lengths.all():
        return int(lengths.argmin()), EMPTY_ID
    if lengths.max() > LONGEST_ID:
        return int((lengths > LONGEST_ID).argmax()), LONG_ID
    used = texts.text[texts.offsets[0] : texts.offsets[-1]]
    if not used.all():
        zero = int(texts.offsets[0]) + int(used.argmin())
        return int(numpy.searchsorted(texts.offsets, zero, side="right")) - 1, ZERO_BYTE
    if used.max() >= 0x80:
        try:
            stored.cast(pyarrow.large_string())
        except pyarrow.ArrowException:
            for row in range(texts.size):
                try:
                    texts.item(row).decode()
                except UnicodeDecodeError:
                    return row, NOT_UTF8
    return 0, FINE


def row_by_row(source: Texts, target: Texts) -> Texts:
    """Put the texts of two columns one after the other, row by row."""
    import numpy

    from gravel.stages.texts import Texts

    if not source.size:
        return source
    ends = source, target
    text = numpy.concatenate([each.text[each.offsets[0] : each.offsets[-1]] for each in ends])
    first = source.offsets[-1] - source.offsets[0]
    behind = target.offsets[1:] - target.offsets[0] + first
    offsets = numpy.concatenate([source.offsets - source.offsets[0], behind])
    return Texts(text, offsets).taken(numpy.arange(2 * source.size).reshape(2, -1).T.ravel())


def _refuse_other_moments(source: Any, target: Any, names: tuple[str, str], location: str) -> None:
    from gravel.stages.texts.moments import kind_of

    kinds = [kind_of(kind) for kind in (source, target)]
    if None not in kinds and kinds[0] != kinds[1]:
        raise StageError(
            f"column {names[0]!r} has {kinds[0]} ({source}) and column {names[1]!r} has {kinds[1]} "
            f"({target}); it is not clear which are the same vertices",
            hint="convert one of the columns",
            file=location,
        )


def moment_texts(column: Any) -> Any:
    """Write times without zeros at the end of their fraction: a moment has one text in all units."""
    import pyarrow
    from pyarrow import compute, types

    kind = column.type
    zone = types.is_timestamp(kind) and kind.tz is not None
    if zone:
        column = compute.strftime(
            compute.cast(column, pyarrow.timestamp(kind.unit, "UTC")), "%Y-%m-%dT%H:%M:%S"
        )
    column = column.cast(pyarrow.large_string())
    if kind.unit != "s":
        column = compute.ascii_rtrim(compute.ascii_rtrim(column, "0"), ".")
    z, nothing = (pyarrow.scalar(text, pyarrow.large_string()) for text in ("Z", ""))
    return compute.binary_join_element_wise(column, z, nothing) if zone else column


def _uuid_texts(column: Any) -> Any:
    """Write UUIDs as 8-4-4-4-12 hexadecimal digits (RFC 9562, section 4)."""
    import numpy
    import pyarrow

    stored = column.storage
    data = memoryview(stored.buffers()[1])[16 * stored.offset :][: 16 * len(stored)]
    digits = numpy.frombuffer(data.hex().encode(), numpy.uint8).reshape(-1, 32)
    text = numpy.insert(digits, (8, 12, 16, 20), ord("-"), axis=1)
    ends = numpy.arange(0, text.size + 1, 36, dtype=numpy.int64)
    buffers = [None, pyarrow.py_buffer(ends), pyarrow.py_buffer(text.ravel())]
    return pyarrow.Array.from_buffers(pyarrow.large_string(), len(stored), buffers)
