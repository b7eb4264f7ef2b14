"""Which strategies and tuning constants there are, and on what machine they run."""

from __future__ import annotations

import difflib
import inspect
import types
import typing
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from gravel.kernels.strategy import GIVEN
from gravel.stages.errors import StageError
from gravel.stages.stage import CannotRun

if TYPE_CHECKING:
    from gravel.kernels.strategy import Strategy
    from gravel.stages.stage import Machine
    from gravel.stages.traverse import TraverseParameters

PACKAGES = {
    "bfs": "gravel.kernels.bfs",
    "sssp": "gravel.kernels.sssp",
    "components": "gravel.kernels.components",
}
"""Where each algorithm's strategies live."""

BARRIER_SECONDS = "barrier_seconds"
"""The option of ranks that components take, too."""

NEEDS_GPU = "needs a GPU"
"""How each reason begins for which something does not run on a CPU."""


def checked_strategy(algorithm: str, name: str) -> str:
    """Return the name if it is `auto` or a strategy of the algorithm; raises ValueError with the nearest."""
    from gravel.kernels.strategy import strategies_in

    known = ["auto", *sorted(strategies_in(PACKAGES[algorithm]))]
    if name not in known:
        raise ValueError(
            f"there is no {algorithm} strategy {name!r}{nearest_text(name, known)}; "
            f"there are {', '.join(known)}"
        )
    return name


def backend_of_search(parameters: TraverseParameters, machine: Machine) -> str:
    """Tell where a traversal runs: where it was asked to, else where the run does, if the strategy can.

    A strategy that has no CUDA side runs on the CPU. Raises `StageError` where a GPU is asked for and the run
    has none.
    """
    from gravel.kernels.strategy import strategies_in

    if parameters.backend == "cuda" and machine.backend != "cuda":
        raise StageError(
            "the traversal asks for backend cuda, and this run is on the CPU",
            hint="run it with --backend cuda on a machine that has a GPU, or leave `backend` out",
        )
    if parameters.backend == "cpu" or machine.backend == "cpu":
        return "cpu"
    if parameters.strategy != "auto" and parameters.backend == "auto":
        strategy = strategies_in(PACKAGES[parameters.algorithm]).get(parameters.strategy)
        if strategy is not None and strategy.cuda is None:
            return "cpu"
    return "cuda"


def cannot_run(parameters: TraverseParameters, backend: str) -> CannotRun | None:
    """Say why a traversal cannot run on `cpu` or `cuda`; None if it can. No strategy stands for another."""
    if parameters.backend == "cuda" and backend == "cpu":
        return CannotRun(
            f"{NEEDS_GPU}: backend cuda is asked for, and this run is on the CPU",
            "run it with --backend cuda on a machine that has a GPU, or leave `backend` out",
        )
    on_cpu = "cpu" in (parameters.backend, backend)
    return without_cpu_code(parameters.algorithm, parameters.strategy) if on_cpu else None


def without_cpu_code(algorithm: str, name: str) -> CannotRun | None:
    """Say that a strategy has no function for the CPU, and which have; None if it has one."""
    from gravel.kernels.strategy import strategies_in

    known = strategies_in(PACKAGES[algorithm])
    strategy = known.get(name)
    if strategy is None or strategy.cpu is not None:
        return None
    able = ", ".join(sorted(name for name, each in known.items() if each.cpu is not None))
    return CannotRun(
        f"{NEEDS_GPU}: strategy {name} has no CPU code",
        f"on the CPU there are auto, {able}; or run it with --backend cuda on a machine that has a GPU",
    )


def checked_tuning(
    package: str, name: str, backend: str, tuning: Mapping[str, Any]
) -> tuple[dict[str, Any], list[str]]:
    """Return the constants that the strategy takes on this backend, and a sentence for each it does not.

    A constant of the strategy's other backend alone is left out, so that one workflow serves both. Raises
    ValueError for a strategy that does not run here, for a constant that it has nowhere, and for a value of
    another type than the constant has.
    """
    from gravel.kernels.strategy import strategies_in

    strategy = strategies_in(package)[name]
    strategy.load(backend)
    here = constants(strategy, backend)
    there = constants(strategy, "cpu" if backend == "cuda" else "cuda")
    taken, left_out = {}, []
    for constant, value in tuning.items():
        if constant in here:
            taken[constant] = checked_value(name, constant, value, here[constant])
        elif constant in there:
            left_out.append(f"{constant} is no constant of {name} on {backend}, and was left out")
        else:
            raise ValueError(
                f"strategy {name!r} has no constant {constant!r}{nearest_text(constant, list(here))}; "
                f"on {backend} it has {', '.join(here) or 'none'}"
            )
    return taken, left_out


