"""Where the nn arcs of a rank lead: every vertex once, those of a rank together, by ids of that rank."""

from __future__ import annotations

from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.buffers import make
from gravel.kernels.partition.buffers import heads_on_cpu


class Heads:
    """The different heads of arcs: `compact_ids` (arcs,) has the place of each arc's head, uint32.

    `ids` (heads,) are vertices as their ranks call them, uint32.
    """

    def __init__(self, columns: NDArray[Any], ranks: int) -> None:
        heads, places = numpy.unique(columns, return_inverse=True)
        kept = make(heads_on_cpu(len(places), len(heads)), numpy)
        self.compact_ids, self.ids = kept["compact_ids"], kept["heads"]
        owners = (heads % heads.dtype.type(ranks)).astype(numpy.uint16)
        order = numpy.argsort(owners, kind="stable")
        by_owner = numpy.empty(len(heads), numpy.uint32)
        by_owner[order] = numpy.arange(len(heads), dtype=numpy.uint32)
        numpy.take(by_owner, places, out=self.compact_ids, mode="clip")
        self.ids[:] = heads[order] // heads.dtype.type(ranks)
        self.starts: NDArray[numpy.int64] = numpy.searchsorted(owners[order], numpy.arange(ranks + 1))

    def at(self, rank: int) -> slice:
        """Give the places of a rank's vertices."""
        return slice(int(self.starts[rank]), int(self.starts[rank + 1]))
