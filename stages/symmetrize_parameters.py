"""The parameters of `symmetrize`."""

from __future__ import annotations

from typing import Literal

from gravel.stages.stage import Parameters


class SymmetrizeParameters(Parameters):
    """Parameters: the arcs that an edge makes, and those that are kept."""

    direction: Literal["both", "as_given", "reverse"] = "both"
    """`both` makes two arcs of each edge. For directed searches, `as_given` (source to target) and `reverse`
    make one. A list that is declared undirected always makes both."""

    duplicates: Literal["remove", "keep"] = "remove"
    """Arcs that occur more than once."""

    self_loops: Literal["remove", "keep"] = "remove"
    """Arcs from a vertex to itself; a kept loop is one arc."""

    weights: Literal["leave_out", "minimum", "sum", "error"] = "leave_out"
    """Keep the weights of the edges for shortest paths. An arc that occurs more than once gets the
    `minimum` or the `sum` of its weights, or is an `error` if they differ. Integers are stored as such, other
    weights as float32. With `duplicates: keep` each arc keeps its own weight."""
