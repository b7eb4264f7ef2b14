"""Stored graphs opened for a search: placed, decoded or not, on the backend; and its sources."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from gravel.stages.artifacts import CompressedGraph, Graph, Partition
from gravel.stages.errors import StageError
from gravel.stages.traversal.graph import columns_as_stored, permutation_of, read_columns
from gravel.stages.traversal.need import plan_for
from gravel.stages.traversal.strategy import backend_of_search

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gravel.stages.stage import Machine
    from gravel.stages.traversal.graph import SearchedGraph
    from gravel.stages.traversal.parameters import TraverseParameters
    from gravel.stages.traversal.placing import Placing

SHOWN = 10
"""Sources that an error names; one more would not help to find the fault."""


def open_graph(
    parameters: TraverseParameters, stored: Graph | CompressedGraph | Partition, machine: Machine
) -> SearchedGraph:
    """Open a graph, placed and encoded as the search wants it, and limit the threads of this process.

    Raises `StageError`, before anything is read, for a placement that does not fit.
    """
    from gravel.kernels.threads import set_threads

    placed = replace(
        machine,
        backend=backend_of_search(parameters, machine),
        threads=min(machine.threads, parameters.threads or machine.threads),
    )
    set_threads(placed.threads)
    # The ranks of a partition place its rows.
    split = isinstance(stored, Partition) or getattr(stored, "subgraphs", None) is not None
    placing = None if split else plan_for(parameters, stored, placed)
    if isinstance(stored, CompressedGraph):
        graph = _open_compressed(parameters, stored, placed, placing)
    else:
        graph = read_graph(stored, placed, placing)
    if placed.backend != machine.backend and graph.partition is None:
        graph.notes.append("searched on the CPU")
    if parameters.threads is not None and parameters.threads > placed.threads:
        graph.notes.append(f"{parameters.threads} threads were asked for, and {placed.threads} used")
    return graph


def _open_compressed(
    parameters: TraverseParameters, stored: CompressedGraph, machine: Machine, placing: Placing | None
) -> SearchedGraph:
    """Leave rows encoded where the search reads them so, and decode the others."""
    from gravel.stages.ranks import partition
    from gravel.stages.traversal import encoded

    if stored.subgraphs is not None:
        why = partition.why_ranks_decoded(parameters, stored, machine)
        if why:
            return read_graph(stored, machine, placing, decoded=why)
        notes = [f"rows of layout {stored.codec} were searched as they are, by each rank its own"]
        return partition.read_partition(stored, permutation_of(stored), machine, notes)
    placement = "device" if placing is None else placing.plan.placement
    why = encoded.why_decoded(parameters, placement, stored.codec)
    if why:
        return read_graph(stored, machine, placing, decoded=why)
    return encoded.read_encoded(stored, permutation_of(stored), machine, placing)


def read_graph(
    stored: Graph | CompressedGraph | Partition,
    machine: Machine,
    placing: Placing | None = None,
    *,
    decoded: str = "decoded before the search",
) -> SearchedGraph:
    """Read a stored graph as columns, and bring it to the machine's backend.

    `placing` says where its rows go there; without it, on the device of a GPU. The rows of a compressed graph
    are decoded, which the note `decoded` says. Raises `StageError` when they are damaged.
    """
    if isinstance(stored, CompressedGraph):
        return _read_decoded(stored, machine, placing, decoded)
    if isinstance(stored, Partition):
        from gravel.stages.ranks.partition import read_partition

        return read_partition(stored, permutation_of(stored), machine)
    return read_columns(stored, permutation_of(stored), machine, placing)


def _read_decoded(
    stored: CompressedGraph, machine: Machine, placing: Placing | None, decoded: str
) -> SearchedGraph:
    from gravel.stages.compressing.decoding import decompress
    from gravel.stages.ranks.partition import read_partition

    placement = "device" if placing is None else placing.plan.placement
    permutation = permutation_of(stored)
    if stored.codec == "csr" and stored.subgraphs is None and placement == "streamed":
        return read_columns(columns_as_stored(stored), permutation, machine, placing, [decoded])
    # What does not lie on the device is not decoded there either.
    # Weights are brought by what searches by them.
    backend = machine.backend if placement == "device" else "cpu"
    plain = decompress(replace(stored, weights=None), backend=backend)
    if isinstance(plain, Partition):
        return read_partition(plain, permutation, machine, [decoded])
    return read_columns(plain, permutation, machine, placing, [decoded])


def draw_sources(row_offsets: NDArray[Any], count: int, seed: int) -> NDArray[Any]:
    """Draw vertices that have arcs, without replacement; all of them where there are fewer.

    `row_offsets` are in `symmetrize`'s numbering, so that every order, layout and number of ranks searches
    from the same vertices.
    """
    import numpy

    return draw_among(numpy.flatnonzero(row_offsets[1:] != row_offsets[:-1]), count, seed)


def draw_among(candidates: NDArray[Any], count: int, seed: int) -> NDArray[Any]:
    """Draw some of the vertices, without replacement; all of them where there are fewer."""
    import numpy

    if len(candidates) <= count:
        return candidates
    generator = numpy.random.Generator(numpy.random.PCG64(seed))
    return candidates[generator.choice(len(candidates), count, replace=False)]


def check_sources(vertices: Sequence[int], vertex_count: int) -> NDArray[Any]:
    """Check given vertices; raises `StageError` that names those which the graph does not have."""
    import numpy

    wrong = [vertex for vertex in vertices if not 0 <= vertex < vertex_count]
    if wrong:
        listed = ", ".join(str(vertex) for vertex in wrong[:SHOWN])
        more = f" and {len(wrong) - SHOWN} more" if len(wrong) > SHOWN else ""
        raise StageError(
            f"no such source: {listed}{more}; the graph has {vertex_count} vertices, counted from 0",
            hint="name sources that are in the graph",
        )
    return numpy.array(vertices, numpy.int64)


def sources_of(parameters: TraverseParameters, graph: SearchedGraph) -> NDArray[Any]:
    """Draw or check the sources, in `symmetrize`'s numbering; raises `StageError` for one that is none."""
    asked: Any = parameters.sources
    if hasattr(asked, "random"):
        return draw_sources(graph.first_offsets, asked.random, asked.seed)
    return check_sources(asked.vertices if hasattr(asked, "vertices") else asked, graph.vertex_count)
