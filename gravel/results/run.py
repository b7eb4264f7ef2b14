"""A run of a workflow that is done, with results of its stages as objects of the library."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gravel.pipeline.core.errors import DamagedArtifact, GravelError
from gravel.pipeline.core.names import nearest
from gravel.pipeline.store.cache import Cache
from gravel.results.components import Components
from gravel.results.searches import Search, ShortestPaths

if TYPE_CHECKING:
    from gravel.conversion.ids import Ids
    from gravel.pipeline.plan.model import Plan, StageRun
    from gravel.results.searches import TakeSubgraph


class Results(dict[str, Any]):
    """Results of a stage by the keys of its runs; `failed` has the reason of each run without one."""

    def __init__(self) -> None:
        super().__init__()
        self.failed: dict[str, str] = {}

    def __repr__(self) -> str:
        failed = f"; without one: {', '.join(self.failed)}" if self.failed else ""
        return f"<gravel.Results: {', '.join(self) or 'none'}{failed}>"


@dataclass(frozen=True)
class Run(Mapping[str, Any]):
    """A run that is done; `run["bfs"]` is the result of the stage `bfs`, read when it is asked for.

    `name` is its name in the cache, `folder` where its record lies, `report` its page (None where nothing was
    computed and no page is due) and `record` what `gravel show` prints of it, as JSON.

    A BFS is a `Search`, or a list of them for several sources; components are `Components`; graphs, in any
    order and layout, are a `Graph`. What has no class of its own comes as the stage's artifact.
    """

    name: str
    folder: Path
    report: Path | None
    record: Mapping[str, Any] = field(repr=False)
    _plan: Plan = field(repr=False)
    _root: Path = field(repr=False)

    def __getitem__(self, name: str) -> Any:
        """Return the result of a stage by its name, or of one of its runs by its key, as `bfs[order=rcm]`.

        Raises KeyError for a stage that is not in the workflow, and ValueError, with the axes, for one that
        has several results.
        """
        return self.result(name)

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names of the stages."""
        return iter(dict.fromkeys(run.entry for run in self._plan.runs.values()))

    def __len__(self) -> int:
        return len(list(iter(self)))

    def result(self, name: str, *, where: Mapping[str, object] | None = None) -> Any:
        """Return the result of a stage at these values of the matrix; see `run[name]`."""
        runs = self._runs(name, where or {})
        if len(runs) > 1:
            axes = {axis: sorted({as_yaml(run.coordinates[axis]) for run in runs}) for axis in _axes(runs)}
            choices = "; ".join(f"{axis} is {', '.join(values)}" for axis, values in axes.items())
            raise ValueError(
                f"{name!r} has {len(runs)} results ({choices}): choose one with result({name!r}, "
                f"where={{...}}), or take all of them with results({name!r})"
            )
        return self._object(runs[0])

    def results(self, name: str, *, where: Mapping[str, object] | None = None) -> Results:
        """Return the results of a stage that there are, by their keys, as `bfs[order=rcm]`.

        `failed` of what is returned has the reason of each stage run that has none.
        """
        found = Results()
        for run in self._runs(name, where or {}):
            if self._stage(run)["outputs"]:
                found[run.key] = self._object(run)
            else:
                found.failed[run.key] = self._why_not(run)
        return found

    def _runs(self, name: str, where: Mapping[str, object]) -> list[StageRun]:
        exact = self._plan.find(name)
        runs = (
            [exact] if exact is not None else [run for run in self._plan.runs.values() if run.entry == name]
        )
        if not runs:
            known = list(self)
            near = nearest(name, known)
            meant = f"; did you mean {near!r}?" if near else "."
            raise KeyError(f"the workflow has no stage {name!r}{meant} It has {', '.join(known)}")
        for axis, value in where.items():
            if not any(axis in run.coordinates for run in runs):
                raise KeyError(f"no axis {axis!r} reaches {name!r}; {', '.join(_axes(runs)) or 'none'} do")
            wanted = {as_yaml(each) for each in (value if isinstance(value, list | tuple) else [value])}
            chosen = [run for run in runs if as_yaml(run.coordinates.get(axis)) in wanted]
            if not chosen:
                known = sorted({as_yaml(run.coordinates.get(axis)) for run in runs})
                raise KeyError(f"{axis} is not {value!r} in any run of {name!r}; it is {', '.join(known)}")
            runs = chosen
        # Repetitions of a measurement label the same.
        return [run for run in runs if run.repetition == 1]

    def _object(self, run: StageRun) -> Any:
        """Return a result as an object of the library; the artifact itself where there is none."""
        outputs = self._outputs(run)
        kind = run.stage.outputs[0]
        first = self._open(run, outputs[kind])
        if kind == "Traversal":
            measured = self._open(run, outputs["Measurement"]) if "Measurement" in outputs else None
            return _traversal(first, measured, self._ids(run), partial(self._subgraph, run))
        if kind in ("Graph", "Ordering", "CompressedGraph") and getattr(first, "subgraphs", None) is None:
            from gravel.graphs.graph import Graph
            from gravel.graphs.stored import in_memory
            from gravel.memory import refuse, this_machine

            size = Cache(self._root).describe(outputs[kind]).bytes
            refuse(f"the graph of {run.key}", size, this_machine(), None, "Use a machine with more memory")
            return Graph(in_memory(first), self._ids(run), machine=this_machine())
        return first

    def _subgraph(self, run: StageRun, chosen: Any) -> Any:
        """Take vertices out of the graph that a stage searched."""
        from gravel.graphs.graph import Graph

        searched = self._object(self._plan.runs[run.inputs["input"][0].run])
        if not isinstance(searched, Graph):
            raise ValueError(f"{run.entry} searched a {type(searched).__name__}, which has no subgraphs here")
        return searched._induced(chosen)

    def _outputs(self, run: StageRun) -> dict[str, str]:
        """Return the ids of a stage run's artifacts by their kinds."""
        outputs = self._stage(run)["outputs"]
        if not outputs:
            raise ValueError(f"{run.key} has no result: {self._why_not(run)}")
        return dict(zip(run.stage.outputs, outputs, strict=True))

    def _stage(self, run: StageRun) -> Mapping[str, Any]:
        """Return what the record has of a stage run."""
        for stage in self.record["stages"]:
            if stage["key"] == run.key:
                found: Mapping[str, Any] = stage
                return found
        raise KeyError(f"the run has no stage run {run.key}")

    def _why_not(self, run: StageRun) -> str:
        stage = self._stage(run)
        return str(stage["error"] or stage["state"])

    def _open(self, run: StageRun, artifact: str) -> Any:
        try:
            return Cache(self._root).open(artifact)
        except (DamagedArtifact, LookupError) as error:
            raise ValueError(
                f"the result of {run.key} is not in the cache ({error}); set `keep: true` for {run.entry}, "
                f"or run the workflow again with keep=[{run.entry!r}]"
            ) from error

    def _ids(self, run: StageRun) -> Ids:
        """Return the ids of a run's vertices, from the stages above it that name them."""
        from gravel.graphs.stored import ids_of
        from gravel.pipeline.plan.vertex_ids import ids_through, planned_ids

        givers = [(self._plan.runs[key], place) for key, place in planned_ids(self._plan, run.key)]
        if not givers:
            raise ValueError(f"{run.entry} rests on no stage that names vertices")
        named_by = [(one, self._outputs(one)[one.stage.outputs[place]]) for one, place in givers]
        return ids_of(ids_through([self._open(*each) for each in named_by]))


