"""The `gravel` command as a process: it ends at once, and all that was to be done is done."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

PROGRAM = """\
import atexit, os, sys, threading, time
from concurrent import futures
from gravel.pipeline.cli import program

class Late:
    def __del__(self):
        os.write(2, b"taken apart")

late = Late()
late.self = late
atexit.register(lambda: print("at exit"))
{before}
program.main = lambda **_: {main}
program.program()
"""


def run(main: str, before: str = "") -> subprocess.CompletedProcess[str]:
    code = PROGRAM.format(main=main, before=before)
    buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    command = [sys.executable, "-c", code]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, env=buffered)


@pytest.mark.parametrize("code", [0, 1, 2, 130])
def test_it_ends_with_the_code_of_the_command(code: int) -> None:
    done = run(f"(print('out'), print('err', file=sys.stderr), sys.exit({code}))")
    assert (done.returncode, done.stdout, done.stderr) == (code, "out\nat exit\n", "err\n")


def test_it_waits_for_threads_that_a_process_waits_for() -> None:
    work = "threading.Thread(target=lambda: (time.sleep(0.3), print('thread'))).start()"
    idle = "threading.Thread(target=time.sleep, args=(60,), daemon=True).start()"
    assert run("sys.exit(0)", f"{work}\n{idle}").stdout == "thread\nat exit\n"


def test_a_pool_of_threads_that_nobody_closed_ends() -> None:
    pool = "pool = futures.ThreadPoolExecutor(1)\npool.submit(int).result()"
    assert run("sys.exit(0)", pool).returncode == 0


def test_whoever_read_the_output_may_be_gone() -> None:
    done = run("(sys.stdout.write('x'), sys.exit(0))", "atexit._clear(); os.close(1)")
    assert (done.returncode, done.stderr) == (0, "")


def test_what_is_no_exit_is_raised() -> None:
    done = run("1 / 0")
    assert done.returncode == 1
    assert "ZeroDivisionError" in done.stderr
    assert run("sys.exit('words')").stderr.startswith("words\n")
