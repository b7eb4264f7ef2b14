"""How much memory a run may use, and who gets it: capacity, refusal before the start, admission.

Dask's own limits are off: they see neither pinned memory nor what a kernel holds, and restart a worker in
the middle of a stage. Every stage states its need instead, and the driver adds the needs up.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from gravel.pipeline.core.errors import Location, Problem, RequestError, WorkflowError
from gravel.pipeline.core.files import existing_folder
from gravel.stages.sizes import Need

USABLE = 0.9
"""Share of the machine's memory given to stages; the rest is for the system and for idle workers."""

MAX_NAMED = 3
"""Stages that a refusal names for each kind of memory, those that need most first; the others are counted."""

MAX_OVERSTATED = 4
"""How many times as large as on the disk a result may be stated: a distance of 4 bytes is stored in one."""

HOST_MEMORY = "--host-memory"
"""What a capacity's source is called that was given as an option."""

_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
_BINARY_UNITS = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?)(i?)b?\s*", re.IGNORECASE)


def parse_bytes(text: str) -> int:
    """Read a size such as `16GiB`, `500 MB` or `1073741824`; raises RequestError for anything else."""
    match = _SIZE.fullmatch(text)
    if match is None or (match[3] and not match[2]):
        raise RequestError(
            f"{text!r} is not a size in bytes", hint="write a number with a unit, such as 16GiB or 500MB"
        )
    unit = match[2].lower()
    return int(float(match[1]) * (_BINARY_UNITS[unit] if match[3] else _UNITS[unit]))


def format_bytes(count: float) -> str:
    """Write a size with three digits and a binary unit."""
    if count < 1024:
        return f"{int(count)} B"
    for unit in ("KiB", "MiB", "GiB"):
        count /= 1024
        if count < 1000:
            return f"{count:.3g} {unit}"
    return f"{count / 1024:.3g} TiB"


@dataclass(frozen=True)
class Capacity:
    """What stages may use at once: host bytes in all, device bytes of each GPU; `source` says whence.

    `device` returns both of a GPU. It is called when they are first wanted, since it may have to wait for
    the driver.
    """

    host_bytes: int
    source: str
    device: Callable[[], tuple[int, str]] = lambda: (0, "")

    @cached_property
    def _device(self) -> tuple[int, str]:
        return self.device()

    @property
    def device_bytes(self) -> int:
        """Bytes of each GPU."""
        return self._device[0]

    @property
    def device_source(self) -> str:
        """Whence they are."""
        return self._device[1]


def _read_limit(path: Path) -> int | None:
    text = ""
    with suppress(OSError):
        text = path.read_text().strip() if path.exists() else ""
    # cgroup v1 writes an absurdly high number where there is no limit.
    return int(text) if text.isdigit() and int(text) < 1 << 60 else None


def _cgroup_files(root: Path, process: Path) -> list[Path]:
    """List every limit that may bind this process: its own group's and those of the groups around it."""
    lines, found = list[str](), list[Path]()
    with suppress(OSError):
        lines = (process / "self" / "cgroup").read_text().splitlines()
    for line in lines:
        _, controllers, group = line.split(":", 2)
        names = controllers.split(",")
        if controllers == "":
            base, leaf = root, "memory.max"
        elif "memory" in names:
            base, leaf = root / "memory", "memory.limit_in_bytes"
        else:
            continue
        parts = Path(group.lstrip("/")).parts
        found += [base.joinpath(*parts[:depth], leaf) for depth in range(len(parts), -1, -1)]
    return [*found, root / "memory.max", root / "memory" / "memory.limit_in_bytes"]


def memory_limit(cgroups: Path = Path("/sys/fs/cgroup"), process: Path = Path("/proc")) -> tuple[int, str]:
    """Return the bytes that this process may use by the smallest cgroup limit or by MemTotal, and which."""
    limits = [limit for file in _cgroup_files(cgroups, process) if (limit := _read_limit(file)) is not None]
    total = _meminfo("MemTotal:", process)
    smallest = min(limits, default=total)
    return (smallest, "the control group's limit") if smallest < total else (total, "the machine's memory")


def available_bytes() -> int:
    """Return how many bytes of the machine's memory programs may still take now."""
    return _meminfo("MemAvailable:", Path("/proc"))


def _meminfo(name: str, process: Path) -> int:
    try:
        return int((process / "meminfo").read_text().split(name)[1].split()[0]) * 1024
    except (OSError, IndexError):
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def host_capacity(option: str | None = None) -> tuple[int, str]:
    """Return the host bytes that stages may use, and whence: the option as given, else 90 % of the limit."""
    if option is not None:
        return parse_bytes(option), HOST_MEMORY
    limit, source = memory_limit()
    return int(limit * USABLE), f"{USABLE:.0%} of {source}"


