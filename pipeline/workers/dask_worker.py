"""What a Dask worker runs for gravel: stages, items of `context.map`, ranks of `context.rank_group`."""

from __future__ import annotations

import itertools
import os
import pickle
import socket
import time
import uuid
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from distributed import get_client, get_worker, secede
from distributed.scheduler import KilledWorker

from gravel.kernels import threads
from gravel.pipeline.core.errors import DamagedArtifact, GravelError
from gravel.pipeline.store.sharing import mask_for
from gravel.pipeline.workers.context import Services
from gravel.pipeline.workers.failure import StageLog
from gravel.pipeline.workers.own_tier import SentLog, localized, set_aside, tier_of
from gravel.pipeline.workers.parcels import Packed, Route, StaysHere
from gravel.pipeline.workers.peak import Peak
from gravel.pipeline.workers.protocol import Began, ClusterEvent, Failure, StageOutcome, StageTask, Written
from gravel.pipeline.workers.rank_group import run_rank
from gravel.pipeline.workers.rendezvous import Invitation, Rendezvous
from gravel.pipeline.workers.results_in_memory import WriteBehind, read_resident
from gravel.pipeline.workers.stage_run import run_stage
from gravel.stages.errors import StageError
from gravel.stages.rank_group import RankGroupBroken, Report
from gravel.stages.threads import map_threads

Item = TypeVar("Item")
Result = TypeVar("Result")

AHEAD = 2
"""Groups of items of `context.map` in flight per worker: one that runs and one that waits for it."""

WRITE_BEHIND = WriteBehind()
"""Of this worker's process."""


def topic(run: str) -> str:
    """Name the channel on which the workers of a run tell its driver of events."""
    return f"gravel-progress-{run}"


def item_prefix(run: str, key: str) -> str:
    """Return how the names of a stage's items begin, by which a stage that is stopped finds them."""
    return f"{run}-{key}-item-"


def run_on_worker(tasks: Sequence[StageTask]) -> list[StageOutcome]:
    """Run stages outside the worker's slot, so that items and ranks may use the worker meanwhile."""
    secede()
    try:
        tasks = [localized(task) for task in tasks]
    except (OSError, GravelError) as error:
        failure = Failure("disk", f"its worker has no tier of the cache: {error}")
        return [StageOutcome(task.key, "failed", failure=failure) for task in tasks]
    # Workers of an existing cluster have the mask of whoever started them.
    os.umask(mask_for(tasks[0].cache.root))

    def run(task: StageTask) -> StageOutcome:
        services = DaskServices(task)
        if task.time_limit is not None:
            services.tell(Began(task.key, task.attempt))
        outcome = run_stage(task, services)
        if task.store is None or outcome.artifact is None:
            return outcome
        is_own = set_aside(task.cache, outcome.artifact, "it is copied from the store again")
        return run_stage(task, services) if is_own else outcome

    return [run(task) for task in tasks]


def write_out_on_worker(task: StageTask, resident: tuple[str, ...]) -> None:
    """Have what this worker's memory has of a task written to files, behind what is written already."""
    services = DaskServices(task)
    try:
        artifacts = tuple(read_resident(name) for name in resident)
        task = localized(task)
    except (OSError, GravelError) as error:
        services.tell(Written(task.key, task.attempt, failure=Failure("bug", str(error))))
        return
    WRITE_BEHIND.add(task, artifacts, resident, services.tell)


