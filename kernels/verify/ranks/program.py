"""The checks as each rank goes through them; every rank comes to the same findings."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.exchange import Endpoint, Program, Ticket, gather
from gravel.kernels.partition.distributor.program import gather_pieces
from gravel.kernels.partition.layout import local_count
from gravel.kernels.verify.bfs import ARC_RULES, VERTEX_RULES, check_tree, with_lost
from gravel.kernels.verify.given import refuse_labels, refuse_sources
from gravel.kernels.verify.ranks.checker import RULES, Checker
from gravel.kernels.verify.ranks.rows import RankRows, padded_sum
from gravel.kernels.verify.result import NAMED, Check
from gravel.kernels.verify.rules import BFS
from gravel.kernels.verify.tree import RANGES, levels_of

Steps = Generator[Ticket, dict[int, Any], Any]


@dataclass(frozen=True)
class LevelSums:
    """Vertices and stored arcs of the whole graph on each level, int64."""

    vertices: NDArray[numpy.int64]
    arcs: NDArray[numpy.int64]


def sum_levels_program(end: Endpoint, rows: RankRows, distance: Any) -> Program[LevelSums]:
    """Count what a search reached, level by level; `distance` is int32, of the own vertices."""
    gathered = yield from gather(end, rows.own_delegates(distance))
    rows.delegate_levels = rows.of_delegates(gathered, numpy.int32)
    sums = yield from gather(end, rows.level_sums(distance))
    vertices, arcs = (padded_sum([of_rank[kind] for of_rank in sums]) for kind in (0, 1))
    arcs = arcs[: len(vertices)]
    return LevelSums(vertices, arcs)


def check_program(
    end: Endpoint,
    checker: Checker,
    source: int,
    distance: Any = None,
    predecessor: Any = None,
    *,
    max_depth: int | None = None,
) -> Program[list[Check]]:
    """Check one search as one rank; every rank runs this with its own labels.

    Parameters
    ----------
    distance : int32, of the own vertices, or None; predecessor : int32 or int64, likewise.
    max_depth : the distance beyond which the search did not go.

    Returns what `gravel.kernels.verify.check_bfs` does for the whole graph. Raises ValueError for labels of
    another number of vertices, when both are None, and for a source that is not in the graph.

    """
    n = checker.vertex_count
    refuse_labels((checker.local,), holder="rank", distance=distance, predecessor=predecessor)
    refuse_sources([source], n)
    limit = n - 1 if max_depth is None else max_depth
    deepest = n if max_depth is None else max_depth
    most = local_count(n, end.size, 0)
    if distance is None:
        parents = yield from _all_parents(end, checker, predecessor, most)
        checks, levels = check_tree(parents, source, limit)
        if levels is None:
            return checks
        checker.learn_all_levels(levels)
    else:
        yield from gather_pieces(end, distance, most, checker.learn_levels)
        checks = yield from _check_vertices(end, checker, predecessor, source, limit)
        if checks[0].faults:
            return checks
        if predecessor is not None and (checks[2].faults or checks[3].faults):
            parents = yield from _all_parents(end, checker, predecessor, most)
            checks[2] = with_lost(levels_of(parents, source), checks[2])
    return checks + (yield from _check_arcs(end, checker, predecessor, deepest))


def _all_parents(end: Endpoint, checker: Checker, predecessor: Any, most: int) -> Steps:
    parents = numpy.empty(checker.vertex_count, predecessor.dtype)

    def learn(rank: int, first: int, values: Any) -> None:
        parents[rank + first * end.size :: end.size][: len(values)] = checker.host(values)

    yield from gather_pieces(end, predecessor, most, learn)
    return parents


def _check_vertices(
    end: Endpoint, checker: Checker, predecessor: Any, source: int, limit: int
) -> Generator[Ticket, dict[int, Any], list[Check]]:
    gathered = yield from gather(end, checker.count_vertex_faults(predecessor, source, limit))
    faults = {rule: sum(counts[place] for counts in gathered) for place, rule in enumerate(RULES)}
    named = ("source", "tree", "tree_levels") if predecessor is not None else ("source",)
    checks = []
    for name in ("ranges", *named):
        rule = VERTEX_RULES.get(name, RANGES)
        vertices: tuple[int, ...] = ()
        if faults[rule]:
            vertices = _first((yield from gather(end, checker.first_vertices(rule))))
        checks.append(Check(name, BFS[name], faults[rule], vertices))
        if faults[RANGES]:
            break
    return checks


def _check_arcs(
    end: Endpoint, checker: Checker, predecessor: Any, deepest: int
) -> Generator[Ticket, dict[int, Any], list[Check]]:
    tree = predecessor is not None
    delegate_parents = None
    if tree:
        gathered = yield from gather(end, checker.own_delegates(predecessor))
        delegate_parents = checker.of_delegates(gathered, numpy.int64)
    seen = yield from gather(end, checker.see_rows(predecessor, delegate_parents, deepest))
    of_rows, of_delegates = checker.count_arc_faults(seen, deepest, tree)
    gathered = yield from gather(end, of_rows)
    checks = []
    for name in ("edge_levels", "component", "tree_arcs" if tree else "nearer_neighbour"):
        rule = ARC_RULES[name]
        place = RULES.index(rule)
        faults = of_delegates[place] + sum(counts[place] for counts in gathered)
        vertices, arcs = (), ()
        if faults:
            vertices, arcs = yield from _name_arcs(end, checker, predecessor, name, rule)
        checks.append(Check(name, BFS[name], faults, vertices, arcs))
    return checks


def _name_arcs(end: Endpoint, checker: Checker, predecessor: Any, name: str, rule: int) -> Steps:
    """Name the first vertices that break a rule, and an arc for each where the rule is about arcs."""
    gathered = yield from gather(end, checker.first_rows(rule))
    vertices = _first([*gathered, checker.first_delegates(rule)])
    if name == "nearer_neighbour":
        return vertices, ()
    if name == "tree_arcs":
        known = yield from gather(end, [checker.parent_of(v, predecessor) for v in vertices])
        parents = [max(of_vertex) for of_vertex in zip(*known, strict=True)]
        return vertices, tuple((w, v) for v, w in zip(vertices, parents, strict=True) if w >= 0)
    seen = yield from gather(end, [checker.bad_neighbour(v, rule) for v in vertices])
    arcs = []
    for v, of_vertex in zip(vertices, zip(*seen, strict=True), strict=True):
        others = [w for w in of_vertex if w >= 0]
        arcs += [(v, min(others))] if others else []
    return vertices, tuple(arcs)


def _first(by_rank: list[list[int]]) -> tuple[int, ...]:
    return tuple(sorted(v for several in by_rank for v in several)[:NAMED])
