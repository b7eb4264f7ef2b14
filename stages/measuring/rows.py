"""Places of the rows that many sources are searched from, and how they are brought there.

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
from gravel.kernels.buffers import exact, total
from gravel.kernels.distances.buffers import on_device, sums_of_vertices
from gravel.kernels.layouts.layout import EncodedRows, body_name, columns_as_rows, padded
from gravel.kernels.layouts.units import offsets_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gravel.stages.sizes import Extent

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


@dataclass(frozen=True)
class Sizes:
    """Sizes that decide where a GPU searches rows: `stream` are bytes of encoded ones, None of columns.

    `copied` are bytes of a stream that lies on the GPU already, and is there twice while it is padded.
    """

    vertices: int
    arcs: int
    stream: int | None = None
    copied: int = 0

    @property
    def width(self) -> int:
        """Bytes of a column."""
        return int(index_dtype(self.vertices).itemsize)

    @property
    def decoded(self) -> int:
        """Bytes of rows of columns."""
        return 8 * (self.vertices + 1) + self.width * self.arcs

    @property
    def encoded(self) -> int:
        """Bytes of encoded rows, 0 where there are none."""
        return 0 if self.stream is None else 8 * (self.vertices + 1) + padded(self.stream) + self.copied

    @property
    def body(self) -> int:
        """Bytes of the stored array that grows with the arcs."""
        return self.width * self.arcs if self.stream is None else self.stream

    def batch(self, sources: int, *, encoded: bool, sums: bool = False) -> int:
        """State at most what a batch of so many sources takes beside rows, with `sums` of vertices or not."""
        stream = self.stream if encoded else None
        vertices = exact(sums_of_vertices(self.vertices)) if sums else 0
        return vertices + total(on_device(self.vertices, self.arcs, self.width, sources, stream=stream))

    def where(self, memory: int, host: int | None = None) -> Where:
        """Decide for a GPU with `memory` bytes, and a host that may pin so many."""
        if self.decoded + max(self.encoded, self.batch(FEWEST, encoded=False)) <= memory:
            return "decoded"
        if self.stream is not None and self.encoded + self.batch(FEWEST, encoded=True) <= memory:
            return "encoded"
        return "split" if host is None or self.body <= host else "streamed"


def sizes_of(stored: Any) -> Sizes:
    """Return the sizes of a stored graph."""
    from gravel.kernels.placement.device_copies import where_it_is

    if not hasattr(stored, "stream") or stored.codec == "csr":
        return Sizes(stored.vertex_count, stored.arc_count)
    size = len(stored.stream)
    twice = padded(size) != size and backend_of(where_it_is(stored.stream)) == "cuda"
    return Sizes(stored.vertex_count, stored.arc_count, size, copied=size if twice else 0)


def sizes_of_extent(graph: Extent) -> Sizes:
    """Return the sizes of rows that are planned."""
    stream = graph.bytes - 8 * (graph.vertices + 1) if graph.kind == "CompressedGraph" else None
    return Sizes(graph.vertices, graph.arcs, stream if graph.ranks == 0 else None)


def made_on_host(graph: Extent, sizes: Sizes, *, decoded: bool) -> int:
    """State what rows take that are made on the host, and the stream that they are decoded from."""
    encoded = graph.kind == "CompressedGraph"
    if graph.normal_arcs is not None or graph.kind == "Partition":
        # A compressed partition is decoded, then put together.
        return (2 if encoded else 1) * sizes.decoded + 8 * graph.vertices
    return sizes.decoded + graph.bytes if decoded and encoded else 0


def where_searched(stored: Any, placement: str, memory: int, host: int | None = None) -> Where:
    """Decide where a GPU searches a graph that is placed so, or "auto"; see `Sizes.where`."""
    if placement in ("split", "pinned", "streamed"):
        return placement  # type: ignore[return-value]
    where = sizes_of(stored).where(memory, host)
    return "decoded" if placement == "device" and where in ("split", "streamed") else where


def rows_over_link(stored: Any) -> EncodedRows:
    """Pin the columns of rows in host memory, or the stream of encoded ones; offsets go to the device.

    Raises `gravel.kernels.placement.pinned.PinnedRefused`, and ValueError for a damaged stream.
    """
    from gravel.kernels.placement.device_copies import on_device
    from gravel.kernels.placement.pinned import pin
    from gravel.kernels.placement.placed import in_pages
    from gravel.stages.rows.encoded import read_rows

    encoded = hasattr(stored, "stream")
    rows = read_rows(stored) if encoded else columns_as_rows(stored.row_offsets, stored.column_indices)
    name = body_name(rows)
    there = {each: on_device(array) for each, array in rows.arrays.items() if each != name}
    there[name] = pin(in_pages(rows.arrays[name])).view()
    return replace(rows, arrays=there)


def rows_in_parts(stored: Any) -> EncodedRows:
    """Leave columns or a stream where they are stored, to be read in parts; offsets go to the device.

    Raises ValueError for a damaged stream.
    """
    from gravel.kernels.placement.device_copies import on_device
    from gravel.stages.rows.encoded import columns_as_stored, streamed_rows

    if hasattr(stored, "stream") and stored.codec != "csr":
        rows = streamed_rows(stored)
    else:
        plain = columns_as_stored(stored) if hasattr(stored, "stream") else stored
        rows = columns_as_rows(plain.row_offsets, plain.column_indices)
    body = rows.arrays[body_name(rows)]
    beginnings = "row_offsets" if rows.layout == "csr" else "byte_offsets"
    there = on_host(body) if backend_of(body) == "cuda" else body
    return replace(rows, arrays={beginnings: on_device(offsets_of(rows)), body_name(rows): there})
