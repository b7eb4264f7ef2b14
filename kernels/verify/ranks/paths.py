"""The checks of a search by weights by the ranks that hold the graph; every rank comes to the same findings.

They are those of `gravel.kernels.verify.sssp` on the whole graph, whose arcs have to go both ways with one
weight. A rank holds the distances of all vertices. Predecessors are followed only where some are not nearer.

    checks = drive(check_paths_program(Endpoint(wire), RankPathChecker(part, ..., exact), source, d, q), wire)

with `gravel.kernels.verify.ranks.paths_cpu.RankPathChecker`.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.exchange import Endpoint, Program, Ticket, gather
from gravel.kernels.partition.distributor.program import PIECE, gather_pieces
from gravel.kernels.partition.layout import local_count
from gravel.kernels.verify.given import refuse_labels, refuse_sources
from gravel.kernels.verify.ranks.paths_cpu import TREE_ARC, RankPathChecker
from gravel.kernels.verify.result import NAMED, Check
from gravel.kernels.verify.sssp import COMPONENT, RELAXED, RULES
from gravel.kernels.verify.tree import LOST, levels_of

Steps = Generator[Ticket, dict[int, Any], Any]
Finding = Generator[Ticket, dict[int, Any], Check]


def check_paths_program(
    end: Endpoint,
    checker: RankPathChecker,
    source: int,
    distance: NDArray[Any],
    predecessor: NDArray[Any] | None,
    *,
    piece: int = PIECE,
) -> Program[list[Check]]:
    """Check one search as one rank; every rank runs this with its own labels.

    Parameters
    ----------
    distance : int32, int64 or float64, of the own vertices; predecessor : int32 or int64, likewise, or None.
    piece : values that a rank tells all others at once.

    Returns what `gravel.kernels.verify.sssp.check_sssp` does for the whole graph. Raises ValueError for
    labels of another number of vertices, and for a source that is not in the graph.

    """
    n = checker.vertex_count
    refuse_labels((checker.local,), holder="rank", distance=distance, predecessor=predecessor)
    refuse_sources([source], n)
    strange = checker.strange(distance, predecessor)
    reports = yield from gather(end, (len(strange), checker.vertices_at(strange[:NAMED])))
    faults = sum(count for count, _ in reports)
    checks = [Check("ranges", RULES["ranges"], faults, _first(some for _, some in reports))]
    if faults:
        return checks
    most = local_count(n, end.size, 0)
    exact = distance.astype(checker.exact, copy=False)
    yield from gather_pieces(end, exact, most, checker.learn, piece=piece)
    at = source // end.size if source % end.size == end.rank else -1
    rooted = at >= 0 and (distance[at] != 0 or (predecessor is not None and predecessor[at] != -1))
    wrong = any((yield from gather(end, bool(rooted))))
    checks.append(Check.of(RULES, "source", [source] * wrong))
    if predecessor is not None:
        checks.append((yield from _tree(end, checker, source, predecessor, most, piece)))
    return checks + (yield from _arcs(end, checker, predecessor))


def _tree(
    end: Endpoint, checker: RankPathChecker, source: int, predecessor: NDArray[Any], most: int, piece: int
) -> Finding:
    nearer = checker.nearer_all_the_way(predecessor, source)
    if all((yield from gather(end, nearer))):
        return Check.of(RULES, "tree", ())
    parents = numpy.empty(checker.vertex_count, predecessor.dtype)

    def learn(rank: int, first: int, values: NDArray[Any]) -> None:
        parents[rank + first * end.size :: end.size][: len(values)] = values

    yield from gather_pieces(end, predecessor, most, learn, piece=piece)
    levels = levels_of(parents, source)
    lost = (levels == LOST) | ((levels >= 0) != checker.reached(checker.known))
    return Check.of(RULES, "tree", numpy.flatnonzero(lost))


def _arcs(
    end: Endpoint, checker: RankPathChecker, predecessor: NDArray[Any] | None
) -> Generator[Ticket, dict[int, Any], list[Check]]:
    of_delegates = None
    if predecessor is not None:
        gathered = yield from gather(end, checker.own_delegates(predecessor))
        of_delegates = checker.of_delegates(gathered, numpy.int64)
    checker.join_delegates((yield from gather(end, checker.see_rows(predecessor, of_delegates))))
    rules = {"relaxed": RELAXED, "component": COMPONENT}
    if predecessor is not None:
        rules = {"tree_arcs": TREE_ARC, **rules}
    checks = []
    for name, rule in rules.items():
        reports = yield from gather(end, checker.faults(rule, predecessor))
        vertices = _first(some for _, _, some in reports)
        arcs: tuple[tuple[int, int], ...] = ()
        if vertices:
            arcs = yield from _named(end, checker, vertices, rule, predecessor)
        # Every rank counts all delegates.
        faults = sum(count for count, _, _ in reports) + reports[0][1]
        checks.append(Check(name, RULES[name], faults, vertices, arcs))
    return checks


def _named(
    end: Endpoint,
    checker: RankPathChecker,
    vertices: tuple[int, ...],
    rule: int,
    predecessor: NDArray[Any] | None,
) -> Steps:
    """Name an offending arc of each vertex."""
    if rule == TREE_ARC:
        assert predecessor is not None
        known = yield from gather(end, [checker.parent_of(v, predecessor) for v in vertices])
        parents = [max(of_vertex) for of_vertex in zip(*known, strict=True)]
        return tuple(zip(parents, vertices, strict=True))
    seen = yield from gather(end, [checker.offender(v, rule) for v in vertices])
    others = [min((w for w in of_vertex if w >= 0), default=-1) for of_vertex in zip(*seen, strict=True)]
    return tuple(zip(vertices, others, strict=True))


def _first(by_rank: Any) -> tuple[int, ...]:
    return tuple(sorted({v for several in by_rank for v in several})[:NAMED])
