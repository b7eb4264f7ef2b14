"""How long ranks wait for each other at a barrier, and what is said when that was too long."""

from __future__ import annotations

BARRIER_SECONDS = 20.0
"""Ranks wait at most for a level of the slowest one. One that reads 140 GB of columns over a link of 51 GB/s
takes 3 s; the rest is for a host that is busy."""

MOST_BARRIER_SECONDS = 3600.0
"""A GPU that waits keeps all its multiprocessors busy: nobody wants that for longer than an hour."""


def check_barrier_seconds(seconds: float) -> None:
    """Raise ValueError for a limit that cannot be."""
    if not 0 < seconds <= MOST_BARRIER_SECONDS:
        raise ValueError(
            f"barrier_seconds is {seconds}; it is above 0 and at most {MOST_BARRIER_SECONDS:g}, and "
            f"{BARRIER_SECONDS:g} by default"
        )


def given_up(seconds: float) -> str:
    """Say that ranks gave up after so many seconds, and what to do."""
    return (
        f"a rank waited for the others at a barrier for {seconds:g} s, and the search was given up: if they "
        "are only slow, as under a debugger, allow more by tuning: {barrier_seconds: SECONDS}; else a GPU or "
        "its process has failed, which its log says"
    )
