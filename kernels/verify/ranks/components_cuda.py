"""The loops of a rank's checks of components on the current GPU; the kernels are `components.cu`."""

from __future__ import annotations

from typing import Any

import numpy

from gravel.kernels.partition.layout import RankGraph
from gravel.kernels.verify.ranks.cuda import OnDevice, wide
from gravel.kernels.verify.ranks.labels import LabelChecker

NN, ND, DN, DD = 0, 1, 2, 3
"""Kinds of rows in `components.cu`."""


class RankLabelChecker(OnDevice, LabelChecker):
    """A rank's checks with CuPy arrays, which `part` and `delegates` have, too."""

    def __init__(self, part: RankGraph, delegates: Any, vertex_count: int, ranks: int) -> None:
        import cupy

        self.xp = cupy
        OnDevice.__init__(self, "kernels/verify/ranks/components.cu", delegates)
        LabelChecker.__init__(self, part, delegates, vertex_count, ranks)
        self._here = numpy.uint32(self.rank), numpy.uint32(ranks)

    def unlike_rows(self) -> Any:
        """Tell which own vertices have a neighbour of another label in their nn and nd rows."""
        nn, nd = self.part.nn, self.part.nd
        flags = self.xp.zeros(self.local, numpy.uint8)
        known = self.delegates, self.known, self.local, *self._here
        self._run("unlike_rows", self.local, *nn, *nd, wide(nn, nd), *known, flags)
        return flags

    def unlike_delegates(self) -> Any:
        """Tell which delegates have one in this rank's part of their rows."""
        count = len(self.delegates)
        flags = self.xp.zeros(count, numpy.uint8)
        for rows, kind in ((self.part.dn, DN), (self.part.dd, DD)):
            facts = wide(rows), numpy.uint32(kind), self.delegates, count, self.known, *self._here
            self._run("unlike_delegates", 32 * count, *rows, *facts, flags)
        return flags

    def join_own(self) -> None:
        """Make the forest of the arcs that are held here."""
        self._run("plant", self.vertex_count, self.known, self.vertex_count)
        for rows, kind in ((self.part.nn, NN), (self.part.nd, ND)):
            facts = wide(rows), numpy.uint32(kind), self.delegates, self.local, *self._here
            self._run("join_rows", self.local, *rows, *facts, self.known)
        rows, count = self.part.dd, len(self.delegates)
        self._run("join_delegates", 32 * count, *rows, wide(rows), self.delegates, count, self.known)

    def join_labels(self, first: int, parents: Any) -> None:
        """Join vertices from `first` on with the parents that another rank has for them."""
        self._run("join_received", len(parents), parents, first, len(parents), self.known)

    def flatten(self) -> None:
        """Point every vertex at its root."""
        self._run("flatten", self.vertex_count, self.known, self.vertex_count)
