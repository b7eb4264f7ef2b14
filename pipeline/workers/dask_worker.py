"""What a Dask worker runs for gravel: stages, items of `context.map`, ranks of `context.rank_group`.

Items, ranks and their results travel in parcels. Large arrays of these are written to a file of the stage's
scratch folder, and mapped where they arrive, so that Dask never copies them. Stored arrays are pickled as
where they lie, and need no file.
"""

from __future__ import annotations

import itertools
import mmap
import os
import pickle
import socket
import time
import uuid
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from distributed import get_client, get_worker, secede
from distributed.scheduler import KilledWorker

from gravel.kernels import threads
from gravel.pipeline.core.errors import DamagedArtifact, GravelError
from gravel.pipeline.store.failures import storage_errors
from gravel.pipeline.store.folder import cache_of_scratch
from gravel.pipeline.store.sharing import mask_for
from gravel.pipeline.store.sink import write_at
from gravel.pipeline.workers.context import Services
from gravel.pipeline.workers.peak import Peak
from gravel.pipeline.workers.protocol import Began, ClusterEvent, Failure, StageOutcome, StageTask, Written
from gravel.pipeline.workers.rank_group import run_rank
from gravel.pipeline.workers.rendezvous import Invitation, Rendezvous
from gravel.pipeline.workers.results_in_memory import WriteBehind, read_resident
from gravel.pipeline.workers.stage_run import run_stage
from gravel.stages.errors import StageError
from gravel.stages.rank_group import RankGroupBroken
from gravel.stages.threads import map_threads

Item = TypeVar("Item")
Result = TypeVar("Result")

LEAST_BYTES = 64 << 10
"""Arrays below this are pickled with the rest: mapping one takes as long as copying it."""

ALIGNMENT = 4096
"""Bytes of a page, at which an array begins."""

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
    # Workers of an existing cluster have the mask of whoever started them.
    os.umask(mask_for(tasks[0].cache.root))

    def run(task: StageTask) -> StageOutcome:
        services = DaskServices(task)
        if task.time_limit is not None:
            services.tell(Began(task.key, task.attempt))
        return run_stage(task, services)

    return [run(task) for task in tasks]


def write_out_on_worker(task: StageTask, resident: tuple[str, ...]) -> None:
    """Have what this worker's memory has of a task written to files, behind what is written already."""
    services = DaskServices(task)
    try:
        artifacts = tuple(read_resident(name) for name in resident)
    except DamagedArtifact as error:
        services.tell(Written(task.key, task.attempt, failure=Failure("bug", str(error))))
        return
    WRITE_BEHIND.add(task, artifacts, resident, services.tell)


class DaskServices(Services):
    """A stage's environment on a Dask worker."""

    def __init__(self, task: StageTask) -> None:
        super().__init__(WRITE_BEHIND, self._send, len(task.rank_group))
        self._task = task
        self._worker = get_worker()
        self._peaks: dict[tuple[str, int], int] = {}

    def _send(self, event: ClusterEvent) -> None:
        self._worker.log_event(topic(self._task.run), {"event": pickle.dumps(event)})

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
        together = max(1, self._task.machine.threads // workers)
        return self._map_workers(client, function, in_groups(items, together), workers * AHEAD)

    def _map_workers(
        self,
        client: Any,
        function: Callable[[Item], Result],
        groups: Iterable[list[Item]],
        ahead: int,
        workers: Sequence[str] | None = None,
    ) -> Iterator[Result]:
        prefix, scratch = item_prefix(self._task.run, self._task.key), self._task.scratch
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
                    pack(group, scratch),
                    scratch,
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

    def rank_group(self, function: Callable[..., Result], ranks: Sequence[object]) -> list[Result]:
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
        parcels = {id(item): pack(item, self._task.scratch) for item in ranks}
        rendezvous = Rendezvous(host, len(ranks))
        futures = [
            client.submit(
                run_packed_rank,
                function,
                rendezvous.invitation(rank),
                parcels[id(item)],
                self._task.scratch,
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
    function: Callable[..., Any], invitation: Invitation, parcel: Parcel, scratch: Path
) -> tuple[bool, Any]:
    """Run one rank on the item in a parcel; returns (True, a parcel) or (False, exception)."""
    os.umask(mask_for(cache_of_scratch(scratch)))
    try:
        done, answer = run_rank(function, invitation, parcel.unpack(last=False))
        return done, pack(answer, scratch) if done else answer
    except (OSError, GravelError) as error:
        return False, error


def in_groups(items: Iterable[Item], size: int) -> Iterator[list[Item]]:
    """Take the items `size` at a time."""
    rest = iter(items)
    while group := list(itertools.islice(rest, size)):
        yield group


def run_items(
    function: Callable[[Any], Any], parcel: Parcel, scratch: Path
) -> tuple[Parcel, tuple[str, int], int]:
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

    os.umask(mask_for(cache_of_scratch(scratch)))
    with Peak(tidy=False) as peak:
        items = parcel.unpack(last=False)
        if len(items) == 1:
            answers = [answer(items[0])]
        else:
            with ThreadPoolExecutor(len(items), "gravel-map") as pool:
                answers = list(pool.map(answer, items))
        packed = pack(answers, scratch)
    return packed, (socket.gethostname(), os.getpid()), peak.host_bytes


def _portable(error: Exception) -> Exception:
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error


@dataclass(frozen=True)
class Parcel:
    """A pickled value, and the file with its large arrays: at which byte each begins, and how long it is."""

    pickled: bytes
    file: Path | None
    ranges: tuple[tuple[int, int], ...]

    def unpack(self, *, last: bool = True) -> Any:
        """Return the value, with arrays of this process's own; the `last` time the file goes."""
        if self.file is None:
            return pickle.loads(self.pickled)
        with self.file.open("rb") as file:
            access = mmap.PROT_READ | mmap.PROT_WRITE  # a page that is written to becomes this process's own
            memory = memoryview(mmap.mmap(file.fileno(), 0, mmap.MAP_PRIVATE, access))
        if last:
            self.file.unlink()
        return pickle.loads(self.pickled, buffers=[memory[at : at + size] for at, size in self.ranges])


def pack(value: Any, scratch: Path) -> Parcel:
    """Put a value into a parcel, for a process that sees the stage's scratch folder, too.

    Raises `GravelError` for a full disk, and what pickling raises.
    """
    buffers: list[memoryview] = []

    def is_small(buffer: pickle.PickleBuffer) -> bool:
        raw = buffer.raw()
        if raw.nbytes >= LEAST_BYTES:
            buffers.append(raw)
        return raw.nbytes < LEAST_BYTES

    pickled = pickle.dumps(value, protocol=5, buffer_callback=is_small)
    if not buffers:
        return Parcel(pickled, None, ())
    ranges, end = [], 0
    for buffer in buffers:
        ranges.append((end, buffer.nbytes))
        end += -(-buffer.nbytes // ALIGNMENT) * ALIGNMENT
    path = scratch / f"{uuid.uuid4().hex}.parcel"
    with storage_errors(cache_of_scratch(scratch), end):
        scratch.mkdir(parents=True, exist_ok=True)
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
        try:
            for (at, _), buffer in zip(ranges, buffers, strict=True):
                write_at(handle, buffer, at)
        finally:
            os.close(handle)
    return Parcel(pickled, path, tuple(ranges))
