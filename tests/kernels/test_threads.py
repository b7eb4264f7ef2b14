"""Threads of CPU kernels: each calling thread has its own limit, in a process without Numba too."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from gravel.kernels.row_blocks import run_blocks
from gravel.kernels.threads import max_threads, set_threads, thread_count

PROGRAM = """\
import sys, threading
from gravel.kernels.threads import set_threads, thread_count

set_threads(2)
assert "numba" not in sys.modules
import gravel.kernels.jit
assert thread_count() == 2

def other():
    assert thread_count() == 4
    set_threads(3)
    assert thread_count() == 3
    print("other")

thread = threading.Thread(target=other)
thread.start()
thread.join()
assert thread_count() == 2
print("done")
"""


def test_each_thread_has_a_limit_that_needs_no_numba() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        capture_output=True,
        text=True,
        env={**os.environ, "NUMBA_NUM_THREADS": "4"},
    )
    assert (done.returncode, done.stdout) == (0, "other\ndone\n"), done.stderr


@pytest.mark.parametrize("given", ["", "0", "many"])
def test_without_a_limit_of_numbas_the_cores_count(monkeypatch: pytest.MonkeyPatch, given: str) -> None:
    monkeypatch.setenv("NUMBA_NUM_THREADS", given)
    assert max_threads() == len(os.sched_getaffinity(0))


def test_blocks_run_on_no_more_threads_than_the_caller_may_use(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMBA_NUM_THREADS", "8")

    def run(threads: int) -> set[int]:
        set_threads(threads)
        both = threading.Barrier(threads)

        def meet(first: int, last: int) -> int:
            both.wait(30)
            return threading.get_ident()

        return set(run_blocks(meet, [(place, place + 1) for place in range(threads * 2)]))

    def check() -> None:
        assert run(1) == {threading.get_ident()}
        assert len(run(3)) == 3
        set_threads(100)
        assert thread_count() == 8
        set_threads(0)
        assert thread_count() == 1

    with ThreadPoolExecutor(1) as pool:  # whose thread takes its limit along
        pool.submit(check).result()
