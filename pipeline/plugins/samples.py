"""Small artifacts of every kind, made by gravel's own stages: what a new stage is tried on."""

from __future__ import annotations

from functools import cache
from typing import Any

from gravel.stages.artifact import Artifact

__all__ = ["CHAIN", "GRAPHS", "entries_for", "giver_of", "sample"]

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
    "centre": {"stage": "centrality", "input": "graph", "measure": "closeness"},
    "ways": {"stage": "paths", "input": "graph", "pairs": {"random": 3}},
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
    from gravel.stages.stage import all_stages

    for name, entry in CHAIN.items():
        if set(all_stages()[entry["stage"]].outputs) & set(kinds):
            return name
    raise LookupError(f"no stage of gravel gives {' or '.join(kinds)}")


def sample(graph: str, kinds: tuple[str, ...]) -> Artifact | None:
    """Return an artifact of the first of these kinds that there is, made from one of `GRAPHS`."""
    for kind in kinds:
        try:
            made = _made(graph, giver_of((kind,)))
        except LookupError:
            continue
        return next(each for each in made if type(each).__name__ == kind)
    return None


@cache
def _made(graph: str, name: str) -> tuple[Artifact, ...]:
    """Run an entry of `CHAIN` after those that it needs."""
    from gravel.stages.context import PlainContext
    from gravel.stages.stage import all_stages

    entry = entries_for(graph)[name]
    stage = all_stages()[entry.pop("stage")]
    inputs: dict[str, Any] = {}
    for slot, each in stage.inputs.items():
        named = entry.pop(slot)
        given = [
            artifact
            for giver in (named if isinstance(named, list) else [named])
            for artifact in _made(graph, giver)
            if type(artifact).__name__ in each.kinds
        ]
        inputs[slot] = tuple(given) if each.many else given[0]
    result = stage.run(PlainContext(), stage.parameters.model_validate(entry), **inputs)
    return result if isinstance(result, tuple) else (result,)
