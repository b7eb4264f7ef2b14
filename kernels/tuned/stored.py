"""What was measured on this machine: one entry in the folder of compiled kernels, read once a process."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from gravel.kernels.compiled.folder import TUNED, Folder, folder_path
from gravel.kernels.tuned.constants import CONSTANTS, Constant, Value

FORMAT = 1

AGAIN = "run `gravel doctor --tune`"


@dataclass(frozen=True)
class Stored:
    """Constants measured on a device: each has `value`, `default`, `milliseconds` by value and `kernel`."""

    device: str
    measured: str  # when, in ISO 8601
    constants: Mapping[str, Mapping[str, Any]]

    def text(self) -> str:
        """Write it as it is stored."""
        return json.dumps({"format": FORMAT, **vars(self)}, sort_keys=True)

    def digest(self) -> str:
        """Name this state of the constants in a few letters."""
        return hashlib.sha256(self.text().encode()).hexdigest()[:8]


@dataclass(frozen=True)
class Applied:
    """Constants that a search takes in the place of its defaults, when they were measured, what is void."""

    values: Mapping[str, Value] = field(default_factory=dict)
    measured: str = ""
    ignored: tuple[str, ...] = ()

    def record(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Say for a measurement what was taken; empty where there was nothing. `given` was asked for."""
        taken = {name: value for name, value in self.values.items() if name not in given}
        told = {"constants": taken, "measured": self.measured} if taken else {}
        return told | ({"ignored": list(self.ignored)} if self.ignored else {})


def save(stored: Stored) -> Path:
    """Store it for the searches of this user on this machine; returns the folder that has it.

    Raises OSError where the folder cannot be used.
    """
    folder = Folder(folder_path())
    try:
        if not folder.write(TUNED, stored.text().encode()):
            raise OSError(f"{folder.path} cannot be written")
    finally:
        folder.close()
    load.cache_clear()
    return folder.path


@cache
def load() -> Stored | None:
    """Read what was stored; None where nothing is, or what there is cannot be trusted or understood."""
    try:
        folder = Folder(folder_path(), create=False)
    except (OSError, RuntimeError):
        return None
    try:
        text = folder.read(TUNED)
    finally:
        folder.close()
    try:
        found = json.loads(text or b"null")
        if found is None or found.pop("format") != FORMAT:
            return None
        return Stored(**found)
    except (ValueError, TypeError, KeyError, AttributeError):
        return None


def void(stored: Stored, device: str) -> str | None:
    """Say why nothing of it counts on a device; None where it does."""
    if stored.device == device:
        return None
    return f"constants tuned on {stored.device} are not used on {device}: {AGAIN} there"


def outdated(stored: Stored, constant: Constant) -> str | None:
    """Say why one constant does not count; None where it does, or was not measured."""
    found = stored.constants.get(constant.name)
    if found is None or found.get("kernel") == constant.kernel():
        return None
    return f"{constant.name} was tuned for another version of its kernel and is not used: {AGAIN} again"


def applied(strategy: str, backend: str, device: str | None = None) -> Applied:
    """Find the constants that a strategy's search takes here; `device` is the current one by default."""
    stored = load() if backend == "cuda" else None
    if stored is None:
        return Applied()
    device = current_device() if device is None else device
    if (why := void(stored, device)) is not None:
        return Applied(ignored=(why,))
    values, ignored = {}, []
    for constant in CONSTANTS:
        if constant.strategy != strategy or constant.name not in stored.constants:
            continue
        if (why := outdated(stored, constant)) is not None:
            ignored.append(why)
            continue
        value = stored.constants[constant.name]["value"]
        if value != constant.default and value in constant.values:
            values[constant.parameter] = value
    return Applied(values, stored.measured, tuple(ignored))


def current_device() -> str:
    """Name the current GPU as CUDA does."""
    import cupy

    name = cupy.cuda.runtime.getDeviceProperties(cupy.cuda.Device().id)["name"]
    return name.decode() if isinstance(name, bytes) else str(name)
