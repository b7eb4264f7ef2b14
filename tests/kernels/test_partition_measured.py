"""The cost model against searches on H200 GPUs: what it was fitted to, one that it misses, and levels."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kernels.partition import predict
from kernels.partition.census import Division
from kernels.partition.machines import H200_NCCL, H200_PEER
from kernels.partition.model import BUSIEST_FIRST, HUBS_FIRST, Searching, hosts_of

DIVISIONS = {
    22: Division(32, delegates=417_997, nn=1_097_548, mixed=23_908_038, dd=103_307_164),
    24: Division(32, delegates=1_311_691, nn=4_265_552, mixed=94_734_088, dd=421_760_740),
}
"""Of Graph500 R-MAT graphs with edge factor 16 and seed 1, at threshold 32."""

OWN_ORDER = replace(BUSIEST_FIRST, label_bytes=6)
DEGREE_ORDER = replace(HUBS_FIRST, label_bytes=6)
FORWARD = replace(OWN_ORDER, direction_optimized=False)

FITTED = (22, 1, FORWARD, 1.115)
"""The search that `cached_rate` was fitted to."""

MEASURED = [
    (22, 1, DEGREE_ORDER, 0.230),
    (22, 2, DEGREE_ORDER, 0.334),
    (22, 1, OWN_ORDER, 0.220),
    (22, 2, OWN_ORDER, 0.334),
    (24, 1, DEGREE_ORDER, 0.342),
    (24, 2, DEGREE_ORDER, 0.433),
    (24, 1, OWN_ORDER, 0.398),
    (24, 2, OWN_ORDER, 0.447),
]
"""Medians of 16 sources in ms, distances alone: `tests.benchmarks.ranks 22 24 --ranks 1 2 --threshold 32
--sources 16`, with and without `--degree-order`. Times of levels that find hardly anything and those of
labels went into the model, but none of these. Those of two ranks, `FITTED` and `MISSED` are of earlier
kernels, for which it was made."""

MISSED = (22, 2, FORWARD, 0.934)
"""Two ranks do not take half of what one does: its largest level waits long for the slowest block."""


def milliseconds(scale: int, ranks: int, how: Searching) -> float:
    return 1e3 * predict(DIVISIONS[scale], vertices=1 << scale, ranks=ranks, searching=how).seconds


@pytest.mark.parametrize(("scale", "ranks", "how", "measured"), [FITTED, *MEASURED])
def test_searches_are_predicted_within_a_sixth(
    scale: int, ranks: int, how: Searching, measured: float
) -> None:
    assert milliseconds(scale, ranks, how) == pytest.approx(measured, rel=1 / 6)


def test_what_is_missed_takes_longer_than_predicted() -> None:
    scale, ranks, how, measured = MISSED
    assert 0.78 * measured < milliseconds(scale, ranks, how) < 5 / 6 * measured


def test_neither_order_nor_number_of_ranks_is_favoured() -> None:
    errors = [milliseconds(scale, ranks, how) / measured - 1 for scale, ranks, how, measured in MEASURED]
    assert abs(sum(errors) / len(errors)) < 0.1


@pytest.mark.parametrize(("ranks", "measured"), [(1, 19.2e-6), (2, 31.1e-6)])
def test_levels_that_find_hardly_anything(ranks: int, measured: float) -> None:
    """The mean of the first two and the last two levels of four searches, visits to the last meeting."""

    def seconds(levels: int) -> float:
        how = Searching(levels=levels, mask_levels=0)
        return predict(DIVISIONS[22], vertices=1 << 22, ranks=ranks, searching=how).seconds

    assert (seconds(10) - seconds(0)) / 10 == pytest.approx(measured, rel=0.05)


@pytest.mark.parametrize(("ranks", "measured", "within"), [(1, 0.86, 0.2), (2, 0.97, 0.2)])
def test_degree_order_is_faster_by_less_than_measured(ranks: int, measured: float, within: float) -> None:
    found = milliseconds(24, ranks, DEGREE_ORDER) / milliseconds(24, ranks, OWN_ORDER)
    assert measured < found < 1
    assert found == pytest.approx(measured, rel=within)


@pytest.mark.parametrize(("ranks", "fastest", "slowest"), [(1, 2.0, 2.9), (2, 3.2, 4.6)])
def test_a_host_that_launches_every_level_takes_milliseconds(
    ranks: int, fastest: float, slowest: float
) -> None:
    """Over NCCL at scale 22, with all options: 1.86 to 3.97 ms on one GPU, 2.76 to 5.17 on two."""
    facts = {"vertices": 1 << 22, "ranks": ranks, "hosts": hosts_of(ranks, H200_NCCL)}
    sends = replace(OWN_ORDER, nn_visited=1.0, nn_backward_levels=0.0)
    found = 1e3 * predict(DIVISIONS[22], machine=H200_NCCL, searching=sends, **facts).seconds
    assert 0.9 * fastest < found < 1.1 * slowest
    assert found > 4 * 1e3 * predict(DIVISIONS[22], machine=H200_PEER, searching=OWN_ORDER, **facts).seconds
