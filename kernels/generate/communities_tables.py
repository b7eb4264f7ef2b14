"""What the kernels of a graph with communities need beside an edge's number."""

from __future__ import annotations

from decimal import Decimal, localcontext
from functools import lru_cache
from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.arrays import index_bits
from gravel.kernels.generate.counter import MASK, draw

BUNDLE = 8
"""Edges of a bundle: a byte each of one draw tells where runs go on."""

BINS_PER_OCTAVE = 8
DIGITS = 40  # of the decimals, beyond what a threshold of 64 bits can tell

RUN_STREAM, SOURCE_STREAM, TARGET_STREAM = 21, 22, 23
HEADER = 8  # numbers of the first table before those of the levels
PER_LEVEL = 5  # threshold, logarithm of the size, first bin, bins, threshold of hubs
DRAWS = 4  # of an edge: level and hub, community, bin, number in the bin


@lru_cache(maxsize=8)
def community_tables(
    vertices: int,
    edges: int,
    seed: int,
    exponent: float,
    sizes: tuple[int, ...],
    mixing: tuple[float, ...],
    run: float,
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Everything the kernels need beside the edge's number, uint64 each.

    The first array: vertices; 2^64 over the number of bundles; three starts of counters; the chance, in
    units of 1/256, that a run goes on; the number of levels; 0. Then for each level: the share of this and
    lower levels in units of 2^-32; the logarithm of its size; the first bin of what it consists of (for the
    first level numbers, for others communities of the level below) and how many bins there are; the share
    of its edges that leads to hubs, in units of 2^-32. The other arrays: for each bin its upper threshold
    in units of 2^-64, and the first number in it, with one more at the end of each level.
    """
    bundles = -(-edges // BUNDLE)
    spans = [*sizes, 1 << index_bits(vertices)]
    numbers = [vertices, MASK // max(bundles, 1)]
    numbers += [draw(seed, stream) for stream in (RUN_STREAM, SOURCE_STREAM, TARGET_STREAM)]
    numbers += [round((1 - 1 / run) * 256), len(spans), 0]
    thresholds: list[int] = []
    starts: list[int] = []
    hubs = _hub_shares(sizes, mixing, exponent)
    share, below = 0.0, 1
    for level, span in enumerate(spans):
        share += mixing[level]
        upper, first_numbers = _bins(max(1, -(-min(span, vertices) // below)), exponent)
        numbers += [1 << 32 if level == len(sizes) else round(share * (1 << 32)), span.bit_length() - 1]
        numbers += [len(thresholds), len(upper), hubs[level]]
        thresholds += [*upper, MASK]
        starts += first_numbers
        below = span
    return (
        numpy.array(numbers, numpy.uint64),
        numpy.array(thresholds, numpy.uint64),
        numpy.array(starts, numpy.uint64),
    )


def _hub_shares(sizes: tuple[int, ...], mixing: tuple[float, ...], exponent: float) -> list[int]:
    """Shares of each level's edges that lead to hubs, in units of 2^-32.

    With a share c of all edges spread as in innermost communities, ranks of a level go on as the ranks of
    the one below end if c * size^(s - 1) of all edges lead to its communities' first numbers, for the size
    of those. Where that is more than there are, the power law ends there.
    """
    with localcontext() as context:
        context.prec = DIGITS
        power = 1 - 1 / (Decimal(repr(exponent)) - 1)
        wanted = [Decimal(below) ** -power for below in sizes]
        shares = [Decimal(repr(share)) for share in mixing[1:]]
        spread = Decimal(1)
        for _ in range(64):
            to_hubs = [min(part, spread * want) for part, want in zip(shares, wanted, strict=True)]
            spread = 1 - sum(to_hubs, Decimal(0))
        parts = [
            min(Decimal(1), spread * want / part) if part else Decimal(0)
            for part, want in zip(shares, wanted, strict=True)
        ]
        return [0, *(int(part * (1 << 32)) for part in parts)]


@lru_cache(maxsize=32)
def _bins(numbers: int, exponent: float) -> tuple[list[int], list[int]]:
    """Bins of 0..numbers-1: upper thresholds, and first numbers with `numbers` behind them."""
    edges = list(range(min(numbers, 2 * BINS_PER_OCTAVE)))
    width = 2
    while BINS_PER_OCTAVE * width < numbers:
        base = BINS_PER_OCTAVE * width
        edges += [base + i * width for i in range(BINS_PER_OCTAVE) if base + i * width < numbers]
        width *= 2
    edges.append(numbers)
    with localcontext() as context:
        context.prec = DIGITS
        power = 1 - 1 / (Decimal(repr(exponent)) - 1)
        half = Decimal("0.5")
        # The integral of x^-s from half a number before to half a number after; numbers count from 1.
        areas = [(Decimal(edge) + half) ** power - half**power for edge in edges]
        upper = [int(area / areas[-1] * MASK) for area in areas[1:]]
    return upper, edges
