"""What a measurement records of a traversal: how its graph was prepared, and what was executed.

A measurement carries this itself, so that a report needs neither the order nor the rows, which may be too
large to be kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, is_dataclass
from typing import TYPE_CHECKING, Any

from gravel.kernels.strategy import Ran, strategies_in
from gravel.stages.artifacts import CompressedGraph, Graph, Ordering, Partition

if TYPE_CHECKING:
    from gravel.stages.traversal.graph import SearchedGraph


def prepared(stored: Graph | CompressedGraph | Partition) -> dict[str, Any]:
    """Return `order`, `rows` and `partition`, each with the statistics of its artifact, if there is one.

    `order` has `method`, `rows` has `codec`, `partition` has `ranks` and `threshold`.
    """
    found: dict[str, Any] = {}
    if isinstance(stored, Ordering):
        found["order"] = {"method": stored.method, **stored.statistics}
    if isinstance(stored, CompressedGraph):
        statistics = dict(stored.statistics)
        order = statistics.pop("order", None)
        if order is not None:
            found["order"] = order
        found["rows"] = {"codec": stored.codec, **statistics}
    if isinstance(stored, Partition):
        found["partition"] = {"ranks": stored.ranks, "threshold": stored.threshold, **stored.statistics}
    return found


def placement_record(graph: SearchedGraph) -> dict[str, Any]:
    """Return the placement for a measurement, unless rows lay in host memory for a search on the CPU."""
    if graph.placed is None and graph.backend == "cpu":
        return {}
    return {"placement": "device" if graph.placed is None else graph.placement}


def executed(search: Any, backend: str) -> dict[str, Any]:
    """Return `function`, `backend` and `options` of a prepared search, as `Measurement.ran` has them.

    A search that no strategy made, such as one over ranks, is named by its class.
    """
    ran: Ran | None = getattr(search, "ran", None)
    if ran is None:
        kind = type(search)
        ran = Ran(f"{kind.__module__}:{kind.__qualname__}", {})
    return told(ran, backend)


def told(ran: Ran, backend: str) -> dict[str, Any]:
    """Return the record of what ran."""
    found = {"function": ran.function, "backend": backend, "options": _plain(ran.options)}
    return found | ({"tuned": dict(ran.tuned)} if ran.tuned else {})


def with_options(search: Any, options: Any) -> Any:
    """Say which options a search over ranks is made with; returns the search."""
    kind = type(search)
    search.ran = Ran(f"{kind.__module__}:{kind.__qualname__}", asdict(options))
    return search


def components_ran(package: str, name: str, backend: str, constants: Mapping[str, Any]) -> Ran:
    """Name what finds components, with its constants."""
    strategy = strategies_in(package)[name]
    return strategy.ran(backend, constants)


def _plain(options: Mapping[str, Any]) -> dict[str, Any]:
    """Leave what JSON has; a constant of another kind is told as text."""
    plain: dict[str, Any] = {}
    for name, value in options.items():
        if is_dataclass(value) and not isinstance(value, type):
            plain[name] = asdict(value)
        elif value is None or isinstance(value, bool | int | float | str):
            plain[name] = value
        else:
            plain[name] = value.item() if hasattr(value, "item") else str(value)
    return plain
