"""What the driver said of the GPUs, remembered by all that decides which they are, until the next boot.

It lies among the compiled kernels, in a folder that nobody else may write, and leaves it as they do.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gravel.kernels.compiled.folder import Folder, folder_path

if TYPE_CHECKING:
    from gravel.stages.artifact import Json

BOOT = "/proc/sys/kernel/random/boot_id"
DRIVER = "/proc/driver/nvidia/version"
GROUP = "/proc/self/cgroup"
"""A batch system gives each job, which is a control group, other GPUs of one machine."""

DEVICES = "/dev"
_DEVICE = re.compile(r"nvidia\d+")


def read() -> Sequence[Sequence[Json]]:
    """Return what was written on this boot, for this driver, these devices and this control group."""
    name, folder = _name(), _folder(create=False)
    if folder is None:
        return ()
    try:
        content = None if name is None else folder.read(name)
        found = [] if content is None else json.loads(content)
    except ValueError:
        return ()
    finally:
        folder.close()
    return found if isinstance(found, list) else ()


def write(facts: Sequence[Sequence[Json]]) -> None:
    """Remember rows of facts; without a folder that is safe nothing is."""
    name = _name()
    if name is not None and (folder := _folder(create=True)) is not None:
        folder.write(name, json.dumps(facts).encode())
        folder.close()


def forget() -> None:
    """Have the driver asked the next time."""
    write([])


def _name() -> str | None:
    """Name the entry; None if what it hangs on cannot be told."""
    try:
        known = [Path(file).read_text() for file in (BOOT, DRIVER, GROUP)]
        files = sorted(name for name in os.listdir(DEVICES) if _DEVICE.fullmatch(name))  # noqa: PTH208
    except (OSError, ValueError):
        return None
    return "devices-" + hashlib.sha256(json.dumps([*known, files]).encode()).hexdigest()


def _folder(*, create: bool) -> Folder | None:
    try:
        return Folder(folder_path(), create=create)
    except (OSError, RuntimeError):
        return None
