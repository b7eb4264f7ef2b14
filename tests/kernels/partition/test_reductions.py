"""Reductions of masks: every rank gets the OR of all, for any algorithm, ranks, groups and length."""

from __future__ import annotations

import math
from typing import Any

import numpy
import pytest

from gravel.kernels.exchange import Endpoint, post_arrays, run_in_lock_step, take_arrays
from gravel.kernels.partition.masks import Reduction
from gravel.kernels.partition.reductions import ALGORITHMS, reduction_rounds
from tests.kernels.disorder import DisorderedNetwork

RANKS = (*range(1, 10), 12, 13, 16)
LENGTHS = (0, 1, 3, 64, 1000)


def masks_sent(rounds) -> int:
    """Count the masks that all ranks send."""
    return sum(len(taken) for each in rounds for taken in each)


def grouped(ranks: int) -> list[int]:
    return [0, *(count for count in range(1, ranks + 1) if not ranks % count)]


def masks(ranks: int, words: int, seed: int = 0) -> list[Any]:
    random = numpy.random.default_rng(seed)
    bits = random.integers(0, 1 << 63, (ranks, words), numpy.uint64)
    return list(numpy.where(random.random((ranks, words)) < 0.2, bits, 0).astype(numpy.uint64))


def program(end: Endpoint, own: Any, **choices: Any) -> Any:
    reduction = Reduction(end, **choices)
    found = yield from reduction.end(own, reduction.begin(own))
    return found, reduction.sent_bytes


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("ranks", RANKS)
def test_every_rank_learns_the_or_of_all(ranks: int, algorithm: Any) -> None:
    for groups in grouped(ranks):
        rounds = reduction_rounds(algorithm, ranks, groups)
        for words in LENGTHS:
            own = masks(ranks, words)
            wanted = numpy.bitwise_or.reduce(own)
            for changed_only in (False, True):
                choices: dict[str, Any] = {
                    "algorithm": algorithm,
                    "groups": groups,
                    "changed_only": changed_only,
                }
                before = [mask.copy() for mask in own]
                told = run_in_lock_step(
                    lambda end, own=own, choices=choices: program(end, own[end.rank], **choices), ranks
                )
                for found, _ in told:
                    assert numpy.array_equal(found, wanted)
                assert all(map(numpy.array_equal, own, before))
                sent = sum(each for _, each in told)
                whole = 8 * words * masks_sent(rounds)
                assert sent <= whole if changed_only else sent == whole


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_parcels_may_overtake_each_other(algorithm: Any) -> None:
    for ranks in (2, 3, 5, 6, 8):
        for groups in grouped(ranks):
            for seed in range(4):
                own = masks(ranks, 40, seed)
                network = DisorderedNetwork(ranks, seed, hold=(0.1, 0.9)[seed % 2])
                choices = {"algorithm": algorithm, "groups": groups, "changed_only": seed > 1}
                told = network.run(
                    lambda end, own=own, choices=choices: program(end, own[end.rank], **choices)
                )
                assert all(numpy.array_equal(found, numpy.bitwise_or.reduce(own)) for found, _ in told)


def test_what_the_algorithms_send_and_how_many_rounds_they_take() -> None:
    for ranks in RANKS:
        steps = math.ceil(math.log2(ranks))
        power = 1 << ranks.bit_length() - 1
        beyond = ranks - power
        known = {
            "all_gather": (1 if ranks > 1 else 0, ranks * (ranks - 1)),
            "tree": (2 * steps, 2 * (ranks - 1)),
            "recursive_doubling": (
                int(math.log2(power)) + (2 if beyond else 0),
                power * int(math.log2(power)) + 2 * beyond,
            ),
        }
        for algorithm in ALGORITHMS:
            rounds = reduction_rounds(algorithm, ranks)
            assert (len(rounds), masks_sent(rounds)) == known[algorithm]
    # Two hosts of four: three masks go to each GPU0 and back, and one each way between them.
    for algorithm in ALGORITHMS:
        assert masks_sent(reduction_rounds(algorithm, 8, 2)) == 2 * 3 + 2 + 2 * 3
    # The ranks of a group send to its first one alone, which alone talks to other groups.
    up, among, down = reduction_rounds("recursive_doubling", 6, 2)
    assert up == ((1, 2), (), (), (4, 5), (), ())
    assert among == ((3,), (), (), (0,), (), ())
    assert down == ((), (0,), (0,), (), (3,), (3,))


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(ValueError, match="'all_gather', 'tree', 'recursive_doubling'"):
        reduction_rounds("ring", 4)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="6 ranks do not make 4 equal groups"):
        reduction_rounds("tree", 6, 4)


@pytest.mark.parametrize("most", [0, 4, 12, 1000])
def test_arrays_arrive_whole_whatever_their_messages_hold(most: int) -> None:
    def exchanged(end: Endpoint) -> Any:
        for turn in range(3):
            sizes = {to: (end.rank * 7 + to * 3 + turn) % 11 for to in end.others}
            parcels = {
                to: numpy.arange(size, dtype=numpy.uint32) + 100 * end.rank for to, size in sizes.items()
            }
            came = yield from take_arrays(post_arrays(end, parcels, end.others, most))
            for sender, array in came.items():
                size = (sender * 7 + end.rank * 3 + turn) % 11
                assert numpy.array_equal(array, numpy.arange(size) + 100 * sender)

    run_in_lock_step(exchanged, 4)
    for seed in range(4):
        DisorderedNetwork(4, seed).run(exchanged)
