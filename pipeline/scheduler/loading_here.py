"""What this process loads on other threads as soon as it is known that something will run.

Where stages run here, that is what they use. A file whose digest is not known is new: what is made from it
will have to be made, and a GPU is made ready while the file is read. Where workers run the stages, it is
Dask, while the GPU's driver is waited for; and what the run's page is made with, while workers start.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from gravel.pipeline.workers.loading import load

if TYPE_CHECKING:
    from gravel.pipeline.plan.model import Plan
    from gravel.pipeline.scheduler.machine import RunEnvironment
    from gravel.pipeline.workers.spans import Spans


class LoadingHere:
    """Loads on threads that the process waits for before it ends; each thing once."""

    def __init__(self, environment: RunEnvironment, plan: Plan, spans: Spans) -> None:
        self._environment = environment
        self._plan = plan
        self._spans = spans
        self._is_here = environment.cluster == "inline"
        self._done: set[str] = set()

    def expect_work(self) -> None:
        """Something will probably run: start what is of no use otherwise, if stages run here."""
        if not self._is_here:
            return
        environment = self._environment
        if environment.backend == "cuda" and not environment.devices[0].fake:
            # The driver wakes the GPU while CuPy is imported: 1.4 s in all, one after the other.
            self._start("driver", self._free_memory)
            self._start("load", self._load_for_gpu)
        else:
            self._start("load", load)

    def begin(self) -> None:
        """Something has to run."""
        self.expect_work()
        if not self._is_here:
            self._start("load Dask", load_dask)

    def while_workers_start(self) -> None:
        """Nothing is to be done here for a while."""
        if not self._is_here:
            self._start("load", load)

    def _start(self, what: str, job: Callable[[], object]) -> None:
        if what not in self._done:
            self._done.add(what)
            threading.Thread(target=self._do, args=(what, job), name="gravel-load").start()

    def _do(self, what: str, job: Callable[[], object]) -> None:
        # Whoever needs it meets the same problem, and reports it.
        with suppress(Exception), self._spans.take(what):
            job()

    def _free_memory(self) -> int:
        return self._environment.capacity.device_bytes

    def _load_for_gpu(self) -> None:
        from gravel.pipeline.scheduler.plan_kernels import plan_kernels

        # What the context takes is no part of what is free.
        kernels = plan_kernels(self._plan, self._environment)
        load(before_context=self._free_memory, context=True, kernels=kernels)


def load_dask() -> None:
    """Import what a cluster is started with."""
    import dask  # noqa: F401
    import distributed  # noqa: F401
