"""The policies: what is run of what falls due, under every order of events, with a clock that jumps."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gravel.pipeline.schedule.job import Job
from gravel.pipeline.schedule.policy import (
    CORRECTION,
    IN_TIME,
    MAX_LOST,
    MAX_MISSED,
    MAX_WAITING,
    State,
    Waiting,
    again,
    decide,
    next_start,
)
from gravel.pipeline.schedule.times import from_iso

START = from_iso("2026-11-20T00:00:00Z")
HOUR = 3600


def job(**changes: object) -> Job:
    return Job("j", "/w.yaml", "0 * * * *", "UTC", START, id="x", **changes)  # type: ignore[arg-type]


def after(hours: float, of: Job, state: State | None = None, *, running: bool = False) -> State:
    return decide(of, state or State(START), START + hours * HOUR, running)[0]


def waits(state: State) -> list[float]:
    """The due times that wait, in hours after the start."""
    return [(each.due - START) / HOUR for each in state.waiting]


def test_nothing_is_due_before_its_time():
    assert after(0.99, job()) == State(START)
    assert next_start(job(), State(START), START) == START + HOUR


@pytest.mark.parametrize("policy", ["none", "once", "all"])
def test_what_is_in_time_is_run_under_every_policy(policy: str):
    state = after(1 + (IN_TIME - 1) / HOUR, job(catch_up=policy))
    assert (waits(state), state.missed, state.decided) == ([1], 0, START + HOUR)
    assert after(1.9, job(), replace(state, waiting=())).waiting == (), "a due time is decided once"


@pytest.mark.parametrize(
    ("policy", "found", "missed"), [("none", [], 3), ("once", [3], 2), ("all", [1, 2, 3], 0)]
)
def test_what_was_missed(policy: str, found: list[float], missed: int):
    state = after(3.5, job(catch_up=policy))
    assert (waits(state), state.missed, state.decided) == (found, missed, START + 3 * HOUR)


def test_without_catching_up_the_newest_is_run_if_it_is_in_time():
    state = after(3.01, job(catch_up="none"))
    assert (waits(state), state.missed) == ([3], 2)


def test_a_clock_that_went_far_ahead():
    years = 20 * 365 * 24
    assert waits(after(years, job(catch_up="once"))) == [years]
    found = waits(after(years, job(catch_up="all")))
    assert found == [years - MAX_MISSED + 1 + each for each in range(MAX_MISSED)]


def test_a_clock_that_went_back_a_little_repeats_nothing():
    state = replace(after(3, job()), waiting=())
    for hours in (2.9, 1, 0.1):
        assert after(hours, job(), state) == state
    assert next_start(job(), state, START + HOUR) == START + 4 * HOUR
    assert waits(after(4, job(), state)) == [4]


def test_a_clock_that_was_wrong_and_is_put_right_counts_anew():
    wrong = replace(after(24 * 365, job()), waiting=())
    told: list[str] = []
    now = START + 5.5 * HOUR
    assert wrong.decided - now > CORRECTION
    assert next_start(job(), wrong, now) == START + 6 * HOUR
    right, told = decide(job(), wrong, now, False)
    assert (right.decided, right.waiting) == (int(now), ())
    assert "the clock went back" in told[0]
    assert waits(after(6, job(), right)) == [6]


@pytest.mark.parametrize("policy", ["none", "once", "all"])
def test_overlap_skip(policy: str):
    of = job(overlap="skip", catch_up=policy)
    state, told = decide(of, State(START), START + HOUR, True)
    assert (state.waiting, state.skipped, state.decided) == ((), 1, START + HOUR)
    assert "a run still goes" in told[0]
    waiting = after(1, of)
    assert waits(after(2, of, waiting)) == [1], "one that waits counts as one that goes"


def test_overlap_queue():
    of = job(overlap="queue")
    state = after(1, of, running=True)
    state = after(2, of, state, running=True)
    assert (waits(state), state.skipped) == ([1, 2], 0)
    full = replace(state, waiting=tuple(Waiting(START + each) for each in range(MAX_WAITING)))
    refused = after(3, of, full, running=True)
    assert (len(refused.waiting), refused.skipped) == (MAX_WAITING, 1)


def test_jitter_delays_and_keeps_the_order():
    of = job(jitter=1800.0, catch_up="all")
    starts = [of.starts(START + hour * HOUR) - START - hour * HOUR for hour in range(200)]
    assert all(0 <= each < 1800 for each in starts)
    assert len(set(starts)) == 200
    assert max(starts) > 1500
    assert min(starts) < 300
    assert of.starts(START) == job(jitter=1800.0).starts(START), "everyone draws the same"
    assert of.starts(START) != replace(of, id="y").starts(START)
    start = of.starts(START + HOUR)
    assert next_start(of, State(START), START) == start
    assert decide(of, State(START), start - 1, False)[0] == State(START)
    assert waits(decide(of, State(START), start, False)[0]) == [1]
    late = START + 1000 * HOUR - 1
    state = decide(of, State(START), late, False)[0]
    assert of.starts(state.decided) <= late


@pytest.mark.parametrize(
    ("policy", "lost", "waiting", "found"),
    [
        ("none", 1, [], []),
        ("once", 1, [], [(1, 2)]),
        ("once", 1, [2], [(2, 1)]),
        ("once", MAX_LOST, [], []),
        ("all", 1, [2], [(1, 2), (2, 1)]),
        ("all", MAX_LOST, [2], [(2, 1)]),
    ],
)
def test_a_lost_run_is_run_again_if_the_job_catches_up(
    policy: str, lost: int, waiting: list[int], found: list[tuple[int, int]]
):
    state = State(START, tuple(Waiting(each) for each in waiting))
    state = again(job(catch_up=policy), state, 1, 1, lost)
    assert [(each.due, each.attempt) for each in state.waiting] == found


@settings(max_examples=60, deadline=None)
@given(
    catch_up=st.sampled_from(["none", "once", "all"]),
    overlap=st.sampled_from(["skip", "queue"]),
    jitter=st.sampled_from([0.0, 600.0, 9000.0]),
    events=st.lists(
        st.tuples(st.integers(-int(CORRECTION), 6 * HOUR), st.booleans(), st.booleans()), max_size=30
    ),
)
def test_no_due_time_is_ever_run_twice(
    catch_up: str, overlap: str, jitter: float, events: list[tuple[int, bool, bool]]
):
    """Passes at any times, the clock going back by up to what is no correction, runs that start and end."""
    of = job(catch_up=catch_up, overlap=overlap, jitter=jitter)
    state, now, furthest, running = State(START), START, START, False
    run: list[int] = []
    for step, ends, claims in events:
        now = max(now + step, furthest - int(CORRECTION))
        furthest = max(furthest, now)
        running = running and not ends
        state = decide(of, state, now, running)[0]
        assert State.from_json(state.to_json()) == state
        if claims and not running and state.waiting:
            run.append(state.waiting[0].due)
            assert of.starts(run[-1]) <= furthest
            state, running = replace(state, waiting=state.waiting[1:]), True
    assert len(run) == len(set(run))
    assert run == sorted(run)
