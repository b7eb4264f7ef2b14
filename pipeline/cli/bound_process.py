"""A run that does not outlive its supervisor: `gravel` in a process that watches a pipe to it."""

from __future__ import annotations

import os
import signal
import sys
import threading


def main() -> None:
    """Be `gravel` with the words after the pipe's number; once the pipe ends, be interrupted."""
    pipe = int(sys.argv.pop(1))
    threading.Thread(target=_watch, args=(pipe,), daemon=True, name="gravel-tie").start()
    from gravel.pipeline.cli import main as gravel

    gravel()


def _watch(pipe: int) -> None:
    while os.read(pipe, 1):
        continue
    os.kill(os.getpid(), signal.SIGINT)
