"""Messages between ranks are cut and assigned to rounds in which both ends find the same pieces."""

from __future__ import annotations

import numpy
import pytest

from gravel.kernels.partition.nccl import vertices
from gravel.kernels.partition.nccl.vertices import cut, rounds


@pytest.mark.parametrize("most_bytes", [0, 8, 64])
def test_both_ends_of_a_message_are_in_one_round(monkeypatch: pytest.MonkeyPatch, most_bytes: int) -> None:
    monkeypatch.setattr(vertices, "MAX_AT_ONCE", 4)
    sizes = {(0, 1): 40, (0, 2): 3, (1, 0): 7, (1, 2): 0, (2, 1): 100}
    lists = {pair: numpy.arange(size) for pair, size in sizes.items() if size}
    sends = [
        rounds(cut([(b, x) for (a, b), x in lists.items() if a == rank], most_bytes)) for rank in range(3)
    ]
    receives = [
        rounds(cut([(a, x) for (a, b), x in lists.items() if b == rank], most_bytes)) for rank in range(3)
    ]
    for a, b in lists:
        sent = [[x.tolist() for to, x in each if to == b] for each in sends[a]]
        received = [[x.tolist() for origin, x in each if origin == a] for each in receives[b]]
        assert [each for each in sent if each] == [each for each in received if each]
        assert [bool(each) for each in sent[: len(received)]] == [
            bool(each) for each in received[: len(sent)]
        ]
        assert max(map(len, sent)) <= 4
        assert [x for each in sent for piece in each for x in piece] == lists[a, b].tolist()
