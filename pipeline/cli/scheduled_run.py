"""The process of one run of a job: it holds the job's lease, is `gravel run`, and needs nobody else."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from gravel.pipeline.cli import main as gravel
from gravel.pipeline.core.errors import GravelError, RequestError
from gravel.pipeline.core.files import private_files
from gravel.pipeline.schedule.job_run import INTERRUPTED, JobRun
from gravel.pipeline.schedule.job_store import JobStore
from gravel.pipeline.schedule.ticker import say_line
from gravel.pipeline.store.sharing import write_as_in


def main() -> None:
    """Run what waits of a job, once; the words are the cache's folder and the job's name."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    root, name = Path(sys.argv[1]), sys.argv[2]
    say = partial(say_line, to=os.fdopen(os.dup(1), "w"))  # standard output becomes the run's log
    lease = claim = None
    code = 0
    try:
        with _writing_to(root):
            store = JobStore(root)
            job = store.job(name)
            with store.lock(name):
                lease = store.take_lease(name) if store.knows(job) else None
            if lease is not None:
                run = JobRun(store, job, say)
                claim = run.begin()
            if claim is not None:
                sys.stdout.flush()
                with store.log(claim).open("wb") as log:
                    os.dup2(log.fileno(), 1)
                    os.dup2(log.fileno(), 2)
        if claim is not None:
            began = time.monotonic()
            exit_code = _gravel(job.words(str(root)))
            with _writing_to(root):
                code = int(run.end(claim, exit_code, time.monotonic() - began).state != "done")
    except RequestError:  # it was removed just now
        code = 0
    except KeyboardInterrupt:
        code = INTERRUPTED
    except (GravelError, OSError) as error:
        say(f"{name}: {error}")
        code = 1
    finally:
        if lease is not None:
            lease.end()
    sys.exit(code)


@contextmanager
def _writing_to(root: Path) -> Iterator[None]:
    with private_files():
        write_as_in(root)
        yield


def _gravel(words: list[str]) -> int:
    try:
        gravel(words)
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else 1
    finally:
        sys.stdout.flush()
    return 0
