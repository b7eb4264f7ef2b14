"""Strategies and their constants: what may be asked for, what goes together, and where it runs."""

from __future__ import annotations

import dataclasses
import inspect
import types
import typing
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol

from gravel.kernels.algorithms import strategies_for, taken_by
from gravel.kernels.strategy import COLUMNS, GIVEN
from gravel.stages.errors import StageError
from gravel.stages.stage import CannotRun, Fault
from gravel.stages.traversal.parameters import either, nearest_text
from gravel.stages.turning import not_turned

if TYPE_CHECKING:
    from gravel.kernels.strategy import Strategy
    from gravel.stages.stage import Machine
    from gravel.stages.traversal.parameters import TraverseParameters


BARRIER_SECONDS = "barrier_seconds"
"""The option of ranks that components take, too."""

NEEDS_GPU = "needs a GPU"
"""How each reason begins for which something does not run on a CPU."""


def placements_of(parameters: TraverseParameters) -> tuple[str, ...]:
    """Return where rows may lie for the strategy, `auto` left out; those of all strategies with `auto`."""
    return taken_by(parameters.algorithm, parameters.strategy, "placements")


@dataclass(frozen=True)
class Refusal:
    """A parameter that does not go with a kind of graph: its name, why, and what would go together."""

    name: str
    why: str
    hint: str


def refusals(parameters: TraverseParameters, kind: str) -> Iterator[Refusal]:
    """Yield what the parameters ask that graphs of this kind do not have.

    `kind` is an artifact's, that of a compressed partition "Partition".
    """
    encoded = None if parameters.direction == "out" else not_turned(kind, parameters.direction)
    if encoded is not None:
        yield Refusal("direction", *encoded)
        return
    if parameters.algorithm == "shortest_paths":
        refusal = without_weights(kind)
        if refusal is not None:
            yield Refusal("algorithm", *refusal)
        if kind == "Partition":
            yield from _refusals_by_weight(parameters)
        return
    if parameters.algorithm == "strong_components":
        refusal = without_whole_rows(kind)
        if refusal is not None:
            yield Refusal("algorithm", *refusal)
            return
    components, distributed = parameters.algorithm == "components", kind == "DistributedGraph"
    if parameters.output == "checks" and not distributed:
        why = "only a search of a distributed graph may leave out labels"
        yield Refusal("output", why, "ask for another output, and verify the labels")
    if not distributed and kind != "Partition":
        return
    how = "distributed" if distributed else "partitioned"
    whole = f"traverse the graph before it is {how}"
    if parameters.strategy != "auto":
        why = "a partition has no other strategy than auto"
        yield Refusal("strategy", why, f"leave strategy out, or {whole}")
    if components and parameters.tuning.keys() - {BARRIER_SECONDS}:
        why = f"components of a partition have no constant but {BARRIER_SECONDS}"
        yield Refusal("tuning", why, f"leave tuning out, or {whole}")
    if parameters.sources_over == "workers":
        why = f"sources go over workers that each hold the whole graph, and this one is {how}"
        yield Refusal("sources_over", why, f"leave sources_over out, or {whole}")
    if not distributed:
        return
    for name in ("placement", "device_memory", "host_memory"):
        if getattr(parameters, name) not in (None, "auto", "device"):
            why = "the rows of a distributed graph exist only in the memory of its ranks"
            yield Refusal(name, why, f"leave {name} out, or partition the graph, which may place its rows")
    if parameters.statistics:
        why = "the searches of a distributed graph do not count the arcs that they gather"
        yield Refusal("statistics", why, f"leave statistics out, or {whole}")


def _refusals_by_weight(parameters: TraverseParameters) -> Iterator[Refusal]:
    """Yield what a search by weights does not take over ranks."""
    whole = "traverse the graph that symmetrize or reorder made"
    if parameters.strategy != "auto":
        why = "a partition has no other strategy than auto"
        yield Refusal("strategy", why, f"leave strategy out, or {whole}")
    if parameters.backend == "cuda":
        why = "shortest paths over ranks have no CUDA form"
        yield Refusal("backend", why, f"leave backend out, or {whole}")
    if parameters.tuning.keys() - {"width"}:
        why = "shortest paths over ranks have no constant but width"
        yield Refusal("tuning", why, f"leave the others out, or {whole}")


