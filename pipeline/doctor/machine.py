"""The processor, memory, limits of the process, and the clock."""

from __future__ import annotations

import ctypes
import os
import resource
import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from gravel.pipeline.core.hardware import core_count, cpu_model
from gravel.pipeline.core.memory import format_bytes, host_capacity, memory_limit
from gravel.pipeline.doctor.finding import Finding, checked
from gravel.pipeline.schedule.times import local_zone

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
        return
    kept = clock_is_kept()
    if kept is False:
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
