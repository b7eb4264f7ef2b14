"""Results of one worker in the memory of another on the same host, neither pickled nor sent.

Nothing is copied until a stage reads it. The arrays of a field are then read from the owner's memory. Where
the system refuses that, the owner copies them into memory that others can map, once for all who ask.
"""

from __future__ import annotations

import itertools
import math
import mmap
import os
import socket
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gravel.pipeline.core.errors import DamagedArtifact
from gravel.pipeline.workers.process_memory import ReadRefused, read_memory
from gravel.pipeline.workers.resident import read_resident, when_released

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gravel.stages.artifact import Artifact

MIN_BYTES = 64 << 10
"""Arrays below this are pickled with the rest: mapping takes as long as copying them."""

ALIGNMENT = 4096
"""Bytes of a page, at which an array begins."""


@dataclass(frozen=True)
class Region:
    """Where an array lies: its name in a group, and its first byte.

    That is an address in its owner (None for an array that is not in one piece), or one in memory that can be
    mapped.
    """

    name: str | None
    begin: int | None
    dtype: str
    shape: tuple[int, ...]


@dataclass(frozen=True)
class Shared:
    """An artifact without its large arrays (None in their place), and where those are in a process, by field.

    `serial` tells it from a result of this name that is made again.
    """

    rest: Artifact
    process: int
    serial: int
    fields: Mapping[str, tuple[Region, ...]]


@dataclass(frozen=True)
class Mappable:
    """Memory that other processes can map, by its path and size."""

    path: str
    size: int
    regions: tuple[Region, ...]


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
class _Owned:
    """What this process has told others of a result: copies, and handles of its GPU's arrays, by field."""

    shared: Shared
    copies: dict[str, Mappable] = field(default_factory=dict)
    handles: dict[str, dict[str | None, bytes]] = field(default_factory=dict)
    ends: list[Callable[[], None]] = field(default_factory=list)


_owned: dict[str, _Owned] = {}
_serials = itertools.count()
_lock = threading.Lock()


def share(name: str) -> Shared:
    """Say where a result of this process is; raises `DamagedArtifact` if it is gone."""
    with _lock:
        artifact = read_resident(name)
        if name not in _owned:
            _owned[name] = _Owned(_described(artifact))
            when_released(name, partial(_close, name))
        return _owned[name].shared


def _described(artifact: Artifact) -> Shared:
    values: dict[str, Any] = {}
    regions: dict[str, tuple[Region, ...]] = {}
    for each in fields(artifact):
        value = getattr(artifact, each.name)
        large = _large_arrays(value)
        if large:
            values[each.name] = None if None in large else {**value, **dict.fromkeys(large)}
            regions[each.name] = tuple(
                Region(
                    name,
                    array.ctypes.data if array.flags.c_contiguous else None,
                    array.dtype.str,
                    array.shape,
                )
                for name, array in large.items()
            )
    return Shared(replace(artifact, **values), os.getpid(), next(_serials), regions)


def copy_field(name: str, field: str) -> Mappable:
    """Copy the large arrays of a field to where others can map them, once; raises `DamagedArtifact`.

    The copy goes with the result; whoever has mapped it keeps it.
    """
    with _lock:
        owned = _owned.get(name)
        if owned is None:
            raise DamagedArtifact(name, "the worker that had it in memory has let go of it")
        if field not in owned.copies:
            file, owned.copies[field] = _copy(_large_arrays(getattr(read_resident(name), field)))
            owned.ends.append(partial(os.close, file))
        return owned.copies[field]


def confirm(name: str, serial: int, field: str, with_device: bool) -> dict[str | None, bytes]:
    """Say that a result is still where it was; raises `DamagedArtifact` if it is not.

    `with_device` asks for handles of the arrays that the GPU has, too; they are good as long as the result.
    """
    with _lock:
        owned = _owned.get(name)
        if owned is None or owned.shared.serial != serial:
            raise DamagedArtifact(name, "the worker that had it in memory has let go of it")
        if not with_device:
            return {}
        if field not in owned.handles:
            large = _large_arrays(getattr(read_resident(name), field))
            exported = {key: _exported(array, owned.ends) for key, array in large.items()}
            owned.handles[field] = {key: each for key, each in exported.items() if each is not None}
        return owned.handles[field]


