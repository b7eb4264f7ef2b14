"""Shortest paths over a partition, by the ranks that hold it.

A bucket is searched in rounds. In a round every rank relaxes the arcs of the frontier: what reaches delegates
is reduced to the smallest word, and what reaches normal vertices goes to their owners, as in the search of
levels (`gravel.kernels.partition.program`). A round in which no rank has a frontier ends the bucket, and
tells where the next one begins. Distances and predecessors are those of `gravel.kernels.sssp`, however many
ranks there are.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.exchange import Endpoint, Program, Wire, drive, gather, run_in_lock_step, swap
from gravel.kernels.partition.layout import SUBGRAPHS, PartitionedGraph, RankPart, arc_count
from gravel.kernels.partition.masks import Joining, Reduction
from gravel.kernels.partition.options import PathOptions
from gravel.kernels.partition.path_rank import AgreedWeights, PathRank
from gravel.kernels.partition.path_tree import tree_program
from gravel.kernels.partition.search import put_together
from gravel.kernels.sssp import SSSPResult
from gravel.kernels.sssp.weights import DTYPES, UnusableWeight, are_plain, words_of

DEFAULTS = PathOptions()


@dataclass(frozen=True)
class RankPaths:
    """What one rank knows at the end; vertex v of the graph is entry v // p of rank v mod p."""

    distance: NDArray[Any]
    predecessor: NDArray[Any] | None
    milliseconds: float
    rounds: int
    delegate_bytes: int  # sent for delegates
    vertex_bytes: int  # sent for other vertices
    tree_bytes: int  # sent for predecessors


def agree_program(end: Endpoint, whole: RankPart) -> Program[AgreedWeights]:
    """Check the weights of all ranks as one of them.

    Raises on all ranks as `gravel.kernels.sssp.prepare` does for the whole graph.
    """
    weights = whole.graph.weights
    kinds = {each.dtype for each in weights.values()}
    gathered = yield from gather(end, (kinds, *_facts(whole)))
    kinds = set().union(*(each[0] for each in gathered))
    if len(kinds) != 1 or not kinds <= set(DTYPES):
        names = ", ".join(sorted(map(str, kinds))) or "nothing"
        raise ValueError(f"weights are {names}; uint32, int32 or float32 are expected")
    unusable = [each[4] for each in gathered if each[4] is not None]
    if unusable:
        raise UnusableWeight(*min(unusable))
    arcs, total = sum(each[1] for each in gathered), sum(each[2] for each in gathered)
    mean = float(total) / arcs if arcs else 0.0
    is_float = numpy.dtype(numpy.float32) in kinds
    words: numpy.dtype[Any] = numpy.dtype(numpy.uint64)
    if not is_float:
        largest = max(each[3] for each in gathered)
        # Sums of 64 bits hold what a product below 2^64 bounds, as on one machine.
        total = total if largest * arcs < 1 << 64 else largest * arcs
        words = words_of(whole.vertex_count, largest, total) if arcs else numpy.dtype(numpy.uint32)
    return AgreedWeights(whole.vertex_count, arcs, is_float, words, mean)


def _facts(whole: RankPart) -> tuple[int, Any, int, tuple[int, int, Any] | None]:
    """Count arcs, sum weights up and find the largest, and the first arc that no search takes."""
    total: Any = 0
    arcs, largest, unusable = 0, 0, []
    for name in SUBGRAPHS:
        weights = whole.graph.weights.get(name)
        if weights is None:
            arcs += arc_count(whole.graph.subgraph(name))
            continue
        arcs += len(weights)
        if not are_plain(weights):
            unusable += _unusable(whole, name, weights)
        if len(weights) and weights.dtype == numpy.float32:
            total += float(weights.sum(dtype=numpy.float64))
        elif len(weights):
            largest = max(largest, int(weights.max()))
            total += int(weights.sum(dtype=numpy.uint64))
    return arcs, total, largest, min(unusable, default=None)


def _unusable(whole: RankPart, name: str, weights: NDArray[Any]) -> list[tuple[int, int, Any]]:
    """Name the arcs of a subgraph that no search takes: both ends and the weight."""
    usable = weights >= 0
    if weights.dtype == numpy.float32:
        usable &= weights < numpy.float32(numpy.inf)
    bad = numpy.flatnonzero(~usable)
    offsets, columns = whole.graph.subgraph(name)
    rows, heads = numpy.searchsorted(offsets, bad, side="right") - 1, columns[bad].astype(numpy.int64)
    rank, ranks, delegates = whole.graph.rank, whole.ranks, whole.delegates
    tails = rows * ranks + rank if name[0] == "n" else delegates[rows]
    heads = delegates[heads] if name[1] == "d" else heads * ranks + rank if name == "dn" else heads
    found = zip(tails.tolist(), heads.tolist(), weights[bad].tolist(), strict=True)
    return [min(found)] if len(bad) else []