def directed_refusal(parameters: TraverseParameters, directed: bool) -> str:
    """Say that a strategy does not search a directed graph, and which do; nothing where it does."""
    known = strategies_for(parameters.algorithm)
    chosen = known.get(parameters.strategy)
    if not directed or chosen is None or chosen.directed:
        return ""
    able = sorted(name for name, each in known.items() if each.directed)
    return f"strategy {chosen.name} needs a symmetric graph; a directed one takes {either(['auto', *able])}"


def refuse(parameters: TraverseParameters, stored: Any) -> None:
    """Raise `StageError` for what the parameters ask and a stored graph does not have."""
    compressed = getattr(stored, "subgraphs", None) is not None
    for refusal in refusals(parameters, "Partition" if compressed else type(stored).__name__):
        raise StageError(refusal.why, hint=refusal.hint)


def without_weights(kind: str) -> tuple[str, str] | None:
    """Say why an artifact of this kind has no weights, and what to do; None where it may have some."""
    if kind != "DistributedGraph":
        return None
    return (
        "a generated graph has no weights, which algorithm shortest_paths needs",
        "distribute files that do",
    )


def without_whole_rows(kind: str) -> tuple[str, str] | None:
    """Say why an artifact of this kind has no whole rows, and what to do; None where it has them."""
    return _kept_by_none(kind, "whole rows, which algorithm strong_components needs")


def _kept_by_none(kind: str, what: str) -> tuple[str, str] | None:
    stages = {"Partition": "partition", "DistributedGraph": "distribute"}
    if kind not in stages:
        return None
    return f"{stages[kind]} keeps no {what}", "traverse the graph that symmetrize or reorder made"


def backend_of_search(parameters: TraverseParameters, machine: Machine) -> str:
    """Return where a traversal runs: where it was asked to, else where the run does, if the strategy can.

    A strategy that has no CUDA side runs on the CPU. Raises `StageError` where a GPU is asked for and the run
    has none.
    """
    if parameters.backend == "cuda" and machine.backend != "cuda":
        raise StageError(
            "the traversal asks for backend cuda, and this run is on the CPU",
            hint="run it with --backend cuda on a machine that has a GPU, or leave `backend` out",
        )
    if parameters.backend == "cpu" or machine.backend == "cpu":
        return "cpu"
    if parameters.strategy != "auto" and parameters.backend == "auto":
        strategy = strategies_for(parameters.algorithm).get(parameters.strategy)
        if strategy is not None and strategy.cuda is None:
            return "cpu"
    return "cuda"


def cannot_run(parameters: TraverseParameters, backend: str) -> CannotRun | None:
    """Say why a traversal cannot run on `cpu` or `cuda`; None if it can. No strategy stands for another."""
    refused = without_gpu(parameters.backend, backend)
    if refused is not None:
        return refused
    on_cpu = "cpu" in (parameters.backend, backend)
    return without_cpu_code(parameters.algorithm, parameters.strategy) if on_cpu else None


def without_gpu(asked: str, backend: str) -> CannotRun | None:
    """Say that a GPU is asked for in a run on the CPU; None if it is not."""
    if asked != "cuda" or backend != "cpu":
        return None
    return CannotRun(
        f"{NEEDS_GPU}: backend cuda is asked for, and this run is on the CPU",
        "run it with --backend cuda on a machine that has a GPU, or leave `backend` out",
    )


def without_cpu_code(algorithm: str, name: str) -> CannotRun | None:
    """Say that a strategy has no function for the CPU, and which have; None if it has one."""
    known = strategies_for(algorithm)
    strategy = known.get(name)
    if strategy is None or strategy.cpu is not None:
        return None
    able = ", ".join(sorted(name for name, each in known.items() if each.cpu is not None))
    return CannotRun(
        f"{NEEDS_GPU}: strategy {name} has no CPU code",
        f"on the CPU there are auto, {able}; or run it with --backend cuda on a machine that has a GPU",
    )


def checked_tuning(
    algorithm: str, name: str, backend: str, tuning: Mapping[str, Any], layout: str = COLUMNS
) -> tuple[dict[str, Any], list[str]]:
    """Return the constants that the strategy takes on this backend, and a sentence for each it does not.

    A constant of the strategy's other backend alone is left out, so that one workflow serves both. Raises
    ValueError for a strategy that does not run here, for a constant that it has nowhere, and for a value of
    another type than the constant has.
    """
    strategy = strategies_for(algorithm, layout)[name]
    strategy.load(backend)
    here = constants(strategy, backend)
    other = "cpu" if backend == "cuda" else "cuda"
    taken, left_out = {}, []
    for constant, value in tuning.items():
        if constant in here:
            taken[constant] = checked_value(name, constant, value, here[constant])
        elif constant in constants(strategy, other):
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


