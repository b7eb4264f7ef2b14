"""The output block of the Graph500 benchmark, made from a run's record and the cache.

Fields, their order and their statistics are those of `gravel.stages.sections.graph500`. `nedge` counts by the
rule of the specification 2.0, section 9.2: the edges of the input list in the component searched, multiple
edges and self-loops included. A `graph500` stage has measured all of it; of a `traverse` stage the block is
put together from the stages that led to it. Lines that begin with # are gravel's own.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import TYPE_CHECKING, cast

from gravel.pipeline.core.errors import RequestError
from gravel.pipeline.records.record import DONE
from gravel.stages.artifact import Json
from gravel.stages.graph500_parameters import EDGE_FACTOR, KEYS
from gravel.stages.sections.graph500 import UNKNOWN, Run, fields, lines, rule_texts, run_of

if TYPE_CHECKING:
    from gravel.pipeline.store.cache import Cache
    from gravel.stages.artifacts import EdgeList, Measurement, Traversal

KRONECKER = (0.57, 0.19, 0.19)

EDGES_AT_ONCE = 1 << 22
"""Edges counted at a time: 16 MiB of sources, and as many look-ups."""

INVALID = "No results printed for invalid run."
"""What the reference code says when a search did not pass its validation."""


@dataclass
class Block:
    """The block of one measured stage run; `valid` is False if a verification of it failed."""

    key: str
    valid: bool
    lines: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The block as it is printed, with gravel's notes after it."""
        return "\n".join([*self.lines, *(f"# {note}" for note in self.notes)])


def graph500_blocks(record: Mapping[str, Json], cache: Cache, only: str | None = None) -> list[Block]:
    """Make the block of every measured breadth-first search of a run, or of the stage run `only`.

    Raises RequestError if there is none, or if it searched a directed graph.
    """
    stages = {run["key"]: run for run in record["stages"]}
    if only is not None and only not in stages:
        raise RequestError(
            f"run {record['run']} has no stage run {only!r}", hint=f"its stage runs are: {', '.join(stages)}"
        )
    blocks: list[Block] = []
    for run in stages.values():
        if only not in (None, run["key"]):
            continue
        done = run["state"] in DONE
        if run["stage"] == "graph500" and (done or run["state"] == "failed"):
            blocks.append(_benchmark(run, cache) if done else Block(run["key"], False, [INVALID]))
        elif run["stage"] == "traverse" and done:
            traversal, measurement = run["outputs"]
            if traversal.startswith("recipe:"):
                raise RequestError(f"{run['key']} was not kept", hint="run it with keep: true")
            measured = cache.describe(measurement).attributes
            if measured["algorithm"] == "bfs" and measured["searches"]:
                blocks.append(_block(run, stages, measured, cache))
    if not blocks:
        asked = f"stage run {only!r}" if only else "run"
        raise RequestError(
            f"{asked} of {record['run']} measured no breadth-first search",
            hint="the block is made of a `graph500` stage, or of a `traverse` stage with algorithm: bfs",
        )
    return blocks


def _benchmark(run: Mapping[str, Json], cache: Cache) -> Block:
    """Make the block of a `graph500` stage, which measured all that is in it."""
    one = cast("Measurement", cache.open(run["outputs"][0]))
    found = fields(run_of(one.benchmark, one.prepare_milliseconds, one.searches))
    rules = [f"{rule}: {done}" for rule, done in rule_texts(one).items()]
    notes = [*rules, *_cached(run), f"{run['key']}: {one.strategy} on {one.hardware}"]
    return Block(run["key"], True, lines(found), notes)


def _cached(run: Mapping[str, Json]) -> list[str]:
    """Say of a cached stage run whose time it tells."""
    note = f"{run['key']} was cached: its times are those of the run that made it"
    return [note] if run["state"] == "cached" else []


def _block(run: Mapping[str, Json], stages: Mapping[str, Json], measured: Json, cache: Cache) -> Block:
    if not measured["graph"].get("symmetric", True):
        raise RequestError(
            f"{run['key']} searched a directed graph, and Graph500 counts undirected edges",
            hint="symmetrize with direction: both",
        )
    if cache.describe(run["outputs"][0]).attributes["max_depth"] is not None:
        raise RequestError(
            f"the searches of {run['key']} end at a depth, and Graph500 searches whole components",
            hint="leave max_depth out",
        )
    key, searches, notes = run["key"], measured["searches"], list[str]()
    checks = [other for other in stages.values() if other["stage"] == "verify" and key in other["upstream"]]
    verified = [other for other in checks if other["state"] in DONE]
    if any(_failed(other, cache) for other in checks):
        return Block(key, False, [INVALID])

    above = _ancestors(key, stages)
    ingest = next((stages[name] for name in above if stages[name]["stage"] == "ingest"), None)
    built = [stages[name] for name in above if stages[name]["stage"] != "ingest"]
    scale, factor, generated = _size(ingest, measured, cache, notes)
    edges = _edge_counts(run, ingest, searches, cache, notes)
    times = [search["milliseconds"] / 1e3 for search in searches]
    prepared = measured["prepare_milliseconds"] / 1e3
    construction = sum(other["seconds"] or 0.0 for other in built) + prepared

    each = sum(other["seconds"] or 0.0 for other in verified) / len(times) if verified else UNKNOWN
    # The ranks of a partition; all other searches are one process.
    processes = int((measured["graph"].get("partition") or {}).get("ranks", 1))
    found = fields(Run(scale, factor, generated, processes, construction, times, edges, (), each))
    _say_what_differs(run, measured, verified, built, notes)
    notes += [note for other in (ingest, *built, *verified, run) if other for note in _cached(other)]
    return Block(key, True, lines(found), notes)


