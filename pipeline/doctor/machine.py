"""The processor, memory, limits of the process, the clock, compiled kernels, and the installed packages."""

from __future__ import annotations

import ctypes
import os
import resource
import sys
import time
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from gravel.kernels.compiled.folder import VARIABLE, Folder, UnsafeFolder, folder_path
from gravel.pipeline.core.files import ROOT
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
    there = {name: installed(name) for name in ("gravel", *(each.name for each in requirements("gravel")))}
    missing = [name for name, found in there.items() if found is None]
    yield Finding("packages", "good", ", ".join(f"{name} {found}" for name, found in there.items() if found))
    if missing == ["gravel"]:
        cure = "not needed to run from here; pip install -e . gives the command and its version"
        yield Finding("packages", "note", "gravel itself is not installed, but run from a folder", cure)
    elif missing:
        yield Finding("packages", "bad", f"missing: {', '.join(missing)}", "pip install -e . in the checkout")
    for requirement, wrong in unfit("gravel"):
        cure = f"pip install '{requirement}'"
        yield Finding("packages", "bad", f"{wrong} is here, and {requirement} is needed", cure)


def requirements(package: str) -> list[Requirement]:
    """Return what a package needs, without its extras; of a folder that is not installed, by its metadata."""
    from importlib import metadata

    from packaging.requirements import Requirement

    try:
        texts = metadata.requires(package) or []
    except metadata.PackageNotFoundError:
        texts = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    found = [Requirement(text) for text in texts]
    return [each for each in found if each.marker is None or each.marker.evaluate({"extra": ""})]


def unfit(package: str) -> list[tuple[str, str]]:
    """Return the requirements of a package that the installed versions do not meet, with these."""
    return [
        (f"{each.name}{each.specifier}", f"{each.name} {version}")
        for each in requirements(package)
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