def _large_arrays(value: Any) -> dict[str | None, NDArray[Any]]:
    """Return the arrays of a field that are not pickled, by their names in a group."""
    import numpy

    named = value if isinstance(value, Mapping) else {None: value}
    return {
        name: array
        for name, array in named.items()
        if isinstance(array, numpy.ndarray) and array.nbytes >= MIN_BYTES
    }


def _exported(array: NDArray[Any], ends: list[Callable[[], None]]) -> bytes | None:
    from gravel.kernels.placement.device_copies import COPIES
    from gravel.kernels.placement.device_sharing import export

    there = COPIES.find(array)
    exported = None if there is None else export(there)
    if exported is None:
        return None
    handle, end = exported
    ends.append(end)
    return handle


def _close(name: str) -> None:
    for end in _owned.pop(name).ends:
        end()


def _copy(arrays: Mapping[str | None, NDArray[Any]]) -> tuple[int, Mappable]:
    import numpy

    from gravel.kernels.placement.pinned import fill

    regions, size = [], 0
    for name, array in arrays.items():
        regions.append(Region(name, size, array.dtype.str, array.shape))
        size += -(-array.nbytes // ALIGNMENT) * ALIGNMENT
    file = os.memfd_create("gravel", os.MFD_CLOEXEC)
    try:
        os.ftruncate(file, size)
        memory = mmap.mmap(file, size)
        for region, array in zip(regions, arrays.values(), strict=True):
            fill(_array(memory, region).reshape(-1), numpy.ascontiguousarray(array).reshape(-1))
    except BaseException:
        os.close(file)
        raise
    return file, Mappable(f"/proc/{os.getpid()}/fd/{file}", size, tuple(regions))


def _array(memory: mmap.mmap, region: Region) -> NDArray[Any]:
    import numpy

    count = math.prod(region.shape)
    return numpy.frombuffer(memory, region.dtype, count, region.begin or 0).reshape(region.shape)


def read_field(shared: Shared, field: str) -> dict[str | None, NDArray[Any]]:
    """Copy the arrays of a field from their owner's memory; they are good if the owner confirms them then.

    Raises `ReadRefused`, also for an array that is not in one piece, and OSError if the memory is gone.
    """
    from gravel.kernels.placement.pinned import pinnable

    arrays = {}
    for region in shared.fields[field]:
        if region.begin is None:
            raise ReadRefused("an array is not in one piece")
        array = pinnable(math.prod(region.shape), region.dtype)
        read_memory(shared.process, region.begin, array)
        arrays[region.name] = array.reshape(region.shape)
    return arrays


def map_field(mappable: Mappable, artifact_id: str) -> dict[str | None, NDArray[Any]]:
    """Return arrays in memory that their owner shares; pages that are written to become this process's own.

    Raises `DamagedArtifact` if the memory is gone.
    """
    try:
        with open(mappable.path, "rb") as file:  # noqa: PTH123 (a descriptor of another process)
            access = mmap.PROT_READ | mmap.PROT_WRITE
            # Pages come as they are read: to have all of them now copies those that could be written to.
            memory = mmap.mmap(file.fileno(), mappable.size, mmap.MAP_PRIVATE, access)
    except (OSError, ValueError) as error:
        raise DamagedArtifact(artifact_id, "the worker that had it in memory is gone") from error
    return {region.name: _array(memory, region) for region in mappable.regions}


def keep_on_device(array: NDArray[Any], handle: bytes) -> bool:
    """Bring an array from its owner's GPU to that of this process, which has it in host memory, too.

    Says whether it could be brought, and is kept.
    """
    from gravel.kernels.placement.device_copies import COPIES
    from gravel.kernels.placement.device_sharing import bring

    if array.nbytes > COPIES.budget:
        return False
    there = bring(handle, array.shape, array.dtype)
    return there is not None and COPIES.keep(array, there)
