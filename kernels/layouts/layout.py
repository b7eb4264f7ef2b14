"""What a layout says of itself: all that whoever writes, stores, moves and searches rows asks of it."""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from gravel.kernels.arrays import array_module, backend_of
from gravel.kernels.buffers import Table, table

Kernel = tuple[str, Mapping[str, str]]
"""A kernel file and its macros."""

ALIGNMENT = 16
"""Bytes that a stream's length is a multiple of: the widest load of a lane."""


@dataclass(frozen=True)
class EncodedRows:
    """Rows in a layout; the arrays are all NumPy, or all CuPy.

    `dtype` is that of a neighbour, uint32 or uint64.
    """

    layout: str
    vertex_count: int  # rows
    arc_count: int
    dtype: Any
    arrays: Mapping[str, Any]
    first_row: int = 0  # the first row's number in the whole graph

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return sum(int(array.nbytes) for array in self.arrays.values())


def columns_as_rows(row_offsets: Any, column_indices: Any) -> EncodedRows:
    """Take columns for rows of the layout `csr`; nothing is checked or copied."""
    arrays = {"row_offsets": row_offsets, "column_indices": column_indices}
    return EncodedRows("csr", len(row_offsets) - 1, len(column_indices), column_indices.dtype, arrays)


def encoded_rows(codec: str, byte_offsets: Any, stream: Any, rows: int, arcs: int, dtype: Any) -> EncodedRows:
    """Make rows of byte offsets from 0 on and of a padded stream; those of codec `csr` are columns.

    Raises ValueError for columns of another number than `arcs`.
    """
    if codec == "csr":
        if len(stream) != arcs * dtype.itemsize or int(byte_offsets[-1]) != len(stream):
            raise ValueError(f"the stream has {len(stream)} bytes; {arcs} columns of {dtype} were expected")
        arrays = {"row_offsets": byte_offsets // dtype.itemsize, "column_indices": stream.view(dtype)}
    else:
        arrays = {"byte_offsets": byte_offsets, "stream": stream}
    return EncodedRows(codec, rows, arcs, dtype, arrays)


def side_of(rows: EncodedRows) -> str:
    """`cuda` where an array of the rows is CuPy's, else `cpu`."""
    return "cuda" if any(backend_of(array) == "cuda" for array in rows.arrays.values()) else "cpu"


def body_name(rows: EncodedRows) -> str:
    """Name the array that grows with the arcs."""
    return "column_indices" if rows.layout == "csr" else "stream"


def is_read_in_parts(rows: EncodedRows) -> bool:
    """Whether what grows with the arcs lies where the device does not read it."""
    return side_of(rows) == "cuda" and backend_of(rows.arrays[body_name(rows)]) != "cuda"


class Codec(Protocol):
    """What writes and reads rows of a layout on one side, as `encode` and `decode` of the layouts say."""

    def encode(self, row_offsets: Any, columns: Any, *, first_row: int, bound: int) -> dict[str, Any]:
        """Write rows."""

    def decode(
        self, arrays: Mapping[str, Any], arc_count: int, dtype: Any, *, first_row: int, bound: int
    ) -> tuple[Any, Any]:
        """Read rows back."""


class CpuCodec(Codec, Protocol):
    """A codec on the CPU; `rows` is the class of rows that compiled kernels read (`readers.StreamRows`)."""

    @property
    def rows(self) -> Any:
        """Class of the rows that compiled kernels read, None where these are columns."""


class CudaCodec(Codec, Protocol):
    """A codec on the GPU."""

    def row_offsets(self, rows: EncodedRows) -> Any:
        """Count the neighbours of each row, summed up: CuPy int64 (rows + 1,)."""

    def searchable(self, rows: EncodedRows) -> EncodedRows:
        """Add what kernels need to read the units of a long row side by side."""


@dataclass(frozen=True)
class Costs:
    """What `auto` reckons with, in `gravel.kernels.advice.model`; the defaults are assumed, not measured."""

    slowness: float = 2.0
    """Time of a look at an arc in device memory over that in `csr`."""
    near_level: float = 4e-6
    """Seconds more of a level whose rows are encoded in device memory."""
    decoded: float = 15e9
    """Neighbours a second that searches decode out of host memory."""
    far_level: float = 100e-6
    """Seconds more of a level whose rows are in host memory."""
    written: float = 10e9
    """Arcs a second that rows are written with."""


def packed_bytes(arcs: int, bits: int) -> int:
    """Bytes of arcs whose gaps take so many bits, packed with two bits more."""
    return arcs * (bits + 2) // 8


HOST_ROWS = {"offsets": "i8", "sizes": "i8", "byte_offsets": "i8", "appended": "i8"}
"""Arrays with an element for each row that is encoded on the host: offsets from 0 on and in bytes, sizes, and
offsets as they are appended."""

DEVICE_ROWS = {"stored": "i8", "offsets": "i8", "lengths": "i8", "byte_offsets": "i8", "long": "u4"}
"""The same on a device: offsets as they are stored and from 0 on, lengths, offsets in bytes, long rows."""


@dataclass(frozen=True)
class EncodingMemory:
    """What encoding takes; `host` and `device` name arrays by row, with their types."""

    compiled: int = 78 << 20
    """What Numba takes to compile the encoder, and to be there at all."""
    host: Mapping[str, str] = field(default_factory=lambda: HOST_ROWS)
    device: Mapping[str, str] = field(
        default_factory=lambda: {**DEVICE_ROWS, "sizes": "i8", "first_units": "i8", "places": "i8"}
    )
    more_per_arc: int = 2
    """Bytes that an arc takes beyond those of a column at worst."""
    of_gaps: Callable[[int, int], int] = packed_bytes
    """Bytes of so many arcs whose gaps take so many bits."""

    def rows(self, place: str, rows: int) -> Table:
        """Return the table of so many rows where they are encoded, on the "host" or "device"."""
        arrays = self.host if place == "host" else self.device
        return table(place, **{name: (dtype, rows) for name, dtype in arrays.items()})


@dataclass(frozen=True, kw_only=True)
class Layout:
    """How neighbour lists are stored; `gravel.kernels.layouts.registry` lists the layouts that there are.

    Kernels read it by the headers `rows.cuh` and `cursor.cuh` below `kernels/layouts/NAME`, which say what
    `kernels/layouts/rows.cuh` and `cursor.cuh` ask of them.
    """

    name: str
    cpu: str
    """Where its `CpuCodec` is, as "module:name"."""
    cuda: str
    """Where its `CudaCodec` is."""
    arrays: tuple[str, ...] = ("byte_offsets", "stream")
    """Arrays of the rows in the order of ROWS_PARAMETERS; those that rows lack are null there."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Text of its headers by file name, where they are no files in gravel's tree."""
    unit_arcs: int = 256
    """MAX_IN_UNIT of its header."""
    encoding_kernels: tuple[Kernel, ...] = ()
    """Compiled ahead of encoding 32-bit vertices."""
    reading_kernels: tuple[Kernel, ...] = ()
    """Compiled ahead of searches beside theirs."""
    memory: EncodingMemory = field(default_factory=EncodingMemory)
    costs: Costs = field(default_factory=Costs)

    @property
    def encoded(self) -> bool:
        """Whether rows are streams of bytes, not columns."""
        return "stream" in self.arrays

    def codec(self, backend: str) -> Any:
        """Import what writes and reads it on a side, "cpu" or "cuda"."""
        module, _, name = (self.cuda if backend == "cuda" else self.cpu).partition(":")
        return getattr(importlib.import_module(module), name)


NOTHING = Costs(1.0, 0.0, math.inf, 35e-6, math.inf)
"""Of columns as they are; `far_level` was 26 to 50 us on six graphs."""


def padded(size: int) -> int:
    """Round a number of bytes up to a multiple of `ALIGNMENT`."""
    return -(-size // ALIGNMENT) * ALIGNMENT


def pad(stream: Any) -> Any:
    """Append zero bytes up to a multiple of `ALIGNMENT`; an array that ends there comes back itself.

    A host's copy can be pinned as it is.
    """
    rest = padded(len(stream)) - len(stream)
    if not rest:
        return stream
    module = array_module(stream)
    if backend_of(stream) == "cuda":
        return module.concatenate([stream, module.zeros(rest, stream.dtype)])
    from gravel.kernels.placement.pinned import pinnable

    whole = pinnable(len(stream) + rest, stream.dtype)
    whole[: len(stream)] = stream
    whole[len(stream) :] = 0
    return whole
