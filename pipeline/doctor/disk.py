"""The cache: room, speed, what kind of disk it is on, and whether its clock agrees with this one."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from gravel.pipeline.core.files import IN_MEMORY, file_system
from gravel.pipeline.core.memory import format_bytes
from gravel.pipeline.doctor.machine import Finding, checked

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
    existing = next(folder for folder in (root, *root.parents) if folder.exists())
    if not os.access(existing, os.W_OK):
        cure = "choose another with --cache or GRAVEL_CACHE"
        yield Finding("cache", "bad", f"{root} cannot be written", cure)
        return
    usage, files = shutil.disk_usage(existing), os.statvfs(existing)
    found = f"{root}, {format_bytes(usage.free)} free of {format_bytes(usage.total)}"
    tight = usage.free < LOW_DISK
    if files.f_files and files.f_favail < LOW_FILES:
        tight, found = True, f"{found}, room for {files.f_favail:,} more files"
    yield checked("cache", found, "gravel cache gc, or another disk with --cache" if tight else None)
    kind = file_system(existing)
    if kind in IN_MEMORY:
        cure = "choose a disk with --cache unless that is what you want"
        yield Finding("cache disk", "note", f"{kind}: it takes memory and is gone with the machine", cure)
    elif kind in NETWORK:
        cure = "a local disk is faster; gravel cache push and pull move results"
        yield Finding("cache disk", "note", f"{kind}: a network file system", cure)
    if usage.free > 4 * PROBE_BYTES:
        with tempfile.TemporaryDirectory(dir=existing, prefix=".gravel-probe-") as folder:
            yield speed(Path(folder))
            yield from lock(Path(folder))
            yield from skew(Path(folder))


def speed(folder: Path) -> Finding:
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


def lock(folder: Path) -> Iterator[Finding]:
    """Check that files can be locked, which keeps two runs from computing the same thing."""
    import fcntl

    with (folder / "lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            text = f"files cannot be locked there ({error.strerror})"
            cure = "results stay right, but two runs may compute the same one; a local disk has locks"
            yield Finding("cache locks", "note", text, cure)


def skew(folder: Path) -> Iterator[Finding]:
    """Compare the clock that stamps files with this machine's."""
    path = folder / "clock"
    before = time.time()
    path.touch()
    after, stamped = time.time(), path.stat().st_mtime
    off = max(before - stamped, stamped - after, 0.0)
    if off > CLOCK_SKEW:
        text = f"files are stamped {off:.0f} s away from this machine's clock"
        yield Finding("cache clock", "note", text, "let one time service keep both clocks")