def paths_program(end: Endpoint, state: PathRank, source: int) -> Program[RankPaths]:
    """Search from one vertex as one rank; every rank runs this with its own state."""
    joining = Joining(numpy.minimum, state.unreached)
    reduction = Reduction(end, changed_only=True, joining=joining)
    started = time.perf_counter()
    state.start(source)
    rounds = vertex_bytes = tree_bytes = 0
    while True:
        going, delegates = state.going, len(state.of_delegates.frontier)
        # Where nothing is expanded this is asked for; elsewhere the pile changes.
        nearest = state.unreached if going or delegates else state.nearest()
        found = begun = None
        if len(state.delegates):
            found = state.relax_to_delegates()
            begun = reduction.begin(found)
        ids, words = state.relax_to_normals()
        vertex_bytes += sum(ids[rank].nbytes + words[rank].nbytes for rank in end.others)
        came = yield from swap(end, {rank: (going, nearest, ids[rank], words[rank]) for rank in end.others})
        came[end.rank] = going, nearest, ids[end.rank], words[end.rank]
        for _, _, of_ids, of_words in came.values():
            state.receive(of_ids, of_words)
        if found is not None and begun is not None:
            found = yield from reduction.end(found, begun)
        expanded = sum(each[0] for each in came.values()) + delegates
        state.commit(found, expanded)
        if expanded:
            rounds += 1
        elif not state.next_bucket([each[1] for each in came.values()]):
            break
    if state.tree_dtype is not None:
        tree_bytes = yield from tree_program(end, state)
    return RankPaths(
        *state.own_labels(),
        (time.perf_counter() - started) * 1e3,
        rounds,
        reduction.sent_bytes,
        vertex_bytes,
        tree_bytes,
    )


def made_program(end: Endpoint, whole: RankPart, *, tree: bool, options: PathOptions) -> Program[PathRank]:
    """Make one rank ready for searches, with weights that all ranks have checked.

    Raises on all ranks as `agree_program` does.
    """
    agreed = yield from agree_program(end, whole)
    return PathRank(whole, agreed, tree=tree, factor=options.width or None)


def rank_of(wire: Wire, whole: RankPart, *, tree: bool, options: PathOptions) -> PathRank:
    """Make one rank of a rank group ready; every rank calls this with its own part."""
    return drive(made_program(Endpoint(wire), whole, tree=tree, options=options), wire)


def search_rank(wire: Wire, state: PathRank, source: int) -> RankPaths:
    """Search from one vertex as one rank of a rank group; every rank calls this with its own state."""
    return drive(paths_program(Endpoint(wire), state, source), wire)


def joined(ranks: Sequence[RankPaths], source: int, milliseconds: float) -> SSSPResult:
    """Put the ranks' labels together to those of the graph."""
    vertices = sum(len(rank.distance) for rank in ranks)
    distance = numpy.empty(vertices, ranks[0].distance.dtype)
    tree = ranks[0].predecessor
    predecessor = None if tree is None else numpy.empty(vertices, tree.dtype)
    put_together(ranks, distance, predecessor)
    return SSSPResult(source, distance, predecessor, milliseconds, ranks[0].rounds)


class PartitionPaths:
    """A search by weights over a partition, whose ranks take turns in this process.

    `labels` has the ranks' records of the last search. Raises as `agree_program` does.
    """

    strategy = "partition"
    reason = "the graph is partitioned by degree separation"
    backend = "cpu"

    def __init__(
        self, graph: PartitionedGraph, *, tree: bool = True, options: PathOptions = DEFAULTS
    ) -> None:
        started = time.perf_counter()
        self._graph = graph
        self._states = run_in_lock_step(
            lambda end: made_program(end, graph.of_rank(end.rank), tree=tree, options=options), graph.ranks
        )
        self.labels: Sequence[RankPaths] = ()
        self.prepare_milliseconds = (time.perf_counter() - started) * 1e3

    def run(self, source: int) -> SSSPResult:
        """Search from one vertex; raises ValueError when it is not in the graph."""
        self._states[0].agreed.check_source(source)
        started = time.perf_counter()
        labels = run_in_lock_step(
            lambda end: paths_program(end, self._states[end.rank], source), self._graph.ranks
        )
        self.labels = labels
        return joined(labels, source, (time.perf_counter() - started) * 1e3)
