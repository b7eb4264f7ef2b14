"""The passes over a graph before its arcs are distributed: degrees, the census, and the delegates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gravel.stages.partitioning.array_files import ArrayFile, allocated, written
from gravel.stages.partitioning.ranges import CountTask, count_range, map_ranges, offset_pieces, ranges

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gravel.kernels.partition.census import Census
    from gravel.stages.artifacts import Graph
    from gravel.stages.context import Context


def take_census(context: Context, graph: Graph) -> Census:
    """Count the graph's vertices and arcs by degree, over all workers."""
    import numpy

    from gravel.kernels.partition.census import LARGEST, Census, capped

    file = allocated(context.scratch / "degrees", numpy.uint16, graph.vertex_count)
    of_degree, busier, quieter = (numpy.zeros(LARGEST + 1, numpy.int64) for _ in range(3))
    degrees = file.map("r+")
    for first, offsets in offset_pieces(graph):
        piece = capped(numpy.diff(offsets))
        degrees[first : first + len(piece)] = piece
        of_degree += numpy.bincount(piece, minlength=LARGEST + 1)
    if isinstance(degrees, numpy.memmap):
        degrees.flush()
    del degrees
    done = 0
    tasks = (CountTask(rows, file) for rows in ranges(graph))
    for by_busier, by_quieter in map_ranges(context, graph, count_range, tasks):
        busier += by_busier
        quieter += by_quieter
        done = int(busier.sum())
        context.progress(done, graph.arc_count, "arcs counted")
    file.path.unlink()
    return Census(of_degree, busier, quieter)


def find_delegates(
    context: Context, graph: Graph, threshold: int, dtype: Any
) -> tuple[NDArray[Any], tuple[ArrayFile, ...]]:
    """List the vertices above the threshold, and write their index to files for the workers."""
    import numpy

    from gravel.kernels.partition.layout import packed_bits
    from gravel.kernels.partition.shares import index_delegates

    words, vertices, degrees = [], [], []
    for first, offsets in offset_pieces(graph):
        lengths = numpy.diff(offsets)
        above = lengths > threshold
        words.append(packed_bits(above))
        vertices.append((numpy.flatnonzero(above) + first).astype(dtype))
        degrees.append(lengths[above])
    empty = numpy.empty(0, numpy.int64)
    index = index_delegates(
        numpy.concatenate([numpy.zeros(1 if not words else 0, numpy.uint64), *words]),
        numpy.concatenate([empty, *degrees]),
    )
    named = zip(index._fields, index, strict=True)
    files = tuple(written(context.scratch / name, array) for name, array in named)
    return numpy.concatenate([empty.astype(dtype), *vertices]), files
