"""The cost model describes the searches on H200 GPUs that its rates were fitted to, levels and wholes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kernels.partition import predict
from kernels.partition.census import Division
from kernels.partition.machines import H200_NCCL, H200_PEER
from kernels.partition.model import HUBS_FIRST, Searching, hosts_of

DIVISIONS = {
    22: Division(32, delegates=417_997, nn=1_097_548, mixed=23_908_038, dd=103_307_164),
    24: Division(32, delegates=1_311_691, nn=4_265_552, mixed=94_734_088, dd=421_760_740),
}
"""Of Graph500 R-MAT graphs with edge factor 16 and seed 1, at threshold 32."""

OWN_ORDER = Searching(label_bytes=4)
DEGREE_ORDER = replace(HUBS_FIRST, label_bytes=4)
FORWARD = replace(OWN_ORDER, direction_optimized=False)

MEASURED = [
    (22, 1, DEGREE_ORDER, 0.344),
    (22, 2, DEGREE_ORDER, 0.513),
    (24, 1, DEGREE_ORDER, 0.551),
    (24, 2, DEGREE_ORDER, 0.700),
    (24, 1, OWN_ORDER, 0.825),
    (24, 2, OWN_ORDER, 0.846),
    (22, 1, FORWARD, 1.378),
    (22, 2, FORWARD, 1.044),
    (24, 1, FORWARD, 5.533),
    (24, 2, FORWARD, 3.262),
]
"""Medians of 16 sources in ms, distances alone: `tests.benchmarks.ranks 22 24 --ranks 1 2 --threshold 32`,
with and without `--degree-order`; those that go forward alone with `--options`, by an earlier kernel whose
forward visits were much the same."""

AGAIN = [
    (22, 1, DEGREE_ORDER, 0.338),
    (22, 2, DEGREE_ORDER, 0.519),
    (24, 1, DEGREE_ORDER, 0.594),
    (24, 1, OWN_ORDER, 0.787),
    (24, 2, OWN_ORDER, 0.844),
]
"""From 32 other sources, by a kernel in between. The sixth of them, scale 24 in degree order on two GPUs,
took 1.090 ms, which the model does not explain (the levels that were told of its last source took 0.65)."""

BEFORE = [(22, 1, 0.553), (22, 2, 0.623), (24, 1, 1.431), (24, 2, 1.254)]
"""In the graph's own order, before first columns were kept apart and queues made only where needed."""


def milliseconds(scale: int, ranks: int, how: Searching) -> float:
    return 1e3 * predict(DIVISIONS[scale], vertices=1 << scale, ranks=ranks, searching=how).seconds


@pytest.mark.parametrize(("scale", "ranks", "how", "measured"), [*MEASURED, *AGAIN])
def test_searches_are_predicted_within_a_sixth(
    scale: int, ranks: int, how: Searching, measured: float
) -> None:
    assert milliseconds(scale, ranks, how) == pytest.approx(measured, rel=1 / 6)


def test_neither_order_nor_number_of_ranks_is_favoured() -> None:
    errors = [milliseconds(scale, ranks, how) / measured - 1 for scale, ranks, how, measured in MEASURED]
    assert abs(sum(errors) / len(errors)) < 0.1


@pytest.mark.parametrize(("scale", "ranks", "measured"), BEFORE)
def test_kernels_were_slower_before(scale: int, ranks: int, measured: float) -> None:
    assert measured / 2 < milliseconds(scale, ranks, OWN_ORDER) < measured


@pytest.mark.parametrize(("ranks", "measured"), [(1, 25e-6), (2, 44.5e-6)])
def test_levels_that_find_hardly_anything(ranks: int, measured: float) -> None:
    """The mean of levels 0, 1, 5 and 6 of all six searches, visits to the last meeting."""

    def seconds(levels: int) -> float:
        how = Searching(levels=levels, mask_levels=0)
        return predict(DIVISIONS[22], vertices=1 << 22, ranks=ranks, searching=how).seconds

    assert (seconds(10) - seconds(0)) / 10 == pytest.approx(measured, rel=0.05)


def test_order_matters_more_to_one_rank_than_to_two() -> None:
    # What delegates look for does not get less with more ranks; measured are 0.67 and 0.83.
    one, two = (
        milliseconds(24, ranks, DEGREE_ORDER) / milliseconds(24, ranks, OWN_ORDER) for ranks in (1, 2)
    )
    assert one < two
    assert one == pytest.approx(0.67, rel=0.2)
    assert two == pytest.approx(0.83, rel=0.2)


@pytest.mark.parametrize(("ranks", "fastest", "slowest"), [(1, 2.6, 3.6), (2, 3.0, 5.2)])
def test_a_host_that_launches_every_level_takes_milliseconds(
    ranks: int, fastest: float, slowest: float
) -> None:
    """Over NCCL at scale 22, with all options: 2.678 to 3.519 ms on one GPU, 3.069 to 5.178 on two."""
    facts = {"vertices": 1 << 22, "ranks": ranks, "hosts": hosts_of(ranks, H200_NCCL)}
    found = 1e3 * predict(DIVISIONS[22], machine=H200_NCCL, searching=OWN_ORDER, **facts).seconds
    assert 0.9 * fastest < found < 1.1 * slowest
    assert found > 4 * 1e3 * predict(DIVISIONS[22], machine=H200_PEER, searching=OWN_ORDER, **facts).seconds
