"""Results of a workflow's stages, as the objects that `gravel.graph` leads to."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gravel.pipeline.core.names import nearest
from gravel.pipeline.store.cache import Cache
from gravel.vertex_ids import listed

if TYPE_CHECKING:
    from gravel.pipeline.plan.model import Plan, StageRun
    from gravel.vertex_ids import Ids


def one_of(plan: Plan, root: Path, record: Mapping[str, Any], name: str, where: Mapping[str, object]) -> Any:
    """Return the one result of a stage; raises KeyError and ValueError as `Run.__getitem__`."""
    runs = _runs(plan, name, where)
    if len(runs) > 1:
        axes = {axis: sorted({_text(run.coordinates[axis]) for run in runs}) for axis in _axes(runs)}
        choices = "; ".join(f"{axis} is {', '.join(values)}" for axis, values in axes.items())
        raise ValueError(
            f"{name!r} has {len(runs)} results ({choices}): choose one with result({name!r}, where={{...}}), "
            f"or take all of them with results({name!r})"
        )
    return _object(plan, root, record, runs[0])


def all_of(
    plan: Plan, root: Path, record: Mapping[str, Any], name: str, where: Mapping[str, object]
) -> dict[str, Any]:
    """Return the results of a stage by the keys of its runs."""
    return {run.key: _object(plan, root, record, run) for run in _runs(plan, name, where)}


def _runs(plan: Plan, name: str, where: Mapping[str, object]) -> list[StageRun]:
    exact = plan.find(name)
    runs = [exact] if exact is not None else [run for run in plan.runs.values() if run.entry == name]
    if not runs:
        known = list(dict.fromkeys(run.entry for run in plan.runs.values()))
        near = nearest(name, known)
        meant = f"; did you mean {near!r}?" if near else "."
        raise KeyError(f"the workflow has no stage {name!r}{meant} It has {', '.join(known)}")
    for axis, value in where.items():
        if not any(axis in run.coordinates for run in runs):
            raise KeyError(f"no axis {axis!r} reaches {name!r}; {', '.join(_axes(runs)) or 'none'} do")
        wanted = {_text(each) for each in (value if isinstance(value, list | tuple) else [value])}
        chosen = [run for run in runs if _text(run.coordinates.get(axis)) in wanted]
        if not chosen:
            known = sorted({_text(run.coordinates.get(axis)) for run in runs})
            raise KeyError(f"{axis} is not {value!r} in any run of {name!r}; it is {', '.join(known)}")
        runs = chosen
    # Repetitions of a measurement label the same.
    return [run for run in runs if run.repetition == 1]


def _axes(runs: list[StageRun]) -> list[str]:
    return list(dict.fromkeys(axis for run in runs for axis in run.coordinates))


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _outputs(record: Mapping[str, Any], key: str) -> tuple[str, ...]:
    for stage in record["stages"]:
        if stage["key"] == key:
            if not stage["outputs"]:
                raise ValueError(f"{key} has no result: {stage['error'] or stage['state']}")
            return tuple(stage["outputs"])
    raise KeyError(f"the run has no stage run {key}")


def _object(plan: Plan, root: Path, record: Mapping[str, Any], run: StageRun) -> Any:
    cache = Cache(root)
    outputs = dict(zip(run.stage.outputs, _outputs(record, run.key), strict=True))
    kind = run.stage.outputs[0]
    first = _open(cache, run, outputs[kind])
    if kind == "Traversal":
        measured = _open(cache, run, outputs["Measurement"]) if "Measurement" in outputs else None
        return _traversal(first, measured, _ids(plan, cache, record, run))
    if kind in ("Graph", "Ordering", "CompressedGraph") and getattr(first, "subgraphs", None) is None:
        from gravel.graphs import Graph
        from gravel.memory import refuse, this_machine
        from gravel.stored import in_memory

        size = cache.describe(outputs[kind]).bytes
        refuse(f"the graph of {run.key}", size, this_machine(), None, "Use a machine with more memory")
        return Graph(in_memory(first), _ids(plan, cache, record, run), machine=this_machine())
    return first


def _open(cache: Cache, run: StageRun, artifact: str) -> Any:
    from gravel.pipeline.core.errors import DamagedArtifact

    try:
        return cache.open(artifact)
    except (DamagedArtifact, LookupError) as error:
        raise ValueError(
            f"the result of {run.key} is not in the cache ({error}); set `keep: true` for {run.entry}, or "
            f"run the workflow again with keep=[{run.entry!r}]"
        ) from error


def _ids(plan: Plan, cache: Cache, record: Mapping[str, Any], run: StageRun) -> Ids:
    """Find the ids that a run's vertices have, with the nearest stage that knows them."""
    from gravel.stored import ids_of

    for one in [run, *plan.lineage(run.key)]:
        if "VertexIds" in one.stage.outputs:
            outputs = _outputs(record, one.key)
            return ids_of(_open(cache, one, outputs[one.stage.outputs.index("VertexIds")]))
    raise ValueError(f"{run.entry} rests on no stage that names vertices")


def _labels(found: Any, row: int) -> tuple[Any, Any]:
    """Read the labels of one search; None for those that it does not have."""
    import numpy

    distance, predecessor = (
        None if each is None else numpy.asarray(each[row]) for each in (found.distance, found.predecessor)
    )
    if distance is not None and found.algorithm == "bfs":
        distance = distance.astype(numpy.int32, copy=False)
    return distance, predecessor


def _traversal(found: Any, measured: Any, ids: Ids) -> Any:
    from gravel.components import Components
    from gravel.searches import StoredSearch
    from gravel.shortest_paths import ShortestPaths

    described = (
        {}
        if measured is None
        else {"strategy": measured.strategy, "reason": measured.reason, "notes": measured.notes}
    )
    records = [] if measured is None else measured.searches
    if found.component is not None:
        import numpy

        least = min((each["milliseconds"] for each in records), default=0.0)
        return Components(ids, numpy.asarray(found.component), least, str(described.get("strategy", "")))
    if found.distance is None and found.predecessor is None:
        return found
    import numpy

    sources = numpy.asarray(found.sources)
    names = listed(ids, sources)
    kind = ShortestPaths if found.algorithm == "sssp" else StoredSearch
    searches = [
        kind(
            ids,
            name,
            int(sources[row]),
            partial(_labels, found, row),
            described | (records[row] if row < len(records) else {}),
        )
        for row, name in enumerate(names)
    ]
    return searches[0] if len(searches) == 1 else searches
