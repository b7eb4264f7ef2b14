"""What a run needs besides GPUs: processor, memory, clock, packages, compiled kernels, the cache's disk."""

from __future__ import annotations

import ctypes
import os
import resource
import shutil
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from gravel.kernels.compiled.folder import VARIABLE, Folder, UnsafeFolder, folder_path
from gravel.pipeline.core.files import IN_MEMORY, ROOT, existing_folder, file_system
from gravel.pipeline.core.hardware import core_count, cpu_model
from gravel.pipeline.core.memory import format_bytes, host_capacity, memory_limit
from gravel.pipeline.schedule.times import local_zone

if TYPE_CHECKING:
    from packaging.requirements import Requirement


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at; `state` is good, note (gravel runs, but) or bad (it does not run)."""

    subject: str
    state: str
    found: str
    cure: str | None = None


def checked(subject: str, found: str, cure: str | None, otherwise: str = "note") -> Finding:
    """Return a finding that is good where there is nothing to cure."""
    return Finding(subject, otherwise if cure else "good", found, cure)


FEW_FILES = 1024
"""Open files that a run with eight workers may take: some 60 for each, and the scheduler's connections."""

CLOCK_UNSYNCHRONISED = 5
"""What `adjtimex` returns (TIME_ERROR) while no time service keeps the clock; see adjtimex(2)."""


def processor() -> Iterator[Finding]:
    """Name the processor and count the cores that may be used."""
    cores, total = core_count(), os.cpu_count() or 1
    limited = f" of {total} (limited by affinity or the control group)" if cores < total else ""
    yield Finding("processor", "good", f"{cpu_model()}, {cores} cores{limited}")


def memory() -> Iterator[Finding]:
    """Say how much memory stages may use, and by which limit."""
    limit, source = memory_limit()
    usable, _ = host_capacity()
    found = f"{format_bytes(limit)} by {source}; stages may use {format_bytes(usable)}"
    cure = "give the container more memory, or use small graphs" if limit < 2 << 30 else None
    yield checked("memory", found, cure)


def open_files() -> Iterator[Finding]:
    """Check how many files a process may open."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    text = "no limit" if soft == resource.RLIM_INFINITY else f"at most {soft:,}"
    few = soft != resource.RLIM_INFINITY and soft < FEW_FILES
    more = f"ulimit -n {FEW_FILES if hard == resource.RLIM_INFINITY else min(hard, 65536)}"
    yield checked("open files", text, f"raise it: {more}" if few else None)


def clock() -> Iterator[Finding]:
    """Check that the clock can be right, and that something keeps it so: schedules and records go by it."""
    now = time.time()
    text = f"{datetime.fromtimestamp(now).astimezone():%Y-%m-%d %H:%M:%S %z}, time zone {local_zone()}"
    made = max(path.stat().st_mtime for path in Path(__file__).parent.glob("*.py"))
    if now < made - 86400:
        text += f": gravel's own files are from {datetime.fromtimestamp(made):%Y-%m-%d}, which is later"
        yield Finding("clock", "bad", text, "set the clock: timedatectl set-ntp true, or the host's")
    elif (kept := clock_is_kept()) is False:
        cure = "start one: timedatectl set-ntp true; schedules run by this clock"
        yield Finding("clock", "note", f"{text}, kept by no time service that the kernel knows of", cure)
    else:
        yield Finding("clock", "good", f"{text}, kept by a time service" if kept else text)


def clock_is_kept() -> bool | None:
    """Ask the kernel whether a time service keeps the clock; None where it may not be asked."""
    try:
        libc = ctypes.CDLL(None, use_errno=True)
        # struct timex has at most 208 bytes; all zero asks and changes nothing.
        state = int(libc.adjtimex(ctypes.create_string_buffer(512)))
    except (OSError, AttributeError):
        return None
    return None if state < 0 else state != CLOCK_UNSYNCHRONISED


def compiled() -> Iterator[Finding]:
    """Open the folder of compiled kernels as a search does."""
    try:
        folder = Folder(folder_path())
    except (OSError, RuntimeError) as error:
        cure = f"set {VARIABLE} to a folder of your own; until then each process compiles its kernels again"
        state = "not loaded" if isinstance(error, UnsafeFolder) else "cannot be kept"
        yield Finding("compiled kernels", "note", f"{state}: {error}", cure)
        return
    found = folder.collect(delete=False)
    folder.close()
    size = format_bytes(found.bytes + found.kept_bytes)
    yield Finding("compiled kernels", "good", f"{found.entries + found.kept} in {folder.path}, {size}")


def python() -> Iterator[Finding]:
    """Check the version of Python."""
    found = f"{'.'.join(map(str, sys.version_info[:3]))} at {sys.executable}"
    yield checked("python", found, None if sys.version_info >= (3, 11) else "use Python 3.11 or later", "bad")


def packages() -> Iterator[Finding]:
    """Check that every package is there, in a version that gravel was made for."""
    there = {name: installed(name) for name in ("gravel", *(each.name for each in requirements()))}
    missing = [name for name, found in there.items() if found is None]
    yield Finding("packages", "good", ", ".join(f"{name} {found}" for name, found in there.items() if found))
    if missing == ["gravel"]:
        cure = "not needed to run from here; pip install -e . gives the command and its version"
        yield Finding("packages", "note", "gravel itself is not installed, but run from a folder", cure)
    elif missing:
        yield Finding("packages", "bad", f"missing: {', '.join(missing)}", "pip install -e . in the checkout")
    for requirement, wrong in unfit():
        cure = f"pip install '{requirement}'"
        yield Finding("packages", "bad", f"{wrong} is here, and {requirement} is needed", cure)


def requirements() -> list[Requirement]:
    """Return what gravel needs, without its extras; of a folder that is not installed, by its metadata."""
    from importlib import metadata

    from packaging.requirements import Requirement

    try:
        texts = metadata.requires("gravel") or []
    except metadata.PackageNotFoundError:
        texts = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    found = [Requirement(text) for text in texts]
    return [each for each in found if each.marker is None or each.marker.evaluate({"extra": ""})]


def unfit() -> list[tuple[str, str]]:
    """Return the requirements that the installed versions do not meet, with these."""
    return [
        (f"{each.name}{each.specifier}", f"{each.name} {version}")
        for each in requirements()
        if (version := installed(each.name)) and not each.specifier.contains(version, prereleases=True)
    ]


def installed(package: str) -> str | None:
    """Return the version of an installed package."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(package)
    except PackageNotFoundError:
        return None


