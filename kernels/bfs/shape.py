"""What a graph looks like: the skew of its degrees, and how fast a search of it grows.

Measured before a strategy is chosen: on the host from a sample of degrees, on a GPU from all degrees and from
one short search (`kernels/bfs/cuda/shape.cu`).
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray

TOP = 0.01
"""The share of the vertices whose arcs tell how skewed the degrees are."""

BINS = 64

SAMPLE = 1 << 18
"""Vertices whose degrees the host looks at: 2^18 take about 10 ms."""


@dataclass(frozen=True)
class Growth:
    """The levels of a search from the vertex of most arcs, up to where it stopped.

    `vertices` and `arcs` count what each level holds, its expansion not included; `complete` says that
    nothing was left to search.
    """

    vertices: tuple[int, ...]
    arcs: tuple[int, ...]
    complete: bool

    def levels(self, all_arcs: int) -> float:
        """Levels of a whole search: counted, or drawn out as the power law of the last half of them."""
        seen, steps = sum(self.arcs), len(self.arcs)
        if self.complete or steps < 2 or not seen:
            return float(steps)
        half = steps // 2
        power = math.log(seen / max(1, sum(self.arcs[:half]))) / math.log(steps / half)
        return float(steps * max(1.0, all_arcs / seen) ** (1 / max(power, 0.5)))


@dataclass(frozen=True)
class Shape:
    """One graph, measured. `top_share` is the share of the arcs that the `TOP` largest vertices hold."""

    vertices: int
    arcs: int
    symmetric: bool
    linked: int
    largest_degree: int
    top_share: float
    growth: Growth | None
    milliseconds: float

    @property
    def mean_degree(self) -> float:
        """Arcs per vertex that has any."""
        return self.arcs / max(1, self.linked)

    @property
    def levels(self) -> float | None:
        """About how many levels a search from the largest vertex has; None if none was made."""
        return None if self.growth is None else self.growth.levels(self.arcs)

    @property
    def arcs_per_level(self) -> float | None:
        """Arcs of a level on average; None if no search was made."""
        return None if self.levels is None else self.arcs / max(1.0, self.levels)

    def skew(self) -> str:
        """Say how the arcs are spread."""
        return f"the largest {TOP:.0%} of the vertices hold {self.top_share:.0%} of the arcs"


def top_share(vertices: Sequence[int], arcs: Sequence[int]) -> float:
    """Share of the arcs that the `TOP` largest of the linked vertices hold, from a histogram.

    Entry b counts vertices whose degree has b bits, and their arcs; within an entry the vertices count alike.
    """
    linked, total = sum(vertices[1:]), sum(arcs)
    left = max(1.0, TOP * linked)
    known = 0.0
    for count, own in zip(reversed(vertices[1:]), reversed(arcs[1:]), strict=True):
        taken = min(left, count)
        known += own * taken / count if count else 0.0
        left -= taken
    return known / total if total else 0.0


def measure_on_host(row_offsets: NDArray[Any], column_indices: NDArray[Any], *, symmetric: bool) -> Shape:
    """Measure a graph in host memory by evenly spaced degrees.

    No search is made: the CPU searches choose level by level what depth would tell beforehand.
    """
    import numpy

    started = time.perf_counter()
    n = len(row_offsets) - 1
    step = max(1, n // SAMPLE)
    rows = numpy.arange(0, n, step)
    degrees = row_offsets[rows + 1] - row_offsets[rows]
    bits = numpy.frexp(degrees.astype(numpy.float64))[1]
    vertices = numpy.bincount(bits, minlength=BINS)
    arcs = numpy.bincount(bits, weights=degrees, minlength=BINS)
    return Shape(
        vertices=n,
        arcs=len(column_indices),
        symmetric=symmetric,
        linked=min(n, int(vertices[1:].sum()) * step),
        largest_degree=int(degrees.max(initial=0)),
        top_share=top_share(vertices.tolist(), arcs.tolist()),
        growth=None,
        milliseconds=(time.perf_counter() - started) * 1e3,
    )
