"""The hub that ranks in different processes meet at; here the ranks are threads with sockets."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from multiprocessing.connection import Client
from typing import Any

import pytest

from pipeline.cluster.gang import Hub, SocketRank, run_rank
from stages.gang import GangBroken


def gather(hub: Hub, function: Callable[..., Any], items: list[Any]) -> list[Any]:
    """Run the ranks in threads and return their answers."""
    answers: list[Any] = [None] * len(items)

    def go(rank: int) -> None:
        answers[rank] = run_rank(function, hub.invitation(rank), items[rank])

    threads = [threading.Thread(target=go, args=(rank,)) for rank in range(len(items))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    return answers


def exchange(context: SocketRank, item: int) -> list[list[int]]:
    found = []
    for step in range(20):
        context.barrier()
        found.append(context.all_gather(item * step))
    return found


@pytest.mark.parametrize("size", [1, 2, 5])
def test_every_rank_gets_every_value_in_rank_order(size: int) -> None:
    hub = Hub("127.0.0.1", size)
    answers = gather(hub, exchange, list(range(size)))
    hub.close()
    expected = [[rank * step for rank in range(size)] for step in range(20)]
    assert answers == [(True, expected)] * size
    assert hub.problem is None


def fails(context: SocketRank, item: str) -> list[Any]:
    if item == "fail":
        raise ValueError("no luck")
    if item == "leave":
        return []
    if item == "vanish":
        context._connection.close()
        return []
    if item == "sleep":
        time.sleep(3)
    return context.all_gather(item)


@pytest.mark.parametrize(
    ("item", "words"),
    [
        ("fail", "rank 1 failed: ValueError: no luck"),
        ("leave", "ended while"),
        ("vanish", "rank 1 died"),
        ("sleep", r"\[1\] kept the others waiting"),
    ],
)
def test_nobody_waits_for_a_rank_that_does_not_come(item: str, words: str) -> None:
    hub = Hub("127.0.0.1", 3, time_limit=0.3)
    began = time.monotonic()
    answers = gather(hub, fails, ["stay", item, "stay"])
    hub.close()
    assert time.monotonic() - began < 10
    for rank in (0, 2):
        done, error = answers[rank]
        assert not done
        assert isinstance(error, GangBroken)
        with pytest.raises(GangBroken, match=words):
            raise error
    if item == "fail":
        assert isinstance(answers[1][1], ValueError)


def test_ranks_that_never_start_are_named() -> None:
    hub = Hub("127.0.0.1", 3, join_limit=0.2)
    answers = gather(hub, fails, ["stay", "stay"])
    hub.close()
    assert not answers[0][0]
    assert "ranks [2] did not start" in str(answers[0][1])


def test_a_stranger_without_the_key_is_turned_away() -> None:
    hub = Hub("127.0.0.1", 1)
    from multiprocessing import AuthenticationError

    with pytest.raises((AuthenticationError, EOFError, OSError)):
        Client(hub.invitation(0).address, authkey=b"guess")
    assert gather(hub, exchange, [1])[0][0]
    hub.close()


def test_closing_frees_those_who_wait() -> None:
    hub = Hub("127.0.0.1", 2)
    errors: list[Exception] = []

    def wait() -> None:
        try:
            SocketRank(hub.invitation(0)).barrier()
        except GangBroken as error:
            errors.append(error)

    thread = threading.Thread(target=wait)
    thread.start()
    time.sleep(0.2)
    hub.close()
    thread.join(5)
    assert len(errors) == 1
