"""Threads of CPU kernels in a process that has not loaded them yet."""

from __future__ import annotations

import os
import subprocess
import sys

PROGRAM = """\
import sys, threading
from gravel.kernels.thread_limit import limit_threads

limit_threads(2)
assert "numba" not in sys.modules
import numba
import gravel.kernels.jit
assert numba.get_num_threads() == 2

def other():
    assert numba.get_num_threads() == 4
    limit_threads(3)
    assert numba.get_num_threads() == 3
    print("other")

thread = threading.Thread(target=other)
thread.start()
thread.join()
assert numba.get_num_threads() == 2
print("done")
"""


def test_a_limit_is_kept_until_kernels_are_loaded() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        capture_output=True,
        text=True,
        env={**os.environ, "NUMBA_NUM_THREADS": "4"},
    )
    assert (done.returncode, done.stdout) == (0, "other\ndone\n"), done.stderr
