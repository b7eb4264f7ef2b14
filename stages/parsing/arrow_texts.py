"""Columns of Arrow as ids that are texts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gravel.stages.errors import StageError
from gravel.stages.parsing.head import shown
from gravel.stages.readers import LONGEST_ID, TextChunk

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gravel.stages.texts import Texts


def is_text_like(kind: Any) -> bool:
    """Return whether values of a type are read as texts: strings, binary, UUIDs, dates and times."""
    from pyarrow import types

    if types.is_dictionary(kind):
        return is_text_like(kind.value_type)
    plain = types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)
    binary = types.is_binary(kind) or types.is_large_binary(kind) or types.is_binary_view(kind)
    moments = types.is_date(kind) or types.is_timestamp(kind) or types.is_time(kind)
    return plain or binary or moments or _is_uuid(kind)


def _is_uuid(kind: Any) -> bool:
    return getattr(kind, "extension_name", "") == "arrow.uuid"


def text_chunk(
    source: Any,
    target: Any,
    weight: NDArray[Any] | None,
    row: int,
    location: str,
    names: tuple[str, str] = ("source", "target"),
) -> TextChunk:
    """Make a chunk of two arrays, whose first row is the file's row `row`; raises StageError for a bad id."""
    import numpy

    _refuse_other_moments(source.type, target.type, names, location)
    ends = [_texts(column, name, row, location) for column, name in zip((source, target), names, strict=True)]
    rows = len(ends[0].offsets) - 1
    return TextChunk(_joined(ends), weight) if rows else TextChunk(ends[0], numpy.empty(0))


def _joined(ends: list[Texts]) -> Texts:
    """Put the texts of two columns one after the other, row by row."""
    import numpy

    from gravel.stages.texts import Texts

    rows = ends[0].size
    text = numpy.concatenate([each.text[each.offsets[0] : each.offsets[-1]] for each in ends])
    first = int(ends[0].offsets[-1] - ends[0].offsets[0])
    offsets = numpy.concatenate(
        [ends[0].offsets - ends[0].offsets[0], first + (ends[1].offsets[1:] - ends[1].offsets[0])]
    )
    order = numpy.arange(2 * rows).reshape(2, rows).T.ravel()
    return Texts(text, offsets).taken(order)


def _texts(column: Any, name: str, row: int, location: str) -> Texts:
    import numpy
    import pyarrow
    from pyarrow import types

    from gravel.stages.texts import Texts

    if column.null_count:
        empty = row + column.is_null().index(True).as_py()
        raise StageError(f"row {empty:,} (from 0) has no {name!r}; each edge needs one", file=location)
    kind = column.type
    if types.is_dictionary(kind):
        column, kind = column.dictionary_decode(), kind.value_type
    if _is_uuid(kind):
        column = _uuid_texts(column)
    elif types.is_timestamp(kind) or types.is_time(kind):
        column = moment_texts(column)
    elif types.is_integer(kind) or types.is_date(kind):
        column = column.cast(pyarrow.string())
    stored = column.cast(pyarrow.large_binary())
    _, ends, data = stored.buffers()
    if not len(stored):
        return Texts(numpy.empty(0, numpy.uint8), numpy.zeros(1, numpy.int64))
    offsets = numpy.frombuffer(ends, numpy.int64)[stored.offset : stored.offset + len(stored) + 1]
    texts = Texts(numpy.frombuffer(data, numpy.uint8) if data else numpy.empty(0, numpy.uint8), offsets)
    _check(texts, stored, name, row, location)
    return texts


def _refuse_other_moments(source: Any, target: Any, names: tuple[str, str], location: str) -> None:
    from pyarrow import types

    from gravel.stages.texts.moments import kind_of

    plain = [kind.value_type if types.is_dictionary(kind) else kind for kind in (source, target)]
    kinds = [kind_of(kind) for kind in plain]
    if None not in kinds and kinds[0] != kinds[1]:
        raise StageError(
            f"column {names[0]!r} has {kinds[0]} ({plain[0]}) and column {names[1]!r} has {kinds[1]} "
            f"({plain[1]}); it is not clear which are the same vertices",
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
    data = numpy.frombuffer(stored.buffers()[1], numpy.uint8)[16 * stored.offset :][: 16 * len(stored)]
    digits = numpy.frombuffer(b"0123456789abcdef", numpy.uint8)
    halves = numpy.stack([digits[data >> 4], digits[data & 15]], axis=-1).reshape(-1, 32)
    text = numpy.full((len(stored), 36), ord("-"), numpy.uint8)
    begin = 0
    for at, length in ((0, 8), (9, 4), (14, 4), (19, 4), (24, 12)):
        text[:, at : at + length] = halves[:, begin : begin + length]
        begin += length
    ends = numpy.arange(0, 36 * (len(stored) + 1), 36, dtype=numpy.int64)
    buffers = [None, pyarrow.py_buffer(ends), pyarrow.py_buffer(text.reshape(-1))]
    return pyarrow.Array.from_buffers(pyarrow.large_string(), len(stored), buffers)


def _check(texts: Texts, stored: Any, name: str, row: int, location: str) -> None:
    import numpy
    import pyarrow

    def fail(place: int, found: str) -> None:
        raise StageError(
            f"row {row + place:,} (from 0) of {name!r} {found}; ids are texts in UTF-8 of 1 to "
            f"{LONGEST_ID:,} bytes, without a zero byte",
            file=location,
        )

    lengths = numpy.diff(texts.offsets)
    if not lengths.all():
        fail(int(numpy.flatnonzero(lengths == 0)[0]), "is empty")
    if lengths.max() > LONGEST_ID:
        place = int(numpy.flatnonzero(lengths > LONGEST_ID)[0])
        fail(place, f"has {lengths[place]:,} bytes")
    used = texts.text[texts.offsets[0] : texts.offsets[-1]]
    if not used.all():
        zero = int(texts.offsets[0]) + int(numpy.flatnonzero(used == 0)[0])
        fail(int(numpy.searchsorted(texts.offsets, zero, side="right")) - 1, "has a zero byte")
    if used.max() >= 0x80:
        try:
            stored.cast(pyarrow.large_string())
        except pyarrow.ArrowException:
            for place in range(texts.size):
                try:
                    texts.item(place).decode()
                except UnicodeDecodeError:
                    fail(place, f"is {shown(texts.item(place))}, which is not UTF-8")
