"""A Dask scheduler and workers as processes of their own, as somebody else would have started them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

START_LIMIT = 60.0

OWN_HOST = (
    *("unshare", "--uts", "--pid", "--fork", "--kill-child", "--mount-proc"),
    *("sh", "-c", 'hostname "$0" && exec "$@"'),
)
"""Starts what follows a name on a host of that name, as far as a process can tell; asks for root."""


class DaskProcesses:
    """Scheduler and workers below a folder; use as a context manager."""

    def __init__(self, folder: Path, *, options: Sequence[str] = (), protocol: str = "tcp") -> None:
        self.folder = folder
        self.file = folder / "scheduler.json"
        self._options = tuple(options)
        self._processes: list[subprocess.Popen[bytes]] = []
        folder.mkdir(parents=True, exist_ok=True)
        self._protocol = protocol
        self.restart()

    def restart(self) -> None:
        """Start a scheduler, after the first one has ended at another address."""
        self.file.unlink(missing_ok=True)
        self.scheduler = self._start(
            "scheduler",
            f"--scheduler-file={self.file}",
            f"--protocol={self._protocol}",
            "--host=127.0.0.1",
            "--port=0",
            "--dashboard-address=127.0.0.1:0",
            "--no-show",
        )

    @property
    def address(self) -> str:
        """Where the scheduler listens; waits until it does."""
        import json

        self._wait(self.file.exists)
        address: str = json.loads(self.file.read_text())["address"]
        return address

    def worker(
        self,
        name: str,
        *options: str,
        environment: Mapping[str, str] | None = None,
        folder: Path | None = None,
        host: str | None = None,
    ) -> subprocess.Popen[bytes]:
        """Start a worker; `connected` waits for it.

        With `host` it has that host name, and sees no process but its own, as on a machine of its own.
        """
        self._wait(self.file.exists)
        return self._start(
            "worker",
            f"--scheduler-file={self.file}",
            f"--name={name}",
            "--nthreads=1",
            "--memory-limit=0",
            "--no-dashboard",
            f"--local-directory={self.folder / name}",
            *options,
            environment=environment,
            folder=folder,
            before=() if host is None else (*OWN_HOST, host),
        )

    def connected(self, count: int, **client: object) -> None:
        """Wait until so many workers are there."""
        from distributed import Client

        with Client(self.address, set_as_default=False, timeout=START_LIMIT, **client) as asking:
            asking.wait_for_workers(count, timeout=START_LIMIT)

    def wait_for(self, count: int) -> None:
        """Wait until there are so many workers, and no more."""
        from distributed import Client

        with Client(self.address, set_as_default=False, timeout=START_LIMIT) as asking:
            limit = time.monotonic() + START_LIMIT
            while len(asking.scheduler_info()["workers"]) != count:
                assert time.monotonic() < limit
                time.sleep(0.05)

    def _start(
        self,
        verb: str,
        *arguments: str,
        environment: Mapping[str, str] | None = None,
        folder: Path | None = None,
        before: Sequence[str] = (),
    ) -> subprocess.Popen[bytes]:
        checkout = str(Path(__file__).resolve().parents[3])
        given = {**os.environ, "PYTHONPATH": checkout, **(environment or {})}
        with (self.folder / f"{verb}.log").open("ab") as log:
            process = subprocess.Popen(
                [*before, sys.executable, "-m", f"distributed.cli.dask_{verb}", *arguments, *self._options],
                stdout=log,
                stderr=log,
                env=given,
                cwd=folder or self.folder,
                start_new_session=True,
            )
        self._processes.append(process)
        return process

    def _wait(self, ready: object) -> None:
        limit = time.monotonic() + START_LIMIT
        while not ready():  # type: ignore[operator]
            assert self.scheduler.poll() is None, (self.folder / "scheduler.log").read_text()
            assert time.monotonic() < limit
            time.sleep(0.02)

    def __enter__(self) -> DaskProcesses:
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._processes:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
