"""How far apart labels of first neighbours lie: what components of rows in host memory wait for."""

from __future__ import annotations

from collections.abc import Sequence

import numpy

from gravel.kernels.advice.sample import Part
from gravel.kernels.ids.distinct import distinct

HEADS = 2
"""First neighbours that the device has of rows in host memory: those of Afforest's neighbour rounds."""

LINE_LABELS = 32
"""Labels of a cache line."""


def scattered_heads(parts: Sequence[Part]) -> float:
    """Count lines of labels for each first neighbour of the sampled rows: 1 where no two share a line.

    Orders that put hubs first let most rows begin with the same few neighbours. Without arcs it is 0.
    """
    lines = []
    for _, offsets, columns in parts:
        begins = offsets[:-1] - offsets[0]
        lengths = numpy.diff(offsets)
        lines += [columns[begins[lengths > k] + k] // LINE_LABELS for k in range(HEADS)]
    count = sum(map(len, lines))
    return len(distinct(numpy.concatenate(lines))) / count if count else 0.0
