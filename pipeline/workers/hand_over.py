"""How a stage gets a result that is in another worker's memory."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import partial
from typing import TYPE_CHECKING, Any

from gravel.pipeline.core.errors import DamagedArtifact
from gravel.pipeline.core.memory import format_bytes
from gravel.pipeline.workers.lazy_artifact import lazy_artifact
from gravel.pipeline.workers.mapped import (
    Shared,
    confirm,
    copy_field,
    host_identity,
    keep_on_device,
    map_field,
    read_field,
    share,
)
from gravel.pipeline.workers.process_memory import ReadRefused
from gravel.pipeline.workers.resident import extent_in_memory, keep_resident, read_resident

if TYPE_CHECKING:
    from gravel.stages.artifact import Artifact

SAMPLE_BYTES = 32 << 20
"""Bytes by which the ways between two hosts are measured; results below this are sent."""

GONE = "the worker that had it in memory is gone"

HOST, MAPPED, IPC = "from the host's memory", "mapped", "by IPC"
NETWORK, DISK = "over the network", "from the cache"
"""How bytes of inputs come that a worker does not have. What comes from another GPU by IPC comes to the host,
too: copied from the memory of the other worker, or mapped there. What is in the cache counts as a whole."""

Submit = Callable[..., Any]
"""Runs a function with arguments in the worker that has the result, and returns what it returns."""

_rates: dict[str, tuple[float, float]] = {}
"""Bytes per second over the network from a worker's address, and of the store."""


@dataclass(frozen=True)
class Elsewhere:
    """The answer of a worker on another host: the largest array of the result, by field and name."""

    field: str
    name: str | None
    bytes: int


class HandOver:
    """Brings results for one stage run.

    `submit(address, function, *arguments)` runs a function at an address. `copied` are the results of which
    this process has a copy from now on, which it gives to stages that follow. `on_device` says that the stage
    reads them on its GPU. `brought` counts bytes by the way that they came, and `later` the seconds that were
    spent on arrays which the stage asked for while it ran.
    """

    def __init__(self, submit: Submit, log: Callable[[str], None], *, on_device: bool = False) -> None:
        self._submit = submit
        self._on_device = on_device
        self._log = log
        self.copied: list[str] = []
        self.brought: Counter[str] = Counter()
        self.later = 0.0

    def bring(self, name: str, address: str | None, stored: Callable[[], Artifact] | None) -> Artifact:
        """Return a result; `stored` opens it in the store, if it is there.

        From a worker of this host it comes field by field, as the stage reads them; from another host by the
        faster of two ways. Raises `DamagedArtifact` if it is gone.
        """
        if address is None:
            return read_resident(name)
        answer = self._ask(name, address, give, host_identity())
        if isinstance(answer, Shared):
            bring = partial(self._bring_field, name, address, stored, answer)
            return lazy_artifact(answer.rest, answer.fields, bring)
        sent = partial(self._ask, name, address)
        if stored is not None and answer.bytes >= SAMPLE_BYTES:
            if address not in _rates:
                _rates[address] = _measure(partial(sent, first_bytes, answer), stored(), answer)
            by_network, by_store = _rates[address]
            measured = (
                f"the store gives {format_bytes(by_store)}/s, the network gives {format_bytes(by_network)}/s"
            )
            if by_store > by_network:
                self._log(f"{name[:12]} comes from the store: {measured}")
                return self.opened(stored())
            self._log(f"{name[:12]} comes over the network: {measured}")
        else:
            self._log(f"{name[:12]} comes over the network")
        artifact: Artifact = sent(read_resident)
        self.brought[NETWORK] += extent_in_memory(artifact).bytes
        keep_resident((name,), (artifact,))
        self.copied.append(name)
        return artifact

    def opened(self, artifact: Artifact) -> Artifact:
        """Count an input that is read from the cache, all of it."""
        self.brought[DISK] += extent_in_memory(artifact).bytes
        return artifact

    def _bring_field(
        self, name: str, address: str, stored: Callable[[], Artifact] | None, shared: Shared, field: str
    ) -> Any:
        """Return the value of a field; if its owner died, as it is in the store."""
        began = time.perf_counter()
        try:
            way, arrays = self._from_host(name, address, shared, field)
            handles = self._ask(name, address, confirm, shared.serial, field, self._on_device)
        except DamagedArtifact:
            if stored is None:
                raise
            return getattr(self.opened(stored()), field)
        there = [arrays[key].nbytes for key, handle in handles.items() if keep_on_device(arrays[key], handle)]
        by_way = {way: sum(array.nbytes for array in arrays.values()), IPC: sum(there)}
        took = time.perf_counter() - began
        self.brought.update(by_way)
        self.later += took
        ways = ", ".join(f"{format_bytes(size)} {way}" for way, size in by_way.items() if size)
        self._log(f"{name[:12]}: {field} comes from another worker, {ways}, in {took:.3f} s")
        value = getattr(shared.rest, field)
        return arrays[None] if value is None else {**value, **arrays}

    def _from_host(self, name: str, address: str, shared: Shared, field: str) -> tuple[str, dict[Any, Any]]:
        try:
            return HOST, read_field(shared, field)
        except ReadRefused:
            return MAPPED, map_field(self._ask(name, address, copy_field, field), name)
        except OSError as error:
            raise DamagedArtifact(name, GONE) from error

    def _ask(self, name: str, address: str, function: Callable[..., Any], *arguments: object) -> Any:
        try:
            return self._submit(address, function, name, *arguments)
        except DamagedArtifact:
            raise
        except Exception as error:  # the worker died, or the line to it
            raise DamagedArtifact(name, GONE) from error


def give(name: str, asker: str) -> Shared | Elsewhere:
    """Answer, in the worker that has a result, how another one gets it."""
    if asker == host_identity():
        return share(name)
    return _largest(read_resident(name))


def _largest(artifact: Artifact) -> Elsewhere:
    found = Elsewhere("", None, 0)
    for each in fields(artifact):
        value = getattr(artifact, each.name)
        for name, array in value.items() if isinstance(value, Mapping) else [(None, value)]:
            size = getattr(array, "nbytes", 0)
            if size > found.bytes:
                found = Elsewhere(each.name, name, size)
    return found


def _array(artifact: Artifact, where: Elsewhere) -> Any:
    value: Any = getattr(artifact, where.field)
    return value if where.name is None else value[where.name]


def first_bytes(name: str, where: Elsewhere) -> Any:
    """Return the first rows of an array, up to the size of a sample."""
    return _sample(read_resident(name), where)


def _sample(artifact: Artifact, where: Elsewhere) -> Any:
    import numpy

    array = _array(artifact, where)
    rows = max(1, len(array) * SAMPLE_BYTES // where.bytes)
    return numpy.asarray(array[:rows])


def _measure(send: Callable[[], Any], stored: Artifact, where: Elsewhere) -> tuple[float, float]:
    """Return the bytes per second of both ways, by a sample that each of them brings."""
    began = time.perf_counter()
    sent = send()
    middle = time.perf_counter()
    read = _sample(stored, where)
    end = time.perf_counter()
    return sent.nbytes / (middle - began), read.nbytes / (end - middle)
