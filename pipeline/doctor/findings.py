"""Runs the checks of `gravel doctor` one after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from gravel.pipeline.doctor.finding import Finding

__all__ = ["findings"]


def findings(cache_root: Path) -> list[Finding]:
    """Look at everything; a check that itself fails is a finding too."""
    from gravel.pipeline.doctor import compiled, disk, gpus, machine, software

    checks: list[tuple[str, Callable[[], Iterator[Finding]]]] = [
        ("python", software.python),
        ("packages", software.packages),
        ("own stages", software.own_stages),
        ("processor", machine.processor),
        ("memory", machine.memory),
        ("open files", machine.open_files),
        ("clock", machine.clock),
        ("compiled kernels", compiled.compiled),
        ("GPUs", gpus.gpus),
        ("pinned memory", gpus.pinned_memory),
        ("cache", lambda: disk.cache(cache_root)),
    ]
    found: list[Finding] = []
    for subject, check in checks:
        try:
            found += check()
        except Exception as error:
            text = f"could not be checked: {type(error).__name__}: {error}"
            found.append(Finding(subject, "bad", text, "report this to gravel"))
    return found
