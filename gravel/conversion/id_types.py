"""Arrow types that vertex ids may have, and the checks of a column of ids."""

from __future__ import annotations

from typing import Any

import pyarrow
from pyarrow import types

from gravel.stages.filters.conditions import decoded
from gravel.stages.texts.moments import kind_of


def type_name(kind: Any) -> str:
    """Name what a type of ids holds; ids whose types have one name can be compared."""
    if types.is_integer(kind):
        return "integers"
    if types.is_large_string(kind) or types.is_string(kind) or types.is_string_view(kind):
        return "strings"
    if isinstance(kind, pyarrow.BaseExtensionType):
        return "UUIDs" if kind.extension_name == "arrow.uuid" else str(kind.extension_name)
    moments = kind_of(kind)
    if moments is not None:
        return moments
    if types.is_fixed_size_binary(kind) or types.is_binary(kind) or types.is_large_binary(kind):
        return "bytes"
    if types.is_binary_view(kind):
        return "bytes"
    if types.is_decimal(kind):
        return "decimal numbers"
    return str(kind)


def plain(column: Any) -> Any:
    """Return the storage of an extension type; any other array as it is."""
    if not isinstance(column.type, pyarrow.BaseExtensionType):
        return column
    if isinstance(column, pyarrow.ChunkedArray):
        return pyarrow.chunked_array([chunk.storage for chunk in column.chunks], column.type.storage_type)
    return column.storage


def checked(column: Any, name: str) -> Any:
    """Return a column of ids as a chunked array of one of the types that ids have.

    Raises TypeError for types that are no ids, ValueError for nulls and NaN with the first row that has one.
    """
    if not isinstance(column, pyarrow.ChunkedArray):
        column = pyarrow.chunked_array([column])
    column = decoded(column)
    _refuse_missing(column, name)
    kind = column.type
    if types.is_null(kind) and not len(column):
        return column.cast(pyarrow.int64())
    if types.is_floating(kind):
        whole = " They are whole numbers: cast them to int64." if _are_whole(column) else ""
        raise TypeError(
            f"column {name!r} has floating-point numbers, which are no vertex ids (1.0 and 1 would be the "
            f"same vertex).{whole}"
        )
    if types.is_string(kind):
        return column.cast(pyarrow.large_string())
    if types.is_binary(kind):
        return column.cast(pyarrow.large_binary())
    if types.is_uint64(kind) and len(column):
        try:
            return column.cast(pyarrow.int64())
        except pyarrow.ArrowInvalid:
            raise ValueError(f"column {name!r} has ids of 2^63 or more; the largest is 2^63 - 1") from None
    foreign = isinstance(kind, pyarrow.BaseExtensionType) and type_name(kind) != "UUIDs"
    if types.is_boolean(kind) or types.is_nested(kind) or types.is_null(kind) or foreign:
        raise TypeError(f"column {name!r} is of type {kind}, which has no vertex ids")
    return column


def _refuse_missing(column: Any, name: str) -> None:
    import numpy
    import pyarrow.compute as compute

    what, missing = "null", None
    if column.null_count:
        missing = column.is_null()
    elif types.is_floating(column.type):
        missing, what = compute.is_nan(column), "NaN"
        if not compute.any(missing).as_py():
            return
    if missing is None:
        return
    rows = numpy.flatnonzero(numpy.asarray(missing))
    raise ValueError(
        f"column {name!r} is {what} in row {int(rows[0])}"
        + (f" and {len(rows) - 1:,} others" if len(rows) > 1 else "")
        + "; an edge needs both of its ends: drop such rows"
    )


def _are_whole(column: Any) -> bool:
    import pyarrow.compute as compute

    return bool(compute.all(compute.equal(column, compute.floor(column))).as_py())
