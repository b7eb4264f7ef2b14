"""The rendezvous that ranks in different processes meet at; here the ranks are threads with sockets."""

from __future__ import annotations

import os
import secrets
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from multiprocessing.connection import Client, Connection
from pathlib import Path
from typing import Any

import pytest

from gravel.pipeline.workers.rank_group import SocketRank, run_rank
from gravel.pipeline.workers.rendezvous import HANDSHAKE_LIMIT, MAX_WAITING, Invitation, Rendezvous
from gravel.stages.rank_group import RankGroupBroken, run_in_threads
from tests.pipeline.run_case import until


def gather(rendezvous: Rendezvous, function: Callable[..., Any], items: list[Any]) -> list[Any]:
    """Run the ranks in threads, end the rendezvous, and return their answers."""
    answers: list[Any] = [None] * len(items)

    def go(rank: int) -> None:
        answers[rank] = run_rank(function, rendezvous.invitation(rank), items[rank])

    threads = [threading.Thread(target=go, args=(rank,)) for rank in range(len(items))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    rendezvous.close()
    return answers


def exchange(context: SocketRank, item: int) -> list[list[int]]:
    found = []
    for step in range(20):
        context.barrier()
        found.append(context.all_gather(item * step))
    return found


@pytest.mark.parametrize("size", [1, 2, 5])
def test_every_rank_gets_every_value_in_rank_order(size: int) -> None:
    rendezvous = Rendezvous("127.0.0.1", size)
    answers = gather(rendezvous, exchange, list(range(size)))
    expected = [[rank * step for rank in range(size)] for step in range(20)]
    assert answers == [(True, expected)] * size
    assert rendezvous.problem is None


def reports(context: SocketRank, item: int) -> None:
    for done in range(3):
        context.progress(done, 2, f"steps of {item}")
        context.barrier()


def test_the_first_rank_says_how_far_the_group_is() -> None:
    heard: list[Any] = []
    rendezvous = Rendezvous("127.0.0.1", 3, report=lambda *given: heard.append(given))
    assert gather(rendezvous, reports, [7, 8, 9]) == [(True, None)] * 3
    assert heard == [(done, 2, "steps of 7") for done in range(3)]


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
    rendezvous = Rendezvous("127.0.0.1", 3, time_limit=1 if item == "sleep" else 60)
    answers = gather(rendezvous, fails, ["stay", item, "stay"])
    for rank in (0, 2):
        done, error = answers[rank]
        assert not done
        assert isinstance(error, RankGroupBroken)
        with pytest.raises(RankGroupBroken, match=words):
            raise error
    if item == "fail":
        assert isinstance(answers[1][1], ValueError)


def test_ranks_that_never_start_are_named() -> None:
    answers = gather(Rendezvous("127.0.0.1", 3, join_limit=0.2), fails, ["stay", "stay"])
    assert not answers[0][0]
    assert "ranks [2] did not start" in str(answers[0][1])


def test_a_stranger_without_the_key_is_turned_away() -> None:
    rendezvous = Rendezvous("127.0.0.1", 1)
    from multiprocessing import AuthenticationError

    with pytest.raises((AuthenticationError, EOFError, OSError)):
        Client(rendezvous.invitation(0).address, authkey=b"guess")
    assert gather(rendezvous, exchange, [1])[0][0]


def test_small_messages_do_not_wait_for_each_other_on_either_side() -> None:
    rendezvous = Rendezvous("127.0.0.1", 1)
    member = SocketRank(rendezvous.invitation(0))
    member.barrier()
    for connection in (member._connection, rendezvous._members[0].connection):
        with socket.socket(fileno=os.dup(connection.fileno())) as own:
            assert own.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
    member.leave(None)
    rendezvous.close()


def test_closing_frees_those_who_wait() -> None:
    rendezvous = Rendezvous("127.0.0.1", 2)
    errors: list[Exception] = []

    def wait() -> None:
        try:
            SocketRank(rendezvous.invitation(0)).barrier()
        except RankGroupBroken as error:
            errors.append(error)

    thread = threading.Thread(target=wait)
    thread.start()
    until(lambda: rendezvous._members, 60)
    rendezvous.close()
    thread.join(60)
    assert len(errors) == 1


def passes_on(context: Any, item: int) -> list[Any]:
    """Send much to everybody at once, under two numbers, and take it in the other order."""
    others = [rank for rank in range(context.size) if rank != context.rank]
    large = b"x" * (4 << 20)
    for number in (0, 1):
        for to in others:
            context.send(to, number, (context.rank, to, number, large))
    found = []
    for number in (1, 0):
        for sender in others:
            *letter, body = context.receive(sender, number)
            assert body == large
            found.append(letter)
    context.barrier()
    return found


def expected_letters(rank: int, size: int) -> list[Any]:
    return [[sender, rank, number] for number in (1, 0) for sender in range(size) if sender != rank]


@pytest.mark.parametrize("size", [2, 4])
def test_parcels_are_found_by_sender_and_number(size: int) -> None:
    answers = gather(Rendezvous("127.0.0.1", size, time_limit=20), passes_on, [0] * size)
    assert answers == [(True, expected_letters(rank, size)) for rank in range(size)]
    assert run_in_threads(passes_on, [0] * size) == [expected_letters(rank, size) for rank in range(size)]


def waits_for_parcel(context: Any, item: str) -> Any:
    if item == "fail":
        raise ValueError("no luck")
    if item == "vanish":
        context._connection.close()
    if item == "sleep":
        time.sleep(2)
    if item == "stay":
        return context.receive(1, 7)
    return None


@pytest.mark.parametrize(
    ("item", "words"),
    [
        ("fail", "rank 1 failed: ValueError: no luck"),
        ("leave", "rank 1 ended"),
        ("vanish", "rank 1 died"),
        ("sleep", "heard nothing from rank 1"),
    ],
)
def test_nobody_waits_for_a_parcel_that_cannot_come(item: str, words: str) -> None:
    rendezvous = Rendezvous("127.0.0.1", 3, time_limit=1 if item == "sleep" else 60)
    answers = gather(rendezvous, waits_for_parcel, ["stay", item, "stay"])
    assert [done for done, _ in answers[::2]] == [False, False]
    assert any(words in str(answers[rank][1]) for rank in (0, 2))
    for rank in (0, 2):
        assert isinstance(answers[rank][1], RankGroupBroken)


@pytest.mark.parametrize(
    ("item", "kind"), [("fail", ValueError), ("leave", RankGroupBroken), ("sleep", RankGroupBroken)]
)
def test_threads_do_not_wait_for_such_a_parcel_either(item: str, kind: type[Exception]) -> None:
    with pytest.raises(kind):
        run_in_threads(waits_for_parcel, ["stay", item, "stay"], time_limit=0.3)


def test_connections_that_say_nothing_hold_up_nobody() -> None:
    rendezvous = Rendezvous("127.0.0.1", 3, handshake_limit=600)
    silent = [socket.create_connection(rendezvous.invitation(0).address) for _ in range(8)]
    answers = gather(rendezvous, exchange, [0, 1, 2])
    for each in silent:
        each.close()
    assert [done for done, _ in answers] == [True] * 3, answers


def test_a_connection_that_says_nothing_is_cut_at_the_time_limit() -> None:
    rendezvous = Rendezvous("127.0.0.1", 2, handshake_limit=0.2)
    with socket.create_connection(rendezvous.invitation(0).address, timeout=60) as silent:
        began = time.monotonic()
        while silent.recv(1024):  # its challenge, then the end
            pass
        assert time.monotonic() - began < HANDSHAKE_LIMIT - 2
    rendezvous.close()


def test_of_too_many_connections_without_a_key_the_oldest_are_cut() -> None:
    rendezvous = Rendezvous("127.0.0.1", 2, join_limit=10)
    silent = [
        socket.create_connection(rendezvous.invitation(0).address, timeout=5) for _ in range(MAX_WAITING + 10)
    ]
    answers = gather(rendezvous, exchange, [0, 1])
    for each in silent[:10]:
        while each.recv(1024):
            pass
    for each in silent:
        each.close()
    assert [done for done, _ in answers] == [True] * 2, answers


def test_no_rank_joins_twice_and_none_that_there_is_not() -> None:
    rendezvous = Rendezvous("127.0.0.1", 2)
    first = SocketRank(rendezvous.invitation(0))
    while 0 not in rendezvous._members:
        time.sleep(0.01)  # else the stranger may be the first to come
    for rank, words in ((0, "rank 0 has joined already"), (7, "there is no rank 7 among 2")):
        stranger = SocketRank(replace(rendezvous.invitation(0), rank=rank))
        with pytest.raises(RankGroupBroken, match=words):
            stranger.all_gather("stranger")
    second = SocketRank(rendezvous.invitation(1))
    said: list[Any] = []
    other = threading.Thread(target=lambda: said.append(second.all_gather("second")))
    other.start()
    assert first.all_gather("first") == ["first", "second"]
    other.join(60)
    assert said == [["first", "second"]]
    for rank in (first, second):
        rank.leave(None)
    rendezvous.close()


def test_nobody_listens_once_all_ranks_have_joined() -> None:
    rendezvous = Rendezvous("127.0.0.1", 1)
    member = SocketRank(rendezvous.invitation(0))
    member.barrier()
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            socket.create_connection(rendezvous.invitation(0).address, timeout=1).close()
        except ConnectionRefusedError:
            break
        time.sleep(0.05)
    else:
        pytest.fail("the port is still open")
    member.leave(None)
    rendezvous.close()


def test_what_the_key_is_not_shown_for_is_never_unpickled(tmp_path: Path) -> None:
    rendezvous = Rendezvous("127.0.0.1", 1)
    mark = tmp_path / "mark"
    with socket.create_connection(rendezvous.invitation(0).address, timeout=5) as stranger:
        connection = Connection(os.dup(stranger.fileno()))
        connection.send(_Touches(str(mark)))
        with suppress(EOFError, OSError):
            while connection.recv_bytes():
                pass
        connection.close()
    assert gather(rendezvous, exchange, [1])[0][0]
    assert not mark.exists()


class _Touches:
    def __init__(self, path: str) -> None:
        self._path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (self._path,)


def test_a_rank_unpickles_nothing_of_a_rendezvous_that_has_only_what_ranks_answer(tmp_path: Path) -> None:
    """What listens in the rendezvous's place passes the challenge of one rank to another and back."""
    mark = tmp_path / "mark"
    key = secrets.token_bytes(32)
    with socket.create_server(("127.0.0.1", 0)) as fake:
        address = fake.getsockname()[:2]
        outcomes: list[Any] = []

        def rank(number: int) -> None:
            outcomes.append(run_rank(exchange, Invitation(address, key, number, 2, 2.0), number))

        threads = [threading.Thread(target=rank, args=(number,)) for number in range(2)]
        for thread in threads:
            thread.start()
        one, two = (Connection(fake.accept()[0].detach()) for _ in range(2))
        with suppress(EOFError, OSError):
            # Rank `one` is told its answer is right, and asks for ours: `two` is made to give it.
            one.send_bytes(b"#CHALLENGE#" + bytes(20))
            one.recv_bytes()
            one.send_bytes(b"#WELCOME#")
            two.send_bytes(one.recv_bytes())
            one.send_bytes(two.recv_bytes())
            one.send(_Touches(str(mark)))
            while one.poll(1):
                one.recv_bytes()
        one.close()
        two.close()
        for thread in threads:
            thread.join(10)
    assert not mark.exists()
    assert [done for done, _ in outcomes] == [False, False]
