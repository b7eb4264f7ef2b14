"""Faults of a traversal's parameters, found when a workflow is read: graphs, strategies, constants."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol, get_type_hints

from gravel.kernels.algorithms import strategies_for
from gravel.stages.stage import Fault
from gravel.stages.traversal.names import nearest_text
from gravel.stages.traversal.strategy import BARRIER_SECONDS, checked_value, constants, refusals

if TYPE_CHECKING:
    from gravel.stages.traversal.parameters import TraverseParameters


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
    from gravel.kernels.striped.options import StripedOptions

    for options in (SearchOptions, StripedOptions):
        kinds = get_type_hints(options)
        for field in dataclasses.fields(options):
            yield field.name, kinds[field.name]
