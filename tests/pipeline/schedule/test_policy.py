"""The policies: what is run of what falls due, under every order of events, with a clock that jumps."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gravel.pipeline.schedule.job import Job
from gravel.pipeline.schedule.policy import (
    CORRECTION,
    MAX_COUNTED,
    MAX_LOST,
    State,
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


def waits(state: State) -> float | None:
    """The due time that waits, in hours after the start."""
    return None if state.waiting is None else (state.waiting - START) / HOUR


def test_nothing_is_due_before_its_time():
    assert after(0.99, job()) == State(START)
    assert next_start(job(), State(START), START) == START + HOUR


def test_a_due_time_is_decided_once():
    state = after(1.1, job())
    assert (waits(state), state.skipped, state.decided) == (1, 0, START + HOUR)
    state = replace(state, waiting=None)
    assert after(1.9, job(), state) == state


def test_what_was_missed_is_run_once():
    state, told = decide(job(), State(START), START + 3.5 * HOUR, False)
    assert (waits(state), state.skipped, state.decided) == (3, 2, START + 3 * HOUR)
    assert "2 due times before 2026-11-20T03:00:00Z were missed" in told[0]
    years = 20 * 365 * 24
    state = after(years, job())
    assert (waits(state), state.skipped) == (years, MAX_COUNTED - 1)


def test_a_clock_that_went_back_a_little_repeats_nothing():
    state = replace(after(3, job()), waiting=None)
    for hours in (2.9, 1, 0.1):
        assert after(hours, job(), state) == state
    assert next_start(job(), state, START + HOUR) == START + 4 * HOUR
    assert waits(after(4, job(), state)) == 4


def test_a_clock_that_was_wrong_and_is_put_right_counts_anew():
    wrong = replace(after(24 * 365, job()), waiting=None)
    told: list[str] = []
    now = START + 5.5 * HOUR
    assert wrong.decided - now > CORRECTION
    assert next_start(job(), wrong, now) == START + 6 * HOUR
    right, told = decide(job(), wrong, now, False)
    assert (right.decided, right.waiting) == (int(now), None)
    assert "the clock went back" in told[0]
    assert waits(after(6, job(), right)) == 6


def test_a_run_at_work_is_not_doubled():
    state, told = decide(job(), State(START), START + HOUR, True)
    assert (state.waiting, state.skipped, state.decided) == (None, 1, START + HOUR)
    assert "a run still goes" in told[0]
    waiting = after(1, job())
    assert waits(after(2, job(), waiting)) == 1, "one that waits counts as one that goes"


def test_jitter_delays_and_keeps_the_order():
    of = job(jitter=1800.0)
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
    assert waits(decide(of, State(START), start, False)[0]) == 1
    late = START + 1000 * HOUR - 1
    state = decide(of, State(START), late, False)[0]
    assert of.starts(state.decided) <= late


@pytest.mark.parametrize(
    ("lost", "waiting", "found"), [(1, None, 1), (1, 2, 2), (MAX_LOST, None, None), (MAX_LOST, 2, 2)]
)
def test_a_lost_run_is_run_again(lost: int, waiting: int | None, found: int | None):
    assert again(State(START, waiting), 1, lost).waiting == found


@settings(max_examples=60, deadline=None)
@given(
    jitter=st.sampled_from([0.0, 600.0, 9000.0]),
    events=st.lists(
        st.tuples(st.integers(-int(CORRECTION), 6 * HOUR), st.booleans(), st.booleans()), max_size=30
    ),
)
def test_no_due_time_is_ever_run_twice(jitter: float, events: list[tuple[int, bool, bool]]):
    """Passes at any times, the clock going back by up to what is no correction, runs that start and end."""
    of = job(jitter=jitter)
    state, now, furthest, running = State(START), START, START, False
    run: list[int] = []
    for step, ends, claims in events:
        now = max(now + step, furthest - int(CORRECTION))
        furthest = max(furthest, now)
        running = running and not ends
        state = decide(of, state, now, running)[0]
        assert State.from_json(state.to_json()) == state
        if claims and not running and state.waiting is not None:
            run.append(state.waiting)
            assert of.starts(run[-1]) <= furthest
            state, running = replace(state, waiting=None), True
    assert len(run) == len(set(run))
    assert run == sorted(run)
