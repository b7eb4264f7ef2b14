"""Measures end soon after Ctrl-C."""

from __future__ import annotations

import signal
import subprocess
import sys
import time

CALLS = [
    "graph.closeness()",
    "graph.closeness(by='weights')",
    "graph.betweenness()",
    "graph.betweenness(by='weights')",
    "graph.neighbourhood(9)",
]

PROGRAM = """
import signal, sys, threading, time
import numpy, gravel
signal.signal(signal.SIGINT, signal.default_int_handler)  # which what starts in the background lacks
calls = CALLS
graph = gravel.graph(([0, 1], [1, 2]), weights=[1.0, 2.0])
for call in calls:
    eval(call)
ends = numpy.random.default_rng(1).integers(0, 60_000, (2, 600_000))
graph = gravel.graph(tuple(ends), weights=numpy.ones(600_000))
before = threading.active_count()
for call in calls:
    try:
        print(call, flush=True)
        eval(call)
    except KeyboardInterrupt:
        print(time.time(), flush=True)
        time.sleep(0.2)
        print(threading.active_count() - before, flush=True)
"""


def test_an_interrupted_call_ends_soon_and_leaves_no_thread():
    program = PROGRAM.replace("CALLS", repr(CALLS))
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as running:
        try:
            for call in CALLS:
                assert running.stdout.readline() == f"{call}\n"
                time.sleep(1)
                asked = time.time()
                running.send_signal(signal.SIGINT)
                ended = float(running.stdout.readline())
                assert ended - asked < 3, call  # one second on a machine that does nothing else
                assert running.stdout.readline() == "0\n", call
        finally:
            running.kill()
