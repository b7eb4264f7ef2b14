"""Which strategies and tuning constants there are, and on what machine they run."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from stages.errors import StageError

if TYPE_CHECKING:
    from stages.stage import Machine

PACKAGES = {"bfs": "kernels.bfs", "components": "kernels.components"}
"""Where each algorithm's strategies live."""

_GIVEN = {"row_offsets", "column_indices", "output", "symmetric", "max_depth", "statistics"}


def checked_strategy(algorithm: str, name: str) -> str:
    """Return the name if it is `auto` or a strategy of the algorithm; raises ValueError with the nearest."""
    from kernels.strategy import strategies_in

    known = ["auto", *sorted(strategies_in(PACKAGES[algorithm]))]
    if name not in known:
        raise ValueError(
            f"unknown {algorithm} strategy {name!r}{_nearest(name, known)}; there are {', '.join(known)}"
        )
    return name


def checked_tuning(package: str, name: str, backend: str, tuning: Mapping[str, Any]) -> None:
    """Raise ValueError for a tuning constant that the strategy does not have on this backend."""
    import inspect

    from kernels.strategy import strategies_in

    if not tuning:
        return
    function = strategies_in(package)[name].load(backend)
    known = [each for each in inspect.signature(function).parameters if each not in _GIVEN]
    for constant in tuning:
        if constant not in known:
            raise ValueError(
                f"strategy {name!r} has no constant {constant!r}{_nearest(constant, known)}; "
                f"on {backend} it has {', '.join(known) or 'none'}"
            )


def refuse_choice(strategy: str, tuning: Mapping[str, Any]) -> None:
    """Raise `StageError` where a choice was made for a partition, which has one way of searching."""
    if strategy != "auto" or tuning:
        raise StageError(
            f"strategy {strategy!r} was asked for, and a partition is searched in its own way alone",
            hint="leave strategy and tuning out, or traverse the graph that was partitioned",
        )


def _nearest(name: str, known: list[str]) -> str:
    close = difflib.get_close_matches(name, known, 1)
    return f" (did you mean {close[0]!r}?)" if close else ""


def machine_name(machine: Machine, backend: str) -> str:
    """Name the processor that was measured."""
    if backend == "cuda":
        import cupy

        name = cupy.cuda.runtime.getDeviceProperties(cupy.cuda.Device().id)["name"]
        return name.decode() if isinstance(name, bytes) else str(name)
    from pathlib import Path

    lines = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []
    models = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return f"{models[0] if models else 'CPU'}, {machine.threads} threads"
