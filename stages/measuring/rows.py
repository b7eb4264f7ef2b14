"""Where the rows lie that many sources are searched from, and how they are brought there.

Compressed rows are decoded once for all searches of a call. A batch reads each arc one to three times:
batches over encoded rows take 1.4 to 1.9 times as long as over columns (64 and 1,024 sources, Kronecker 22,
H100), and decoding, which reads them once, has paid after two of 64 or one of 1,024.

Where decoded rows do not fit into GPU memory, the encoded ones are searched: in GPU memory where they fit
(decoded rows in pinned host memory take 1.7 to 4 times as long:
`python -m tests.benchmarks.many_sources kron22 --sources 64 1024 --layouts varint blocks elias_fano`), or
over the link, which they take less of. Rows that do not fit are split: what fits beside a batch lies in GPU
memory, the rest in pinned host memory.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from gravel.kernels.arrays import backend_of, index_dtype, on_host
from gravel.kernels.distances.sizes import device_bytes, encoded_device_bytes
from gravel.kernels.layouts.layout import EncodedRows, body_name, columns_as_rows
from gravel.kernels.layouts.units import offsets_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

FEWEST = 64
"""Sources of the narrowest batch, which must fit beside rows in GPU memory."""

Where = Literal["decoded", "encoded", "split", "pinned", "streamed"]
"""Columns in GPU memory, encoded rows there, or what `gravel.kernels.placement` calls by these names."""


@dataclass(frozen=True)
class SearchedRows:
    """Rows that many sources are searched from, as `gravel.kernels.distances.many.prepare_rows` takes them.

    `permutation` leads from vertices to rows, `memory` is what a batch may take in bytes, what is kept of a
    `split` included.
    """

    rows: EncodedRows
    permutation: NDArray[Any] | None
    memory: int
    split: bool = False


def where_searched(stored: Any, placement: str, memory: int) -> Where:
    """Decide where a GPU with so many bytes searches a graph that is placed so, or "auto"."""
    if placement in ("split", "pinned", "streamed"):
        return placement  # type: ignore[return-value]
    if _fits_decoded(stored, memory):
        return "decoded"
    if _fits_encoded(stored, memory):
        return "encoded"
    return "decoded" if placement == "device" else "split"


def decoded_bytes(stored: Any) -> int:
    """Count the bytes of decoded rows."""
    n, m = int(stored.vertex_count), int(stored.arc_count)
    return 8 * (n + 1) + index_dtype(n).itemsize * m


def encoded_bytes(stored: Any) -> int:
    """Count the bytes of encoded rows on a GPU, where a stream that is there is copied to be padded."""
    from gravel.kernels.layouts.layout import padded
    from gravel.kernels.placement.device_copies import where_it_is

    size, vertices = len(stored.stream), int(stored.vertex_count)
    twice = padded(size) != size and backend_of(where_it_is(stored.stream)) == "cuda"
    return 8 * (vertices + 1) + padded(size) + (size if twice else 0)


def _fits_decoded(stored: Any, memory: int) -> bool:
    """Whether decoded rows fit into GPU memory: beside encoded ones, and beside the narrowest batch."""
    n, m = stored.vertex_count, stored.arc_count
    encoded = 8 * (n + 1) + len(stored.stream) if hasattr(stored, "stream") else 0
    beside = max(encoded, device_bytes(n, m, index_dtype(n).itemsize, FEWEST))
    return decoded_bytes(stored) + beside <= memory


def _fits_encoded(stored: Any, memory: int) -> bool:
    """Whether encoded rows fit into GPU memory beside the narrowest batch, and are searched as they are."""
    if not hasattr(stored, "stream") or stored.codec == "csr":
        return False
    n = stored.vertex_count
    beside = encoded_device_bytes(n, len(stored.stream), index_dtype(n).itemsize, FEWEST)
    return encoded_bytes(stored) + beside <= memory


def rows_over_link(stored: Any) -> EncodedRows:
    """Pin the columns of rows in host memory, or the stream of encoded ones; offsets go to the device.

    Raises `gravel.kernels.placement.pinned.PinnedRefused`, and ValueError for a damaged stream.
    """
    from gravel.kernels.placement.device_copies import on_device
    from gravel.kernels.placement.pinned import pin
    from gravel.kernels.placement.placed import in_pages
    from gravel.stages.traversal.encoded import read_rows

    encoded = hasattr(stored, "stream")
    rows = read_rows(stored) if encoded else columns_as_rows(stored.row_offsets, stored.column_indices)
    name = body_name(rows)
    there = {each: on_device(array) for each, array in rows.arrays.items() if each != name}
    there[name] = pin(in_pages(on_host(rows.arrays[name]))).view()
    return replace(rows, arrays=there)


def rows_in_parts(stored: Any) -> EncodedRows:
    """Leave columns or a stream where they are stored, to be read in parts; offsets go to the device.

    Raises ValueError for a damaged stream.
    """
    from gravel.kernels.placement.device_copies import on_device
    from gravel.stages.traversal.encoded import streamed_rows
    from gravel.stages.traversal.graph import columns_as_stored

    if hasattr(stored, "stream") and stored.codec != "csr":
        rows = streamed_rows(stored)
    else:
        plain = columns_as_stored(stored) if hasattr(stored, "stream") else stored
        rows = columns_as_rows(plain.row_offsets, plain.column_indices)
    body = rows.arrays[body_name(rows)]
    beginnings = "row_offsets" if rows.layout == "csr" else "byte_offsets"
    there = on_host(body) if backend_of(body) == "cuda" else body
    return replace(rows, arrays={beginnings: on_device(offsets_of(rows)), body_name(rows): there})