def constants(strategy: Strategy, backend: str) -> dict[str, Any]:
    """List a strategy's constants on a backend with their types, None where the type is not told."""
    if strategy.target(backend) is None:
        return {}
    function = strategy.load(backend)
    try:
        kinds = typing.get_type_hints(function)
    except NameError:  # a type that is imported for type checkers alone
        kinds = {}
    return {name: kinds.get(name) for name in inspect.signature(function).parameters if name not in GIVEN}


def checked_value(strategy: str, constant: str, value: Any, kind: Any) -> Any:
    """Return the value as the constant has it: whole numbers may be written with a point, and the reverse."""
    if kind is None:
        return int(value) if isinstance(value, float) and value == int(value) else value
    kinds = typing.get_args(kind) if typing.get_origin(kind) in (typing.Union, types.UnionType) else (kind,)
    for each in kinds:
        if typing.get_origin(each) is typing.Literal:
            if value in typing.get_args(each):
                return value
        elif each is float and isinstance(value, int | float) and not isinstance(value, bool):
            return value
        elif each is int and isinstance(value, int | float) and not isinstance(value, bool):
            if value == int(value):
                return int(value)
        elif each in (bool, str) and isinstance(value, each):
            return value
    wanted = " or ".join(_kind_name(each) for each in kinds if each is not type(None))
    near = ""
    if isinstance(value, str):
        near = nearest_text(value, [text for each in kinds for text in typing.get_args(each)])
    raise ValueError(f"constant {constant!r} of strategy {strategy!r} is {value!r}; it is {wanted}{near}")


def _kind_name(kind: Any) -> str:
    if typing.get_origin(kind) is typing.Literal:
        return "one of " + ", ".join(map(repr, typing.get_args(kind)))
    return {bool: "true or false", int: "a whole number", float: "a number", str: "a text"}.get(
        kind, str(kind)
    )


def refuse_choice(strategy: str, tuning: Mapping[str, Any] | None = None) -> None:
    """Raise `StageError` where a choice was made for a partition that it does not have."""
    if strategy != "auto" or (tuning or {}).keys() - {BARRIER_SECONDS}:
        raise StageError(
            f"strategy {strategy!r} was asked for, and a partition has no other strategy",
            hint="leave strategy and tuning out, or traverse the graph that was partitioned",
        )


def barrier_limit(tuning: Mapping[str, Any]) -> float:
    """Read how long ranks wait for each other; raises `StageError` for a limit that cannot be."""
    from gravel.kernels.partition import waiting

    seconds = float(tuning.get(BARRIER_SECONDS, waiting.BARRIER_SECONDS))
    try:
        waiting.check_barrier_seconds(seconds)
    except ValueError as error:
        raise StageError(str(error)) from None
    return seconds


def nearest_text(name: str, known: list[str]) -> str:
    """Ask for the nearest of the known names, in brackets; nothing where none is near."""
    close = difflib.get_close_matches(name, known, 1)
    return f" (did you mean {close[0]!r}?)" if close else ""


def machine_name(machine: Machine, backend: str, threads: int | None = None) -> str:
    """Name the processor that was measured; `threads` is the most CPU threads that were asked for."""
    if backend == "cuda":
        import cupy

        name = cupy.cuda.runtime.getDeviceProperties(cupy.cuda.Device().id)["name"]
        return name.decode() if isinstance(name, bytes) else str(name)
    from pathlib import Path

    lines = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []
    models = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    count = min(threads or machine.threads, machine.threads)
    return f"{models[0] if models else 'CPU'}, {count} thread{'s' if count > 1 else ''}"