def barrier_limit(tuning: Mapping[str, Any]) -> float:
    """Read how long ranks wait for each other; raises `StageError` for a limit that cannot be."""
    from gravel.kernels.partition import options

    seconds = float(tuning.get(BARRIER_SECONDS, options.BARRIER_SECONDS))
    try:
        options.check_barrier_seconds(seconds)
    except ValueError as error:
        raise StageError(str(error)) from None
    return seconds


def kind_faults(parameters: TraverseParameters, kinds: Mapping[str, Sequence[str]]) -> Iterator[Fault]:
    """Yield what does not go with the kind of graph that a workflow gives a traversal."""
    for kind in kinds.get("input", ()):
        for refusal in refusals(parameters, kind):
            value = getattr(parameters, refusal.name)
            yield Fault((refusal.name,), value, f"{refusal.why}; {refusal.hint}")


class Searching(Protocol):
    """Parameters that choose a strategy and its constants."""

    strategy: str
    tuning: dict[str, bool | int | float | str]


def tuning_faults(parameters: Searching) -> Iterator[Fault]:
    """Yield each constant that no search with these parameters has, and each value that none takes."""
    if not parameters.tuning:
        return
    algorithm = getattr(parameters, "algorithm", "bfs")
    known = _constants(algorithm, parameters.strategy)
    if parameters.strategy == "auto":
        whose, listed = "no strategy has a", "docs/strategies.md lists them"
    else:
        whose = f"strategy {parameters.strategy!r} has no"
        listed = f"it has {', '.join(known) or 'none'}"
    for name, value in parameters.tuning.items():
        if name in known:
            why = _unfit(name, value, known[name]) or _out_of_range(name, value)
            if why is not None:
                yield Fault(("tuning", name), value, why)
        else:
            near = nearest_text(name, list(known))
            yield Fault(("tuning", name), value, f"{whose} constant {name!r}{near}; {listed}")


def _out_of_range(name: str, value: Any) -> str | None:
    """Say why ranks cannot wait for so long; None for another constant."""
    if name != BARRIER_SECONDS:
        return None
    from gravel.kernels.partition.options import check_barrier_seconds

    try:
        check_barrier_seconds(float(value))
    except ValueError as error:
        return str(error).partition("; ")[2]
    return None


def _unfit(name: str, value: Any, kinds: Mapping[str, list[Any]]) -> str | None:
    """Say why no strategy takes a value; None if one does."""
    refusals = []
    known = {strategy: [kind for kind in each if kind is not None] for strategy, each in kinds.items()}
    if not any(known.values()):
        return None
    for strategy, each in known.items():
        for kind in each:
            try:
                checked_value(strategy, name, value, kind)
            except ValueError as error:
                refusals.append(str(error))
            else:
                return None
    first = next(strategy for strategy, each in known.items() if each)
    return f"strategy {first!r} takes {refusals[0].rpartition('; it is ')[2]}"


@cache
def _constants(algorithm: str, strategy: str) -> dict[str, dict[str, list[Any]]]:
    """Return the types of each constant by strategy, on either backend."""
    found: dict[str, dict[str, list[Any]]] = {}
    for name, each in strategies_for(algorithm).items():
        if strategy not in ("auto", name):
            continue
        for backend in ("cpu", "cuda"):
            for constant, kind in constants(each, backend).items():
                found.setdefault(constant, {}).setdefault(name, []).append(kind)
    if strategy == "auto" and algorithm != "shortest_paths":
        for constant, kind in _options_of_ranks():
            if algorithm == "components" and constant != BARRIER_SECONDS:
                continue
            found.setdefault(constant, {}).setdefault("auto", []).append(kind)
    return found


def _options_of_ranks() -> Iterator[tuple[str, Any]]:
    """Yield the options of searches of partitions, which are not chosen by a strategy."""
    from gravel.kernels.partition.options import SearchOptions

    kinds = typing.get_type_hints(SearchOptions)
    for field in dataclasses.fields(SearchOptions):
        yield field.name, kinds[field.name]