def own_stages() -> Iterator[Finding]:
    """Check the stages that installed packages add."""
    from gravel.pipeline.plugins.packages import known_stages

    catalogue = known_stages()
    sound = [f"{stage.name} of {stage.origin.place}" for stage in catalogue.sound().values() if stage.origin]
    if sound:
        yield Finding("own stages", "good", ", ".join(sound))
    for problem in catalogue.problems().values():
        cure = "update or uninstall the package; its stage is left out until then"
        yield Finding("own stages", "note", problem, cure)


LOW_DISK = 10 << 30
"""Free bytes below which the cache is called tight."""

LOW_FILES = 100_000
"""Free inodes below which the cache is called tight; a result takes some ten files."""

PROBE_BYTES = 64 << 20
"""Bytes written and read to measure the cache's disk; long enough to leave the first buffers behind."""

PROBE_FILES = 50
"""Small files written and synced one by one, as results publish theirs."""

SLOW_BYTES = 50e6
SLOW_FILES = 20

CLOCK_SKEW = 2.0
"""Seconds between this clock and a file server's from which leases and sweeps get ages wrong."""

NETWORK = ("nfs", "nfs4", "cifs", "smb3", "smbfs", "fuse.sshfs", "9p", "lustre", "ceph", "beegfs", "gpfs")


def cache(root: Path) -> Iterator[Finding]:
    """Check the folder of the cache, or the nearest one above it that exists; leaves nothing behind."""
    there = existing_folder(root)
    if not os.access(there, os.W_OK):
        cure = "choose another with --cache or GRAVEL_CACHE"
        yield Finding("cache", "bad", f"{root} cannot be written", cure)
        return
    usage, files = shutil.disk_usage(there), os.statvfs(there)
    found = f"{root}, {format_bytes(usage.free)} free of {format_bytes(usage.total)}"
    tight = usage.free < LOW_DISK
    if files.f_files and files.f_favail < LOW_FILES:
        tight, found = True, f"{found}, room for {files.f_favail:,} more files"
    yield checked("cache", found, "gravel cache gc, or another disk with --cache" if tight else None)
    kind = file_system(there)
    if kind in IN_MEMORY:
        cure = "choose a disk with --cache unless that is what you want"
        yield Finding("cache disk", "note", f"{kind}: it takes memory and is gone with the machine", cure)
    elif kind in NETWORK:
        cure = "a local disk is faster; gravel cache push and pull move results"
        yield Finding("cache disk", "note", f"{kind}: a network file system", cure)
    if usage.free > 4 * PROBE_BYTES:
        with tempfile.TemporaryDirectory(dir=there, prefix=".gravel-probe-") as folder:
            yield cache_speed(Path(folder))
            yield from cache_locks(Path(folder))
            yield from cache_clock(Path(folder))


def cache_speed(folder: Path) -> Finding:
    """Measure writing with a sync, reading, and small files."""
    block = os.urandom(1 << 20)
    with tempfile.TemporaryFile(dir=folder) as file:
        began = time.perf_counter()
        for _ in range(PROBE_BYTES >> 20):
            file.write(block)
        file.flush()
        os.fsync(file.fileno())
        written = PROBE_BYTES / (time.perf_counter() - began)
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        file.seek(0)
        began = time.perf_counter()
        while file.read(1 << 20):
            pass
        read = PROBE_BYTES / (time.perf_counter() - began)
    began = time.perf_counter()
    for number in range(PROBE_FILES):
        with (folder / str(number)).open("wb") as small:
            small.write(block[:4096])
            small.flush()
            os.fsync(small.fileno())
    small_files = PROBE_FILES / (time.perf_counter() - began)
    slow = written < SLOW_BYTES or small_files < SLOW_FILES
    found = f"writes {written / 1e6:.0f} MB/s, reads {read / 1e6:.0f} MB/s (64 MiB, synced)"
    found += f", {small_files:.0f} small files/s"
    return checked("cache speed", found, "a local disk is faster" if slow else None)


def cache_locks(folder: Path) -> Iterator[Finding]:
    """Check that files can be locked, which keeps two runs from computing the same thing."""
    import fcntl

    with (folder / "lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            text = f"files cannot be locked there ({error.strerror})"
            cure = "results stay right, but two runs may compute the same one; a local disk has locks"
            yield Finding("cache locks", "note", text, cure)


def cache_clock(folder: Path) -> Iterator[Finding]:
    """Compare the clock that stamps files with this machine's."""
    path = folder / "clock"
    before = time.time()
    path.touch()
    after, stamped = time.time(), path.stat().st_mtime
    off = max(before - stamped, stamped - after, 0.0)
    if off > CLOCK_SKEW:
        text = f"files are stamped {off:.0f} s away from this machine's clock"
        yield Finding("cache clock", "note", text, "let one time service keep both clocks")
