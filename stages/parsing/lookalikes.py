"""Files of other kinds whose lines can be read as edges: what they look like, and how to convert them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gravel.stages.parsing.head import is_integer, is_number

if TYPE_CHECKING:
    from gravel.stages.edge_columns import EdgeColumns
    from gravel.stages.parsing.delimiters import Cut

ARROWS = frozenset({b"->", b"<-", b"<->", b"--", b"=>", b"-->", b"-", b"<--"})
MIDDLE = "`columns: {source: 1, target: 3}` reads the outer two columns as the ends"


def other_kind(cut: Cut, found: EdgeColumns, rows: Sequence[Sequence[bytes]], name: str) -> str | None:
    """Name the other kind of file that the first rows of a list look like, and how to convert it; else None.

    `name` is the file's: a name that ends in .sif, .hgr or .adjlist says as much.
    """
    if not rows:
        return None
    ending = name.lower().rpartition(".")[2]
    kind = (
        _with_middle(cut, found, rows, ending) or _counts(cut, ending) or _adjacency(cut, found, rows, ending)
    )
    return None if kind is None else f"the lines are read as edges; they look like {kind}"


def _with_middle(cut: Cut, found: EdgeColumns, rows: Sequence[Sequence[bytes]], ending: str) -> str | None:
    if cut.columns != 3 or len(rows) < 2 or found.weight >= 0:
        return None
    middles = {row[1] for row in rows}
    if middles <= ARROWS:
        return f"arrows between vertices (a -> b): {MIDDLE}"
    if ending == "sif" or 2 * len(middles) <= len(rows):
        if any(map(is_number, middles)):
            return None
        if ending == "sif":
            return f"SIF (vertex, interaction, vertex): {MIDDLE}"
        return f"triples (subject, relation, object): {MIDDLE}"
    return None


def _counts(cut: Cut, ending: str) -> str | None:
    """Tell a first line that states how many vertices and edges follow."""
    first, below = cut.rows[0], [row for row in cut.rows[1:] if row]
    if len(first) not in (2, 3) or not all(map(is_integer, first)) or not below:
        return None
    ids = [int(each) for row in below for each in row[:2] if is_integer(each)]
    if not ids:
        return None
    one, two = int(first[0]), int(first[1])
    if ending == "hgr" and one == len(below):
        return (
            "hMETIS (hyperedges, vertices, then a hyperedge on each line): write an edge for each pair of "
            "vertices that a hyperedge joins"
        )
    if two == len(below) and one >= max(ids):
        return (
            "an edge list whose first line states its counts of vertices and edges: remove that line, or set "
            "`header: true`"
        )
    return None


def _adjacency(cut: Cut, found: EdgeColumns, rows: Sequence[Sequence[bytes]], ending: str) -> str | None:
    """Tell lines of a vertex and its neighbours: each vertex begins one line, and neighbours are vertices."""
    if cut.delimiter or cut.columns < 3 or len(rows) < 3 or found.weight != 2:
        return None
    begins = [row[0] for row in rows]
    vertices = {each for row in rows for each in row[:2]}
    others = {each for row in rows for each in row[2:]}
    listed = (
        len(set(begins)) == len(begins) and others <= vertices and all(is_integer(each) for each in others)
    )
    if ending in ("adjlist", "adj") or listed:
        return (
            "adjacency lists (a vertex, then its neighbours): convert them, for example with "
            "networkx.read_adjlist and networkx.write_edgelist"
        )
    return None
