import threading
import time

import numpy
import pytest

from gravel.kernels.atomics import fetch_add
from gravel.kernels.jit import serial
from gravel.kernels.team import (
    CHUNKS,
    DONE,
    PRIVATE,
    Team,
    close,
    closed,
    finish,
    idle,
    open_phase,
    take,
    wait_for_all,
)

PHASES = 200


@serial
def member(rank, state, work):
    """Phase p adds p to as many elements as p says; the leader checks that the phase before is whole."""
    spins = 0
    while True:
        chunk = take(state)
        if chunk >= 0:
            fetch_add(work, chunk, state[PRIVATE])
            finish(state)
            spins = 0
        elif rank != 0:
            if closed(state):
                return
            spins = idle(state, spins)
        else:
            wait_for_all(state)
            phase = state[PRIVATE] + 1
            if phase > PHASES:
                close(state)
                return
            state[PRIVATE] = phase
            open_phase(state, 0, phase % len(work) + 1)


def expected(length):
    work = numpy.zeros(length, numpy.int64)
    for phase in range(1, PHASES + 1):
        work[: phase % length + 1] += phase
    return work


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_every_chunk_of_every_phase_is_done_once(threads):
    team = Team(member, threads, 1)
    for _ in range(10):
        team.gather()
        team.state[PRIVATE] = 0
        work = numpy.zeros(64, numpy.int64)
        team.run(work)
        assert (work == expected(64)).all()
    team.close()


@pytest.mark.parametrize("threads", [1, 2])
def test_reports_ascend_to_the_end(threads, monkeypatch):
    monkeypatch.setattr("gravel.kernels.team.REPORTS_EVERY", 1e-5)
    team, seen = Team(member, threads, 1), []
    team.gather()
    with team.reported(PRIVATE, PHASES, lambda done, total: seen.append((done, total))):
        team.state[PRIVATE], team.state[CHUNKS], team.state[DONE] = 3, 10, 4
        while not seen:
            time.sleep(1e-4)
        team.state[PRIVATE] = PHASES
        while seen[-1][0] == 24:
            time.sleep(1e-4)
    assert seen[0] == (24, 10 * PHASES)
    assert seen[-1] == (10 * PHASES - 6, 10 * PHASES)
    with team.reported(PRIVATE, PHASES, None):
        pass
    team.close()


def test_the_leader_waits_for_no_helper_that_never_comes():
    team = Team(member, 2, 1)
    release = threading.Event()
    # The team's only helper is kept busy elsewhere until the run is over.
    blocked = team._pool.submit(release.wait)
    team.gather()
    work = numpy.zeros(64, numpy.int64)
    team.run(work)
    release.set()
    blocked.result()
    assert (work == expected(64)).all()
    team.gather()
    team.close()