class RunFailed(GravelError):
    """Error of a stage or a verification, or of an interrupted run; `run` is its record and results."""

    def __init__(self, message: str, run: Run) -> None:
        super().__init__(message)
        self.run = run


def _axes(runs: list[StageRun]) -> list[str]:
    return list(dict.fromkeys(axis for run in runs for axis in run.coordinates))


def as_yaml(value: object) -> str:
    """Write a value as on the command line: as YAML, which includes JSON."""
    return value if isinstance(value, str) else json.dumps(value)


def _labels(found: Any, row: int) -> tuple[Any, Any]:
    """Read the distances and predecessors of one search; None for those that it lacks."""
    import numpy

    distance, predecessor = (
        None if each is None else numpy.asarray(each[row]) for each in (found.distance, found.predecessor)
    )
    if distance is not None and found.algorithm == "bfs":
        distance = distance.astype(numpy.int32, copy=False)
    return distance, predecessor


def _traversal(found: Any, measured: Any, ids: Ids, take: TakeSubgraph) -> Any:
    import numpy

    described, records = {}, []
    if measured is not None:
        described = {"strategy": measured.strategy, "reason": measured.reason, "notes": measured.notes}
        records = measured.searches
    if found.component is not None:
        least = min((each["milliseconds"] for each in records), default=0.0)
        return Components(ids, numpy.asarray(found.component), least, str(described.get("strategy", "")))
    if found.distance is None and found.predecessor is None:
        return found
    sources = numpy.asarray(found.sources)
    names = ids.listed(sources)
    kind = ShortestPaths if found.algorithm == "shortest_paths" else Search
    searches = [
        kind(
            ids,
            name,
            int(sources[row]),
            partial(_labels, found, row),
            described | (records[row] if row < len(records) else {}),
            take=take,
        )
        for row, name in enumerate(names)
    ]
    return searches[0] if len(searches) == 1 else searches
