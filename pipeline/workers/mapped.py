"""Results of one worker in the memory of another on the same host: mapped, neither pickled nor sent."""

from __future__ import annotations

import mmap
import os
import socket
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gravel.pipeline.core.errors import DamagedArtifact
from gravel.pipeline.workers.resident import read_resident, when_released

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from gravel.stages.artifacts import Artifact

MIN_BYTES = 64 << 10
"""Arrays below this are pickled with the rest: mapping takes as long as copying them."""

ALIGNMENT = 4096
"""Bytes of a page, at which an array begins."""


@dataclass(frozen=True)
class Region:
    """Where an array lies in the shared memory: its field, its name in a group, and its first byte.

    `device` names the same array on the owner's GPU, if that has it.
    """

    field: str
    name: str | None
    offset: int
    dtype: str
    shape: tuple[int, ...]
    device: bytes | None = None


@dataclass(frozen=True)
class Mapped:
    """An artifact whose large arrays can be mapped from `path`; `rest` is the artifact without them."""

    path: str
    size: int
    regions: tuple[Region, ...]
    rest: Artifact


@cache
def host_identity() -> str:
    """Return what two processes have in common that can map each other's memory."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        namespace = Path("/proc/self/ns/pid").readlink()
    except OSError:
        return f"{socket.gethostname()} {os.getpid()}"  # shares with nobody
    return f"{socket.gethostname()} {boot} {namespace} {os.geteuid()}"


@dataclass
class _Shared:
    """What this process shares of a result, whether that of its GPU is named yet, and what ends it."""

    mapped: Mapped
    ends: list[Callable[[], None]]
    names_device: bool = False


_shared: dict[str, _Shared] = {}
_lock = threading.Lock()


def share(name: str, *, with_device: bool = False) -> Mapped:
    """Copy a result of this process into shared memory, once; raises `DamagedArtifact` if it is gone.

    `with_device` names what the GPU has of it, too. The copies go with the result; whoever has mapped the
    host's keeps it.
    """
    with _lock:
        artifact = read_resident(name)
        shared = _shared.get(name)
        if shared is None:
            file, mapped = _copy(artifact)
            shared = _shared[name] = _Shared(mapped, [partial(os.close, file)])
            when_released(name, partial(_close, name))
        if with_device and not shared.names_device:
            regions = tuple(_exported(artifact, each, shared.ends) for each in shared.mapped.regions)
            shared.mapped, shared.names_device = replace(shared.mapped, regions=regions), True
        return shared.mapped


def _exported(artifact: Artifact, region: Region, ends: list[Callable[[], None]]) -> Region:
    from gravel.kernels.placement.device_copies import COPIES
    from gravel.kernels.placement.device_sharing import export

    value: Any = getattr(artifact, region.field)
    there = COPIES.find(value if region.name is None else value[region.name])
    exported = None if there is None else export(there)
    if exported is None:
        return region
    handle, end = exported
    ends.append(end)
    return replace(region, device=handle)


def _close(name: str) -> None:
    for end in _shared.pop(name).ends:
        end()


def _keep_on_device(array: NDArray[Any], handle: bytes) -> None:
    from gravel.kernels.placement.device_copies import COPIES
    from gravel.kernels.placement.device_sharing import bring

    if array.nbytes > COPIES.budget:
        return
    there = bring(handle, array.shape, array.dtype)
    if there is not None:
        COPIES.keep(array, there)


def map_shared(mapped: Mapped, artifact_id: str, *, with_device: bool = False) -> Artifact:
    """Return the artifact with its arrays in the memory of who shares it; `with_device` on the GPU, too.

    Pages that are written to become this process's own. Raises `DamagedArtifact` if the memory is gone.
    """
    import numpy

    values: dict[str, Any] = {}
    try:
        with open(mapped.path, "rb") as file:  # noqa: PTH123 (a descriptor of another process)
            flags = mmap.MAP_PRIVATE | getattr(mmap, "MAP_POPULATE", 0)
            memory = mmap.mmap(file.fileno(), mapped.size, flags, mmap.PROT_READ | mmap.PROT_WRITE)
    except (OSError, ValueError) as error:
        raise DamagedArtifact(artifact_id, "the worker that had it in memory is gone") from error
    for region in mapped.regions:
        dtype = numpy.dtype(region.dtype)
        count = int(numpy.prod(region.shape, dtype=numpy.int64))
        array = numpy.frombuffer(memory, dtype, count, region.offset).reshape(region.shape)
        if region.device is not None and with_device:
            _keep_on_device(array, region.device)
        if region.name is None:
            values[region.field] = array
        else:
            group = values.setdefault(region.field, dict(getattr(mapped.rest, region.field)))
            group[region.name] = array
    return replace(mapped.rest, **values)


def _copy(artifact: Artifact) -> tuple[int, Mapped]:
    import numpy

    regions, sources, size = [], [], 0
    for field, name, array in _large_arrays(artifact):
        regions.append(Region(field, name, size, array.dtype.str, array.shape))
        sources.append(array)
        size += -(-array.nbytes // ALIGNMENT) * ALIGNMENT
    file = os.memfd_create("gravel", os.MFD_CLOEXEC)
    try:
        os.ftruncate(file, max(1, size))
        for region, array in zip(regions, sources, strict=True):
            _write(file, numpy.ascontiguousarray(array).reshape(-1).view(numpy.uint8).data, region.offset)
    except BaseException:
        os.close(file)
        raise
    path = f"/proc/{os.getpid()}/fd/{file}"
    return file, Mapped(path, max(1, size), tuple(regions), _without(artifact, regions))


def _large_arrays(artifact: Artifact) -> Iterator[tuple[str, str | None, NDArray[Any]]]:
    import numpy

    for each in fields(artifact):
        value = getattr(artifact, each.name)
        pairs = value.items() if isinstance(value, Mapping) else [(None, value)]
        for name, array in pairs:
            if isinstance(array, numpy.ndarray) and array.nbytes >= MIN_BYTES:
                yield each.name, name, array


def _without(artifact: Artifact, regions: list[Region]) -> Artifact:
    values: dict[str, Any] = {}
    for region in regions:
        if region.name is None:
            values[region.field] = None
        else:
            group = values.setdefault(region.field, dict(getattr(artifact, region.field)))
            group[region.name] = None
    return replace(artifact, **values)


def _write(file: int, data: memoryview, offset: int) -> None:
    written = 0
    while written < len(data):
        written += os.pwrite(file, data[written : written + (1 << 30)], offset + written)
