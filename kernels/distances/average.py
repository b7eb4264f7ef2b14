"""The mean distance between vertices, estimated from searches of some of them, with confidence bounds.

It is the ratio of two sums over sources: of distances, and of vertices reached. Cochran, Sampling Techniques,
1977, section 6.4, for a sample without replacement.
"""

from __future__ import annotations

import math
from statistics import NormalDist

from gravel.kernels.distances.aggregates import Aggregates


def mean_distance(found: Aggregates, candidates: int, confidence: float) -> tuple[float, float, float]:
    """Return the mean over all pairs that reach each other, and the bounds of a confidence interval.

    `found` are the results of a sample of the `candidates`, of all vertices that reach others. The bounds are
    the mean itself where all were searched from, and a sample of one bounds nothing from above. Without pairs
    all are NaN.
    """
    count = len(found.reached)
    others = found.reached - 1.0
    pairs = float(others.sum())
    if pairs == 0:
        return math.nan, math.nan, math.nan
    mean = float(found.total.sum()) / pairs
    if count >= candidates:
        return mean, mean, mean
    if count == 1:
        return mean, 1.0, math.inf
    residual = found.total - mean * others
    variance = float((residual**2).sum()) / (count - 1) * (1 - count / candidates)
    error = math.sqrt(variance / count) / (pairs / count)
    off = _student(0.5 + confidence / 2, count - 1) * error
    return mean, max(1.0, mean - off), mean + off


def _student(probability: float, freedom: int) -> float:
    """Return a quantile of Student's t, from that of the normal distribution (Fisher and Cornish, 1960)."""
    z = NormalDist().inv_cdf(probability)
    terms = (
        z,
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
    )
    return float(sum(term / freedom**power for power, term in enumerate(terms)))
