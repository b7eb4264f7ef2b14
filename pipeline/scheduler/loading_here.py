"""What this process loads on other threads as soon as it is known that something will run.

Where stages run here, that is what they use. A file whose digest is not known is new: what is made from it
will have to be made, and a GPU is made ready while the file is read. Where workers run the stages, it is
what the run's page is made with, and loaded while they start.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from gravel.pipeline.scheduler.plan_kernels import plan_kernels
from gravel.pipeline.workers.loading import load

if TYPE_CHECKING:
    from gravel.pipeline.plan.model import Plan
    from gravel.pipeline.scheduler.machine import RunEnvironment
    from gravel.pipeline.workers.spans import Spans


class LoadingHere:
    """Loads once, on threads that the process waits for before it ends."""

    def __init__(self, environment: RunEnvironment, plan: Plan, spans: Spans) -> None:
        self._environment = environment
        self._plan = plan
        self._spans = spans
        self._is_here = environment.cluster == "inline"
        self._started = False

    def start_if_here(self) -> None:
        """Start if stages run in this process."""
        if self._is_here:
            self.start()

    def start(self) -> None:
        """Start; a second call does nothing."""
        if self._started:
            return
        self._started = True
        for what, job in self._jobs().items():
            threading.Thread(target=self._do, args=(what, job), name="gravel-load").start()

    def _do(self, what: str, job: Callable[[], object]) -> None:
        # Whoever needs it meets the same problem, and reports it.
        with suppress(Exception), self._spans.take(what):
            job()

    def _jobs(self) -> dict[str, Callable[[], object]]:
        environment = self._environment
        if not self._is_here or environment.backend != "cuda" or environment.devices[0].fake:
            return {"load": load}

        def free_memory() -> int:
            return environment.capacity.device_bytes

        def load_for_gpu() -> None:
            # What the context takes is no part of what is free.
            load(before_context=free_memory, context=True, kernels=plan_kernels(self._plan, environment))

        # The driver wakes the GPU while CuPy is imported: 1.4 s in all, one after the other.
        return {"driver": free_memory, "load": load_for_gpu}