def _failed(run: Mapping[str, Json], cache: Cache) -> bool:
    """Say whether a verification found a fault; one that ends so fails its stage run, too."""
    if run["state"] not in DONE:
        return bool(run["state"] == "failed")
    checks = cache.describe(run["outputs"][0]).attributes["checks"]
    return not all(check["passed"] for check in checks)


def _ancestors(key: str, stages: Mapping[str, Json]) -> list[str]:
    found: list[str] = []
    waiting = [*stages[key]["upstream"]]
    while waiting:
        name = waiting.pop()
        if name in stages and name not in found:
            found.append(name)
            waiting += stages[name]["upstream"]
    return found


def _size(
    ingest: Mapping[str, Json] | None, measured: Json, cache: Cache, notes: list[str]
) -> tuple[int, float, float | None]:
    """Return SCALE, the edge factor, and the seconds of the generator if the graph was generated."""
    recipe = cache.look_up(ingest["recipe"]) if ingest is not None and ingest["recipe"] else None
    rmat = None if recipe is None else (recipe.parts["parameters"].get("source") or {}).get("rmat")
    if ingest is not None and rmat is not None:
        if (rmat["a"], rmat["b"], rmat["c"], rmat["edge_factor"]) != (*KRONECKER, EDGE_FACTOR):
            notes.append(
                "not the benchmark's generator parameters: it has 0.57, 0.19, 0.19 and edgefactor 16"
            )
        return int(rmat["scale"]), float(rmat["edge_factor"]), ingest["seconds"]
    vertices = measured["graph"]["vertices"]
    scale = max(0, math.ceil(math.log2(max(1, vertices))))
    notes.append(
        f"no graph of the benchmark's generator: SCALE is that of {vertices} vertices, rounded up, and "
        "edgefactor the distinct edges over 2^SCALE"
    )
    return scale, measured["graph"]["arcs"] / 2 / 2**scale, None


def _edge_counts(
    run: Mapping[str, Json],
    ingest: Mapping[str, Json] | None,
    searches: Sequence[Json],
    cache: Cache,
    notes: list[str],
) -> list[int]:
    """Count the edges of each search by Graph500's rule, or say by which other one."""
    outputs = ingest["outputs"] if ingest is not None else ()
    record = cache.find(outputs[0]) if outputs and not outputs[0].startswith("recipe:") else None
    if record is None or record.kind != "EdgeList" or cache.check(record.id) is not None:
        only = f" --only {ingest['key']} --keep {ingest['key']}" if ingest is not None else ""
        notes.append(
            "nedge counts distinct undirected edges, without multiple edges and self-loops that symmetrize "
            "removed: the input list is not in the cache, so Graph500's count is unknown; it is no smaller"
            + (f"; gravel run FILE{only} stores it" if only else "")
        )
        return [int(search["edges"]) for search in searches]
    notes.append(
        "nedge counts the input list's edges in the component, multiple edges and self-loops included"
    )
    traversal = cast("Traversal", cache.open(run["outputs"][0]))
    return _count_in_components(traversal, cast("EdgeList", cache.open(record.id)))


def _count_in_components(traversal: Traversal, edges: EdgeList) -> list[int]:
    """Count the edges of the input list within each search's component, passing once over a component."""
    import numpy

    labels = traversal.distance if traversal.distance is not None else traversal.predecessor
    assert labels is not None
    assert traversal.sources is not None
    sources = [int(source) for source in numpy.asarray(traversal.sources)]
    first: dict[int, int] = {}  # the first search in a component -> the edges there
    counts = []
    for place, source in enumerate(sources):
        # In an undirected graph two searches reach the same vertices if one reaches the other's source.
        alike = (row for row in first if source == sources[row] or labels[row, source : source + 1][0] >= 0)
        same = next(alike, place)
        if same == place:
            reached = numpy.asarray(labels[place, :]) >= 0
            reached[source] = True
            first[place] = sum(
                int(numpy.count_nonzero(reached[numpy.asarray(edges.source[low : low + EDGES_AT_ONCE])]))
                for low in range(0, len(edges.source), EDGES_AT_ONCE)
            )
        counts.append(first[same])
    return counts


def _say_what_differs(
    run: Mapping[str, Json],
    measured: Json,
    verified: Sequence[Mapping[str, Json]],
    built: Sequence[Mapping[str, Json]],
    notes: list[str],
) -> None:
    """Name what an official result would need, and what the numbers hold."""
    searches = measured["searches"]
    names = ", ".join(other["key"] for other in reversed(built)) or "none"
    orders = [other["key"] for other in built if other["stage"] == "reorder"]
    back = median(search["map_back_milliseconds"] for search in searches)
    notes += [
        f"construction_time: the stages {names}, reading and writing included, and the preparation",
        "structures from degrees were not built within each search, as the rules ask, but once: "
        f"{' and '.join([*orders, 'the preparation'])}; a `graph500` stage builds them in each",
        "times end with the labels in the memory that was searched; copying them to the host in the first "
        f"numbering took {back:.3g} ms more (median)",
    ]
    if len(searches) != KEYS:
        notes.append(f"an official result has {KEYS} searches")
    if any(search["batch"] > 1 for search in searches):
        notes.append("searches ran several at once, each with its share of their time; officially one by one")
    if measured["asked"].get("output") == "distance":
        notes.append("distances alone were made; the benchmark asks for predecessors")
    notes.append(
        "all searches were validated, together: mean_validate is a share, the others are unknown"
        if verified
        else "the searches were not validated: let a `verify` stage read them"
    )
    notes.append(f"{run['key']}: {measured['strategy']} on {measured['hardware']}")