def refuse_what_cannot_fit(
    needs: Mapping[str, Need],
    capacity: Capacity,
    resident: Mapping[str, int] | None = None,
    locations: Mapping[str, Location] | None = None,
) -> None:
    """Raise RequestError if stage runs need more than there is: which need most, and what would help.

    `resident` has the bytes, by run, of its inputs that are in memory meanwhile, and `locations` says where a
    workflow has each run. What rests on guessed bounds may begin: it is checked when they are known.
    """
    refused = [
        Problem(
            f"{key} cannot run: {need.refusal}",
            "change the parameters that are named",
            (locations or {}).get(key),
        )
        for key, need in needs.items()
        if need.refusal
    ]
    if refused:
        raise WorkflowError(refused)
    host_needs: dict[str, tuple[int, str]] = {}
    device_needs: dict[str, tuple[int, str]] = {}
    unkept = False
    for key, need in needs.items():
        if need.guessed:
            continue
        beside = (resident or {}).get(key, 0)
        if need.host_bytes + beside > capacity.host_bytes:
            unkept = unkept or beside > 0
            extra = f" beside {format_bytes(beside)} of inputs that are not kept" if beside else ""
            text = f"{format_bytes(need.host_bytes)} of host memory{extra}"
            host_needs[key] = (need.host_bytes + beside, text)
        if need.device_bytes > capacity.device_bytes:
            device_needs[key] = (need.device_bytes, f"{format_bytes(need.device_bytes)} of GPU memory")
    have = f"{format_bytes(capacity.host_bytes)} of host memory ({capacity.source})"
    cures = []
    if host_needs:
        most = format_bytes(max(amount for amount, _ in host_needs.values()))
        kept = ", or inputs that are kept on disk (keep: true)" if unkept else ""
        cures.append(
            f"a machine, control group or --host-memory of at least {most}, a smaller graph, "
            f"or a smaller memory parameter where the stage has one{kept}"
        )
    if device_needs:
        source = capacity.device_source or "no GPU"
        have += f" and {format_bytes(capacity.device_bytes)} on each GPU ({source})"
        most = format_bytes(max(amount for amount, _ in device_needs.values()))
        cures.append(f"GPUs with {most}, a placement that keeps less on the device, or --backend cpu")
    if cures:
        named = "; ".join([*_largest(host_needs), *_largest(device_needs)])
        hint = f"to make it fit: {'; '.join(cures)}; see docs/troubleshooting.md#does-not-fit"
        raise RequestError(f"this run cannot fit: {named}; there is {have}", hint=hint)


def _largest(needs: Mapping[str, tuple[int, str]]) -> Iterator[str]:
    """Yield a text for each of the stages that need most, one for all runs of a stage; count the others."""
    stages: dict[str, list[str]] = {}
    for key in sorted(needs, key=lambda key: needs[key][0], reverse=True):
        stages.setdefault(key.partition("[")[0], []).append(key)
    named = list(stages.values())[:MAX_NAMED]
    for keys in named:
        several = f" ({len(keys)} runs of this stage do not fit)" if len(keys) > 1 else ""
        yield f"{keys[0]} needs {needs[keys[0]][1]}{several}"
    left = len(needs) - sum(map(len, named))
    if left:
        yield f"{left} smaller stage {'runs do' if left > 1 else 'run does'} not fit either"


def refuse_what_no_disk_holds(
    needs: Mapping[str, Need], folder: Path, locations: Mapping[str, Location] | None = None
) -> None:
    """Raise RequestError for stage runs whose results cannot be stored on the disk of a folder.

    Labels are stated as wide as they may become. So a result is refused only where it is `MAX_OVERSTATED`
    times as large as what is free.
    """
    free = shutil.disk_usage(existing_folder(folder)).free
    fitting = f"results of up to {format_bytes(MAX_OVERSTATED * free)} may fit if their labels are small"
    sizes = {
        key: sum(output.bytes for output in need.outputs) for key, need in needs.items() if not need.guessed
    }
    refused = [
        Problem(
            f"the results of {key} may have {format_bytes(size)}, and the disk of the cache {folder} "
            f"has {format_bytes(free)} free",
            f"ask for less: {fitting}; or choose a cache on a larger disk with --cache or GRAVEL_CACHE",
            (locations or {}).get(key),
        )
        for key, size in sizes.items()
        if size > MAX_OVERSTATED * free
    ]
    if refused:
        raise WorkflowError(refused)


class Admission:
    """Host bytes of one machine, handed out to running stages and to results that are in memory."""

    def __init__(self, host_bytes: int) -> None:
        self.host_bytes = host_bytes
        self._taken: dict[str, int] = {}
        self._resident: dict[str, int] = {}

    @property
    def free(self) -> int:
        """The bytes that nobody has."""
        return self.host_bytes - sum(self._taken.values()) - self.resident

    @property
    def resident(self) -> int:
        """The bytes of results that are in memory."""
        return sum(self._resident.values())

    def fits(self, amount: int) -> bool:
        """Say whether so much is free. A run that is alone is always admitted: waiting would not help."""
        return amount <= self.free or not (self._taken or self._resident)

    def take(self, owner: str, amount: int) -> None:
        """Hand out bytes to a running stage."""
        self._taken[owner] = amount

    def release(self, owner: str) -> None:
        """Take a stage's bytes back."""
        self._taken.pop(owner, None)

    def resident_of(self, owner: str) -> int:
        """Return the bytes of a stage's result that are in memory."""
        return self._resident.get(owner, 0)

    def keep_resident(self, owner: str, amount: int) -> None:
        """Count a stage's result in memory."""
        self._resident[owner] = amount

    def release_resident(self, owner: str) -> None:
        """A stage's result is in memory no longer."""
        self._resident.pop(owner, None)
