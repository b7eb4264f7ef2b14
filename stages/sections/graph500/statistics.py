"""Statistics as the Graph500 reference code 3.0 takes them (`src/main.c`, `get_statistics`)."""

from __future__ import annotations

import math
from collections.abc import Sequence

ORDERS = ("min", "firstquartile", "median", "thirdquartile", "max")


def order_statistics(values: Sequence[float]) -> list[float]:
    """Return the least, the quartiles and the greatest; a quartile is the mean of the two nearest."""
    ordered, last = sorted(values), len(values) - 1
    return [
        ordered[0],
        (ordered[last // 4] + ordered[len(values) // 4]) / 2,
        (ordered[last // 2] + ordered[len(values) // 2]) / 2,
        (ordered[last - last // 4] + ordered[last - len(values) // 4]) / 2,
        ordered[last],
    ]


def mean_and_deviation(values: Sequence[float]) -> tuple[float, float]:
    """Return the mean and the sample's standard deviation, which is no number for a single value."""
    mean = math.fsum(values) / len(values)
    if len(values) < 2:
        return mean, math.nan
    return mean, math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1))


def harmonic_mean_and_error(slowness: Sequence[float]) -> tuple[float, float]:
    """Return the harmonic mean of rates, given as seconds per edge, and its standard error.

    The error is that of N. Norris, The Annals of Mathematical Statistics 11 (1940), p. 445: s / (m^2
    sqrt(n - 1)) with mean m and standard deviation s of the seconds per edge.
    """
    mean, deviation = mean_and_deviation(slowness)
    error = deviation / (mean**2 * math.sqrt(len(slowness) - 1)) if len(slowness) > 1 else math.nan
    return 1 / mean, error
