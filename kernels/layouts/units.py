"""Rows that kernels read in units of their own: checked, and cut where their layout needs help for that."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gravel.kernels.layouts import EncodedRows

LONGEST = 1 << 33
"""Weight of a row of 64-bit vertices: a queue entry names 2^28 units, of at least 32 neighbours."""


def offsets_of(rows: EncodedRows) -> Any:
    """The array that says where each row begins, in columns or in bytes."""
    return rows.arrays["row_offsets" if rows.layout == "csr" else "byte_offsets"]


def check_rows(rows: EncodedRows) -> None:
    """Raise ValueError unless these are all rows of a graph, whose offsets ascend within what is stored."""
    offsets = offsets_of(rows)
    if rows.first_row:
        raise ValueError(f"the rows begin with row {rows.first_row}; a search needs all of a graph's")
    if len(offsets) != rows.vertex_count + 1 or int(offsets[0]) != 0:
        raise ValueError(
            f"there are {len(offsets)} offsets; {rows.vertex_count} rows have one more, from 0 on"
        )
    if rows.vertex_count:
        lengths = offsets[1:] - offsets[:-1]
        if int(lengths.min()) < 0:
            raise ValueError("the rows' offsets do not ascend")
        if rows.dtype.itemsize == 8 and int(lengths.max()) >= LONGEST:
            raise ValueError(f"a row of {int(lengths.max())} is longer than a queue can name")
    body = rows.arrays["column_indices" if rows.layout == "csr" else "stream"]
    if int(offsets[-1]) > len(body):
        raise ValueError(f"the rows end at {int(offsets[-1])}; there are {len(body)}")


def check_columns(rows: EncodedRows) -> None:
    """Raise ValueError for columns whose offsets do not ascend; who reads other layouts checks them."""
    if rows.layout != "csr":
        return
    from gravel.kernels.layouts import side_of

    if side_of(rows) == "cuda":
        check_rows(rows)
    else:
        from gravel.kernels.layouts.streams import check_offsets

        check_offsets(rows.arrays["row_offsets"], len(rows.arrays["column_indices"]), "row_offsets", "arcs")


def with_units(rows: EncodedRows, *, cut: bool = True) -> EncodedRows:
    """Check rows, and `cut` long ones into units where their layout needs help for that."""
    check_rows(rows)
    if not cut:
        return rows
    from gravel.kernels.layouts.registry import layout_of

    ready: EncodedRows = layout_of(rows.layout).codec("cuda").searchable(rows)
    return ready