class DaskServices(Services):
    """A stage's environment on a Dask worker."""

    def __init__(self, task: StageTask) -> None:
        super().__init__(WRITE_BEHIND, self._send, len(task.rank_group))
        self._task = task
        self._route = Route.of(task)
        self._worker = get_worker()
        self._peaks: dict[tuple[str, int], int] = {}

    def _send(self, event: ClusterEvent) -> None:
        self._worker.log_event(topic(self._task.run), {"event": pickle.dumps(event)})

    def log(self, task: StageTask) -> StageLog:
        """Return a stage's log: its file, or what sends its lines to whoever sees that."""
        return super().log(task) if task.store is None else SentLog(task.key, self.tell)

    def extra_host_bytes(self) -> int:
        """Return the summed peaks of the other processes that ran items of this stage."""
        return sum(self._peaks.values())

    def map(
        self, function: Callable[[Item], Result], items: Iterable[Item], *, on_reserved: bool = False
    ) -> Iterator[Result]:
        """Spread the items over the cluster, and over threads of its processes where a stage may use several.

        No more are in flight than over the threads of a single worker, unless workers are more than threads.
        Those that are `on_reserved` go to the workers of the rank group, one at a time to each.
        """
        client = get_client()
        if on_reserved:
            reserved = self._task.rank_group
            single = ([item] for item in items)
            return self._map_workers(client, function, single, len(reserved) * AHEAD, reserved)
        workers = len(client.scheduler_info()["workers"])
        if workers <= 1:
            return map_threads(function, items, self._task.machine.threads)
        items = iter(items)
        for first in itertools.islice(items, 1):
            items = itertools.chain([first], items)
            if not self._can_leave(first):
                return map_threads(function, items, self._task.machine.threads)
        together = max(1, self._task.machine.threads // workers)
        return self._map_workers(client, function, in_groups(items, together), workers * AHEAD)

    def _can_leave(self, item: object) -> bool:
        """Say whether another worker can use an item: not if that names a file which only this one sees."""
        if self._task.store is None:
            return True
        try:
            self._route.pack(item)
        except StaysHere:
            return False
        return True

    def _map_workers(
        self,
        client: Any,
        function: Callable[[Item], Result],
        groups: Iterable[list[Item]],
        ahead: int,
        workers: Sequence[str] | None = None,
    ) -> Iterator[Result]:
        prefix = item_prefix(self._task.run, self._task.key)
        waiting: deque[Any] = deque()

        def next_results() -> Iterator[Result]:
            future = waiting.popleft()
            try:
                answers, process, peak = future.result()
            except KilledWorker as error:
                raise RankGroupBroken(f"workers died again and again over an item: {error}") from error
            if process[1] != os.getpid():
                self._peaks[process] = max(self._peaks.get(process, 0), peak)
            for done, value in answers.unpack():
                if not done:
                    raise value
                yield value

        try:
            for group in groups:
                future = client.submit(
                    run_items,
                    function,
                    self._route.pack(group),
                    self._route,
                    key=prefix + uuid.uuid4().hex,
                    pure=False,
                    priority=10,
                    workers=workers,
                )
                waiting.append(future)
                if len(waiting) >= ahead:
                    yield from next_results()
            while waiting:
                yield from next_results()
        finally:
            if waiting:
                client.cancel(list(waiting))

    def rank_group(
        self, function: Callable[..., Result], ranks: Sequence[object], report: Report
    ) -> list[Result]:
        """Run the ranks on the workers that the driver has reserved, one each."""
        reserved = self._task.rank_group
        if len(ranks) > len(reserved):
            raise StageError(
                f"the stage asks for {len(ranks)} ranks at once and {len(reserved)} workers are reserved",
                hint="ranks are reserved from the stage's parameters before it starts",
            )
        if not ranks:
            return []
        host = self._worker.address.split("://", 1)[-1].rsplit(":", 1)[0].strip("[]")
        client = get_client()
        parcels = {id(item): self._route.pack(item) for item in ranks}
        rendezvous = Rendezvous(host, len(ranks), report=report)
        futures = [
            client.submit(
                run_packed_rank,
                function,
                rendezvous.invitation(rank),
                parcels[id(item)],
                self._route,
                workers=[reserved[rank]],
                allow_other_workers=False,
                pure=False,
                priority=15,
            )
            for rank, item in enumerate(ranks)
        ]
        try:
            answers = _gather(client, futures, rendezvous)
        finally:
            rendezvous.close()
        failures = [value for done, value in answers if not done]
        if failures:
            raise next((each for each in failures if not isinstance(each, RankGroupBroken)), failures[0])
        return [value for _, value in answers]


def _gather(client: Any, futures: list[Any], rendezvous: Rendezvous) -> list[tuple[bool, Any]]:
    """Wait for the ranks. One whose worker died never ends; the rendezvous knows."""
    answers: list[tuple[bool, Any]] = []
    for rank, future in enumerate(futures):
        grace = 0
        while not future.done():
            time.sleep(0.02)
            if rendezvous.problem is None:
                continue
            grace += 1
            if grace > 250:  # 5 s for the survivors to notice
                client.cancel(futures, force=True)
                raise RankGroupBroken(rendezvous.problem)
        if future.status != "finished":
            raise RankGroupBroken(rendezvous.problem or f"rank {rank} was lost with its worker")
        done, value = future.result()
        answers.append((done, value.unpack() if done else value))
    return answers


def run_packed_rank(
    function: Callable[..., Any], invitation: Invitation, parcel: Packed, route: Route
) -> tuple[bool, Any]:
    """Run one rank on the item in a parcel; returns (True, a parcel) or (False, exception)."""
    try:
        done, answer = run_rank(function, invitation, parcel.unpack(last=False))
        if done:
            return True, route.pack(answer)
    except (OSError, GravelError) as error:
        answer = error
    if route.store is not None and isinstance(answer, DamagedArtifact):
        set_aside(tier_of(route.store, route.run), answer.artifact_id, answer.reason)
    return False, answer


def in_groups(items: Iterable[Item], size: int) -> Iterator[list[Item]]:
    """Take the items `size` at a time."""
    rest = iter(items)
    while group := list(itertools.islice(rest, size)):
        yield group


def run_items(
    function: Callable[[Any], Any], parcel: Packed, route: Route
) -> tuple[Packed, tuple[str, int], int]:
    """Apply the function to a parcel of items of `context.map`, a thread for each.

    Returns a parcel with (done, result or error) of each item, the process, and its peak in bytes.
    """

    def answer(item: Any) -> tuple[bool, Any]:
        if getattr(function, "__module__", "").startswith(("gravel.stages.", "gravel.kernels.")):
            threads.set_threads(1)
        try:
            return True, function(item)
        except Exception as error:
            return False, _portable(error)

    with Peak(tidy=False) as peak:
        items = parcel.unpack(last=False)
        if len(items) == 1:
            answers = [answer(items[0])]
        else:
            with ThreadPoolExecutor(len(items), "gravel-map") as pool:
                answers = list(pool.map(answer, items))
        packed = route.pack(answers)
    return packed, (socket.gethostname(), os.getpid()), peak.host_bytes


def _portable(error: Exception) -> Exception:
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error
