"""Measures end soon after Ctrl-C."""

from __future__ import annotations

import signal
import subprocess
import sys
import time

import pytest

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
        time.sleep(1)
        asked = time.time()
        running.send_signal(signal.SIGINT)
        ended = float(running.stdout.readline())
        assert ended - asked < 3  # one second on a machine that does nothing else
        assert running.stdout.readline() == "0\n"
