"""Long calls show how far they are where somebody waits, and end soon after Ctrl-C."""

from __future__ import annotations

import io
import signal
import subprocess
import sys
import time

import pytest

import gravel
from gravel.graphs import progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


def terminal_for(monkeypatch):
    """Make standard error a terminal, within a test: pytest gives each phase another one."""
    shown = Terminal()
    monkeypatch.setattr(sys, "stderr", shown)
    monkeypatch.setattr(progress, "PERIOD", 0.01)
    return shown


def test_a_long_call_shows_how_far_it_is_and_clears_the_line(monkeypatch):
    terminal = terminal_for(monkeypatch)
    monkeypatch.setattr(progress, "QUIET", 0.0)
    with progress.shown("closeness", None) as report:
        time.sleep(0.2)
        report(100, 1000)
        time.sleep(0.2)
    written = terminal.getvalue()
    assert "closeness: 100/1k vertices, " in written
    assert " left" in written
    assert written.endswith("\r\x1b[2K")


def test_a_short_call_shows_nothing(monkeypatch):
    terminal = terminal_for(monkeypatch)
    with progress.shown("closeness", None) as report:
        report(1, 2)
    assert not terminal.getvalue()


def test_nothing_is_shown_elsewhere_or_to_who_asks_for_reports():
    with progress.shown("closeness", None) as report:
        assert report is None
    with progress.shown("closeness", print) as report:
        assert report is print


@pytest.mark.parametrize("name", ["closeness", "betweenness", "neighbourhood", "eccentricity"])
def test_measures_report(name, monkeypatch):
    terminal_for(monkeypatch)
    seen = []
    monkeypatch.setattr(progress._Line, "report", lambda line, done, total: seen.append((done, total)))
    graph = gravel.graph((list(range(20)), list(range(1, 21))))
    getattr(graph, name)(*([2] if name == "neighbourhood" else []))
    graph.diameter()
    assert seen[-1][0] > 0
    assert max(total for _, total in seen) == 21


CALLS = {
    "closeness": "graph.closeness()",
    "weighted": "graph.closeness(by='weights')",
    "betweenness": "graph.betweenness()",
    "betweenness weighted": "graph.betweenness(by='weights')",
    "neighbourhood": "graph.neighbourhood(9)",
}

PROGRAM = """
import signal, sys, threading, time
import numpy, gravel
small = gravel.graph(([0, 1], [1, 2]), weights=[1.0, 2.0])
graph = small
CALL
ends = numpy.random.default_rng(1).integers(0, 60_000, (2, 600_000))
graph = gravel.graph(tuple(ends), weights=numpy.ones(600_000))
before = threading.active_count()
print("ready", flush=True)
try:
    CALL
except KeyboardInterrupt:
    print(time.time(), flush=True)
    time.sleep(0.2)
    print(threading.active_count() - before, flush=True)
"""


@pytest.mark.parametrize("name", CALLS)
def test_an_interrupted_call_ends_soon_and_leaves_no_thread(name):
    program = PROGRAM.replace("CALL", CALLS[name])
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout.readline() == "ready\n"
        time.sleep(3)
        asked = time.time()
        running.send_signal(signal.SIGINT)
        ended = float(running.stdout.readline())
        assert ended - asked < 3  # one second on a machine that does nothing else
        assert running.stdout.readline() == "0\n"
