"""One rank's subgraphs as they grow: columns go to the artifact, row lengths to files until all are known."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, BinaryIO

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gravel.kernels.partition import RankSize
    from gravel.kernels.partition.shares import Share
    from gravel.stages.artifact import Array
    from gravel.stages.artifacts import Graph
    from gravel.stages.context import Context, Sink
    from gravel.stages.partitioning.ranges import Rows

PIECE_ROWS = 1 << 20
"""Rows whose lengths become offsets at once; a multiple of 64."""


KINDS = ("nn", "nd", "dn", "dd")
"""Subgraphs of a rank; of stripes there is nn alone."""


def write_ranks(
    context: Context,
    graph: Graph,
    ranks: int,
    some: range,
    shares: Iterable[tuple[Rows, Sequence[Share]]],
    names: Sequence[str] = KINDS,
) -> tuple[dict[str, Array], list[RankSize]]:
    """Write some of the ranks from the shares of all ranges; returns arrays by name, and sizes."""
    writers = [RankWriter(context, rank, graph.column_indices.dtype, names) for rank in some]
    arrays: dict[str, Array] = {}
    sizes: list[RankSize] = []
    try:
        for rows, found in shares:
            for writer, share in zip(writers, found, strict=True):
                writer.add(share)
            done = some.start * graph.arc_count + rows.end * len(some)
            context.progress(done, ranks * graph.arc_count, "arcs")
        for writer in writers:
            made, size = writer.close()
            arrays.update(made)
            sizes.append(size)
    finally:
        for writer in writers:
            writer.close_files()
    return arrays, sizes


class RankWriter:
    """Writer of a rank's shares in the order of their ranges; `close` hands out its arrays by name."""

    def __init__(self, context: Context, rank: int, column_dtype: Any, names: Sequence[str] = KINDS) -> None:
        import numpy

        self._context = context
        self._rank = rank
        self._width = numpy.dtype(column_dtype).itemsize
        self._sinks: dict[str, Sink] = {}
        self._files: dict[str, BinaryIO] = {}
        self._arcs = dict.fromkeys(names, 0)
        self._rows = dict(self._arcs)
        for name in self._arcs:
            self._sinks[name] = context.sink(column_dtype if name == "nn" else numpy.uint32)
            self._files[name] = (context.scratch / f"rank{rank}-{name}").open("w+b")

    def add(self, share: Share) -> None:
        """Append what a range adds."""
        import numpy

        for name in self._arcs:
            self._sinks[name].append(share.columns[name])
            # NumPy's tofile would lose what the system says of a full disk.
            self._files[name].write(numpy.ascontiguousarray(share.lengths[name]).view(numpy.uint8).data)
            self._arcs[name] += len(share.columns[name])
            self._rows[name] += len(share.lengths[name])

    def close(self) -> tuple[dict[str, Array], RankSize]:
        """End all arrays."""
        from gravel.kernels.partition import RankSize

        arrays: dict[str, Array] = {}
        prefix = f"rank{self._rank}"
        subgraph_bytes = list_bytes = 0
        for name in self._arcs:
            arrays[f"{prefix}/{name}/column_indices"] = self._sinks[name].close()
            offsets, sources, listed = self._close_rows(name)
            arrays[f"{prefix}/{name}/row_offsets"] = offsets
            width = self._width if name == "nn" else 4
            subgraph_bytes += width * self._arcs[name] + self._offset_width(name) * (self._rows[name] + 1)
            if name != "nn":
                kind = "source_list" if name == "nd" else "source_mask"
                arrays[f"{prefix}/{name}/{kind}"] = sources
                list_bytes += listed
        arcs = tuple(self._arcs.get(name, 0) for name in KINDS)
        return arrays, RankSize(arcs, subgraph_bytes, list_bytes)

    def close_files(self) -> None:
        """Close what is still open, since it was not read to its end."""
        for file in self._files.values():
            file.close()

    def _offset_width(self, name: str) -> int:
        return 4 if self._arcs[name] < 1 << 32 else 8

    def _close_rows(self, name: str) -> tuple[Array, Array, int]:
        """Turn lengths into row offsets, and into the list or mask of filled rows, with its bytes."""
        import numpy

        from gravel.kernels.partition.layout import packed_bits

        file = self._files[name]
        file.seek(0)
        dtype = numpy.uint32 if self._offset_width(name) == 4 else numpy.int64
        offsets = self._context.sink(dtype)
        sources = self._context.sink(numpy.uint32 if name == "nd" else numpy.dtype("<u8"))
        offsets.append(numpy.zeros(1, dtype))
        total = listed = 0
        for first in range(0, self._rows[name], PIECE_ROWS):
            lengths: NDArray[Any] = numpy.fromfile(file, numpy.uint32, PIECE_ROWS)
            upto = numpy.cumsum(lengths, dtype=numpy.int64) + total
            total = int(upto[-1])
            offsets.append(upto.astype(dtype))
            if name == "nn":
                continue
            filled = lengths > 0
            some = numpy.flatnonzero(filled) + first if name == "nd" else packed_bits(filled)
            sources.append(some.astype(numpy.uint32) if name == "nd" else some)
            listed += (4 if name == "nd" else 8) * len(some)
        file.close()
        (self._context.scratch / f"rank{self._rank}-{name}").unlink()
        return offsets.close(), sources.close(), listed
