"""What a search breaks, as checks that name the first offenders: those of `check_bfs`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy

from gravel.kernels.verify.cuda.batch import SearchBatch
from gravel.kernels.verify.result import NAMED, Check
from gravel.kernels.verify.rules import BFS

RULES = tuple(BFS)
"""In the order of rules.cuh."""


def checks_of(batch: SearchBatch, place: int) -> list[Check]:
    """Return the checks of one search of a batch whose rows were passed."""
    counts = dict(zip(RULES, (int(count) for count in batch.counts[place]), strict=True))
    alone = not batch.with_distance
    # Levels that are counted along the tree differ by one.
    vertex_rules = RULES[: 2 if not batch.with_tree else 3 if alone else 4]
    bits = None
    if any(counts[rule] for rule in vertex_rules):
        bits = batch.tree_bits(place)[0] if alone else batch.vertex_bits(place)
    checks = [_check(rule, counts[rule], _first(bits, rule)) for rule in vertex_rules]
    if counts["ranges"] and (not alone or batch.strange[place]):
        return checks[:1]
    if not alone and batch.with_tree and (counts["tree"] or counts["tree_levels"]):
        # Levels that fall along the tree prove it free of cycles; these do not, so walk it.
        checks[2] = _with_lost(batch, place, checks[2])
    arc_rules = ["edge_levels", "component", "tree_arcs" if batch.with_tree else "nearer_neighbour"]
    bits = batch.row_bits(place) if any(counts[rule] for rule in arc_rules) else None
    return checks + [_arc_check(batch, place, rule, counts[rule], _first(bits, rule)) for rule in arc_rules]


def _check(
    rule: str, faults: int, vertices: tuple[int, ...], arcs: tuple[tuple[int, int], ...] = ()
) -> Check:
    return Check(rule, BFS[rule], faults, vertices if faults else (), arcs)


def vertex_check(name: str, text: str, faults: int, bits: Any, place: int) -> Check:
    """Make a check of vertices that break a rule, those with bit `place`, with the first of them."""
    return Check(name, text, faults, _with_bit(bits, place) if faults else ())


def _first(bits: Any, rule: str) -> tuple[int, ...]:
    """Name the first vertices that break a rule."""
    return () if bits is None else _with_bit(bits, RULES.index(rule))


def _with_bit(bits: Any, place: int) -> tuple[int, ...]:
    import cupy

    return tuple(int(v) for v in cupy.flatnonzero(bits & (1 << place))[:NAMED].get())


def _with_lost(batch: SearchBatch, place: int, check: Check) -> Check:
    """Add the vertices whose predecessors do not lead to the source."""
    bits, counts = batch.tree_bits(place)
    vertices = sorted({*check.vertices, *_first(bits, "tree")})[:NAMED]
    faults = max(check.faults, int(counts[RULES.index("tree")]))
    return replace(check, faults=faults, vertices=tuple(vertices))


def _arc_check(batch: SearchBatch, place: int, rule: str, faults: int, vertices: tuple[int, ...]) -> Check:
    arcs: tuple[tuple[int, int], ...] = ()
    if faults and rule == "tree_arcs":
        arcs = tuple((int(batch.parents.array[place, v]), v) for v in vertices)
    elif faults and rule != "nearer_neighbour":
        arcs = tuple((v, _bad_neighbour(batch, place, rule, v)) for v in vertices)
    return _check(rule, faults, vertices, arcs)


def _bad_neighbour(batch: SearchBatch, place: int, rule: str, vertex: int) -> int:
    """Find the first neighbour with which a vertex breaks a rule."""
    columns = batch.blocks.columns_of(vertex).astype(numpy.int64)
    level, *others = batch.table.levels_of(place, numpy.concatenate(([vertex], columns)))
    other = numpy.array(others)
    if rule == "component":
        bad = other < 0
    else:
        bad = other > level + 1
        if batch.bounds.symmetric:
            bad |= (other >= 0) & (other < level - 1)
    return int(columns[numpy.flatnonzero(bad)[0]])
