"""The checks of components by the ranks that hold the graph; every rank comes to the same findings.

They are those of `gravel.kernels.verify.check_components` on the whole graph, by a union-find of their own:
each rank joins what its arcs join, half of the ranks then tell their forests to the other half until the
first has joined all, and that one tells every rank the roots of its vertices. A rank holds one value for each
vertex of the graph: all labels first, its forest then.

    checks = drive(check_components_program(Endpoint(wire), LabelChecker(part, delegates, n, p), own), wire)

with `gravel.kernels.verify.ranks.components_cpu.RankLabelChecker` or `...components_cuda.RankLabelChecker`.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from gravel.kernels.exchange import Endpoint, Program, Ticket, gather, swap
from gravel.kernels.partition.distributor.program import PIECE, gather_pieces
from gravel.kernels.partition.layout import local_count
from gravel.kernels.verify.given import refuse_labels
from gravel.kernels.verify.ranks.labels import LabelChecker
from gravel.kernels.verify.result import NAMED, Check
from gravel.kernels.verify.rules import COMPONENTS

Steps = Generator[Ticket, dict[int, Any], Any]
Finding = Generator[Ticket, dict[int, Any], Check]


def check_components_program(
    end: Endpoint, checker: LabelChecker, component: Any, *, piece: int = PIECE
) -> Program[list[Check]]:
    """Check component labels as one rank; every rank runs this with its own labels.

    Parameters
    ----------
    component : any integer, of the own vertices.
    piece : values that a rank tells another at once.

    Returns what `gravel.kernels.verify.check_components` does for the whole graph. Raises ValueError for
    labels of another number of vertices.

    """
    refuse_labels((checker.local,), holder="rank", component=component)
    checks = [(yield from _own(end, checker, "ranges", checker.out_of_range(component)))]
    if checks[0].faults:
        return checks
    labels = component.astype(checker.known.dtype, copy=False)
    yield from gather_pieces(
        end, labels, local_count(checker.vertex_count, end.size, 0), checker.learn, piece=piece
    )
    checks.append((yield from _edges_agree(end, checker)))
    checks.append((yield from _own(end, checker, "smallest", checker.not_smallest(labels))))
    # Nobody reads labels of others any more: the forest takes their place.
    checker.join_own()
    yield from _join_all(end, checker, piece)
    roots = yield from _tell_roots(end, checker, piece)
    checks.append((yield from _own(end, checker, "connected", checker.unconnected(labels, roots))))
    return checks


def _own(end: Endpoint, checker: LabelChecker, name: str, places: Any) -> Finding:
    """Put together what each rank found among its own vertices."""
    gathered = yield from gather(end, (len(places), checker.vertices_at(places[:NAMED])))
    return Check(
        name, COMPONENTS[name], sum(count for count, _ in gathered), _first([some for _, some in gathered])
    )


def _edges_agree(end: Endpoint, checker: LabelChecker) -> Finding:
    rows = checker.xp.flatnonzero(checker.unlike_rows())
    gathered = yield from gather(end, (len(rows), checker.vertices_at(rows[:NAMED])))
    bits = yield from gather(end, checker.packed(checker.unlike_delegates()))
    delegates = checker.delegates_in(bits)
    faults = sum(count for count, _ in gathered) + len(delegates)
    known = [int(v) for v in checker.host(delegates[:NAMED])]
    vertices = _first([*(some for _, some in gathered), known])
    if not vertices:
        return Check("edges_agree", COMPONENTS["edges_agree"])
    seen = yield from gather(end, [checker.unlike_neighbour(v) for v in vertices])
    arcs = tuple(
        (v, min(w for w in of_vertex if w >= 0))
        for v, of_vertex in zip(vertices, zip(*seen, strict=True), strict=True)
    )
    return Check("edges_agree", COMPONENTS["edges_agree"], faults, vertices, arcs)


def _join_all(end: Endpoint, checker: LabelChecker, piece: int) -> Steps:
    """Let rank 0 know all forests: of 2k ranks the k-th tells the first, for k of 1, 2, 4, ..."""
    step = 1
    while step < end.size:
        place = end.rank % (2 * step)
        for first in range(0, checker.vertex_count, piece):
            parcels: dict[int, Any] = dict.fromkeys(end.others)
            if place == step:
                parcels[end.rank - step] = checker.known[first : first + piece]
            arrived = yield from swap(end, parcels)
            if place == 0 and end.rank + step < end.size:
                checker.join_labels(first, arrived[end.rank + step])
        step *= 2


def _tell_roots(end: Endpoint, checker: LabelChecker, piece: int) -> Steps:
    """Give each rank the roots of its vertices, which rank 0 knows."""
    if end.rank == 0:
        checker.flatten()
    roots = checker.empty(checker.local)
    count = max(1, piece // end.size)
    for first in range(0, local_count(checker.vertex_count, end.size, 0), count):
        parcels: dict[int, Any] = dict.fromkeys(end.others)
        if end.rank == 0:
            parcels = {rank: checker.roots_of(rank, first, count) for rank in end.others}
        arrived = yield from swap(end, parcels)
        values = checker.roots_of(0, first, count) if end.rank == 0 else arrived[0]
        roots[first : first + len(values)] = values
    return roots


def _first(by_rank: list[list[int]]) -> tuple[int, ...]:
    return tuple(sorted(v for several in by_rank for v in several)[:NAMED])
