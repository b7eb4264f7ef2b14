"""Small artifacts of every kind, made by gravel's own stages: what a new stage is tried on."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from stages.artifacts import Artifact

__all__ = ["CHAIN", "GRAPHS", "samples"]

GRAPHS: dict[str, dict[str, Any]] = {
    "rmat": {"source": {"rmat": {"scale": 6, "edge_factor": 4, "seed": 1}}},
    "grid": {"source": {"grid": {"dimensions": [5, 9]}}},
    "sparse": {"source": {"uniform": {"vertices": 40, "edges": 30, "seed": 3}}},
    "loops": {"source": {"uniform": {"vertices": 6, "edges": 40, "seed": 2}}},
    "no edges": {"source": {"uniform": {"vertices": 5, "edges": 0}}},
}
"""Parameters of `ingest` by name: skewed, regular, with many parts, with self-loops, with nothing in it."""

CHAIN: dict[str, dict[str, Any]] = {
    "edges": {"stage": "ingest"},
    "graph": {"stage": "symmetrize", "input": "edges"},
    "ordered": {"stage": "reorder", "input": "graph", "method": "degree"},
    "parts": {"stage": "partition", "input": "graph", "ranks": 2, "threshold": 6},
    "packed": {"stage": "compress", "input": "graph"},
    "bfs": {"stage": "traverse", "input": "graph", "sources": {"random": 2, "seed": 7}},
    "check": {"stage": "verify", "graph": "graph", "traversal": "bfs"},
    "levels": {"stage": "probe", "input": "graph", "repeats": 1, "sources": {"random": 1, "seed": 7}},
    "page": {"stage": "report", "inputs": ["graph", "bfs"]},
}
"""Entries of a workflow that together give every kind, each after those that it needs."""

_KEEPS_LOOPS = {"loops"}


def entries_for(graph: str) -> dict[str, dict[str, Any]]:
    """Return the entries of `CHAIN` for one of `GRAPHS`."""
    entries = {name: dict(entry) for name, entry in CHAIN.items()}
    entries["edges"].update(GRAPHS[graph])
    if graph in _KEEPS_LOOPS:
        entries["graph"]["self_loops"] = "keep"
    return entries


def giver_of(kinds: tuple[str, ...]) -> str:
    """Name the first entry of `CHAIN` with an output that fits; raises LookupError if none has one."""
    from stages.stage import all_stages

    for name, entry in CHAIN.items():
        if set(all_stages()[entry["stage"]].outputs) & set(kinds):
            return name
    raise LookupError(f"no stage of gravel gives {' or '.join(kinds)}")


@cache
def samples(graph: str) -> Mapping[str, Artifact]:
    """Return an artifact of every kind, by kind, made from one of `GRAPHS`."""
    from stages.context import PlainContext
    from stages.stage import all_stages

    context, known = PlainContext(), all_stages()
    made: dict[str, tuple[Artifact, ...]] = {}
    found: dict[str, Artifact] = {}
    for name, entry in entries_for(graph).items():
        stage = known[entry["stage"]]
        slots = {"input": next(iter(stage.inputs), "")} if len(stage.inputs) == 1 else {}
        inputs: dict[str, Any] = {}
        parameters = {}
        for key, value in entry.items():
            slot = slots.get(key, key)
            if slot in stage.inputs:
                kinds = stage.inputs[slot].kinds
                given = [
                    each
                    for giver in (value if isinstance(value, list) else [value])
                    for each in made[giver]
                    if type(each).__name__ in kinds
                ]
                inputs[slot] = tuple(given) if stage.inputs[slot].many else given[0]
            elif key != "stage":
                parameters[key] = value
        result = stage.run(context, stage.parameters.model_validate(parameters), **inputs)
        made[name] = result if isinstance(result, tuple) else (result,)
        for artifact in made[name]:
            found.setdefault(type(artifact).__name__, artifact)
    return found
