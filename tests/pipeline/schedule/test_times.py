"""When jobs are due: cron expressions, zones, and the hours that clocks leave out or repeat."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gravel.pipeline.core.errors import RequestError
from gravel.pipeline.schedule.times import Times, find_zone, from_iso, iso, local_zone

BERLIN = "Europe/Berlin"  # 2026: forward on 29 March at 02:00, back on 25 October at 03:00


def at(text: str) -> int:
    return from_iso(text)


def due(cron: str, zone: str, after: str, count: int) -> list[str]:
    """The next due times in UTC, each asked for anew, as a service that restarts does."""
    times, moment, found = Times(cron, zone), at(after), []
    for _ in range(count):
        moment = times.after(moment)
        found.append(iso(moment)[5:16])
    assert times.between(at(after), moment, 100) == [at(f"2026-{text}:00Z") for text in found]
    return found


def test_five_fields_in_utc():
    assert due("0 3 * * *", "UTC", "2026-11-20T03:00:00Z", 2) == ["11-21T03:00", "11-22T03:00"]
    found = due("*/20 9-10 * * MON-FRI", "UTC", "2026-11-20T10:21:00Z", 3)
    assert found == ["11-20T10:40", "11-23T09:00", "11-23T09:20"]
    assert due("0 0 L * *", "UTC", "2026-01-31T00:00:00Z", 2) == ["02-28T00:00", "03-31T00:00"]
    assert due("@hourly", "UTC", "2026-01-31T23:59:59Z", 1) == ["02-01T00:00"]


def test_six_fields_begin_with_seconds():
    times = Times("*/15 * * * * *", "UTC")
    start = at("2026-11-20T00:00:00Z")
    assert times.between(start, start + 60, 100) == [start + step for step in (15, 30, 45, 60)]
    assert times.after(start + 14.5) == start + 15


def test_a_zone_moves_the_hour_with_its_season():
    assert due("0 3 * * *", BERLIN, "2026-10-24T12:00:00Z", 2) == ["10-25T02:00", "10-26T02:00"]
    assert due("0 3 * * *", BERLIN, "2026-10-23T12:00:00Z", 2) == ["10-24T01:00", "10-25T02:00"]


@pytest.mark.parametrize("cron", ["0 2 * * *", "30 2 * * *"])
def test_a_time_that_is_left_out_is_due_after_the_gap(cron: str):
    # From 02:00 the clock goes to 03:00, which is 01:00 in UTC.
    first, second, third = due(cron, BERLIN, "2026-03-27T12:00:00Z", 3)
    assert first.startswith("03-28T01")
    assert second == "03-29T01:00"
    assert third.startswith("03-30T00")


def test_two_times_in_the_gap_are_due_once():
    found = due("0,30 2 * * *", BERLIN, "2026-03-29T00:00:00Z", 3)
    assert found == ["03-29T01:00", "03-30T00:00", "03-30T00:30"]


def test_a_time_that_occurs_twice_is_due_the_first_time():
    # 02:30 is 00:30 and again 01:30 in UTC.
    found = due("30 2 * * *", BERLIN, "2026-10-24T12:00:00Z", 2)
    assert found == ["10-25T00:30", "10-26T01:30"]
    for between in ("2026-10-25T00:30:00Z", "2026-10-25T01:10:00Z", "2026-10-25T01:45:00Z"):
        assert due("30 2 * * *", BERLIN, between, 1) == ["10-26T01:30"], between


def test_jobs_of_every_hour_follow_the_time_that_passes():
    forward = due("30 * * * *", BERLIN, "2026-03-29T00:00:00Z", 3)
    assert forward == ["03-29T00:30", "03-29T01:30", "03-29T02:30"]
    back = due("30 * * * *", BERLIN, "2026-10-25T00:00:00Z", 3)
    assert back == ["10-25T00:30", "10-25T01:30", "10-25T02:30"]


def test_with_seconds_what_occurs_twice_is_due_twice():
    assert due("0 30 2 * * *", BERLIN, "2026-10-25T00:00:00Z", 2) == ["10-25T00:30", "10-25T01:30"]
    # 02:30 on 29 March does not exist.
    assert due("0 30 2 * * *", BERLIN, "2026-03-28T12:00:00Z", 1) == ["03-30T00:30"]


@settings(max_examples=60, deadline=None)
@given(
    cron=st.sampled_from(["30 2 * * *", "0,30 1-3 * * *", "*/7 * * * *", "15 */3 * * *", "59 23 * * SUN"]),
    zone=st.sampled_from([BERLIN, "America/New_York", "Australia/Lord_Howe", "UTC"]),
    start=st.integers(at("2026-01-01T00:00:00Z"), at("2027-01-01T00:00:00Z")),
    steps=st.lists(st.integers(0, 3 * 86400), max_size=4),
)
def test_where_one_looks_from_changes_nothing(cron: str, zone: str, start: int, steps: list[int]):
    """Deciding piece by piece finds what deciding at once does, each due time once and in order."""
    times = Times(cron, zone)
    pieces, moment = [], start
    for step in steps:
        pieces += times.between(moment, moment + step, 10**6)
        moment += step
    assert pieces == times.between(start, moment, 10**6)
    assert pieces == sorted(set(pieces))
    following = times.after(moment)
    assert following is not None
    assert following > moment


def test_of_a_long_stretch_only_the_end_is_gone_through():
    times, end = Times("* * * * * *", "UTC"), at("2026-11-20T00:00:00Z")
    assert times.between(0, end, 3) == [end - 2, end - 1, end]
    rare = Times("0 0 29 2 *", "UTC")
    assert [iso(each)[:10] for each in rare.between(0, end, 2)] == ["2020-02-29", "2024-02-29"]


@pytest.mark.parametrize(
    ("cron", "message"),
    [
        ("0 3 * *", "it has 4 fields, and five are expected"),
        ("", "it has 0 fields"),
        ("@dayly", "it has 1 field,"),
        ("0 24 * * *", "'24' is no hour"),
        ("60 * * * *", "'60' is no minute"),
        ("0 0 * * FRY", "'FRY' is no day of week"),
        ("61 * * * * *", "'61' is no second"),
        ("0 0 32 * *", "'32' is no day of month"),
        ("*/0 * * * *", "'*/0' is no minute"),
        ("0 0 30 2 *", "names a day that never comes"),
    ],
)
def test_what_is_no_cron_expression(cron: str, message: str):
    with pytest.raises(RequestError) as caught:
        Times(cron, "UTC")
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("zone", "hint"),
    [
        ("Berlin", "did you mean Europe/Berlin?"),
        ("Europe/Berln", "did you mean Europe/Berlin?"),
        ("New York", "did you mean America/New_York?"),
        ("Europe", None),
        ("../etc/passwd", None),
        ("", None),
    ],
)
def test_an_unknown_zone(zone: str, hint: str | None):
    with pytest.raises(RequestError) as caught:
        find_zone(zone)
    problem = caught.value.problems[0]
    assert f"there is no time zone {zone!r}" in problem.message
    if hint is not None:
        assert problem.hint == hint


def test_the_zone_of_this_machine(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TZ", ":Europe/Berlin")
    assert local_zone() == BERLIN
    monkeypatch.setenv("TZ", "no such place")
    find_zone(local_zone())


def test_moments_on_disk():
    assert from_iso(iso(1e9 + 0.9)) == 10**9
    assert iso(datetime(2026, 11, 20, 3, tzinfo=UTC).timestamp()) == "2026-11-20T03:00:00Z"
