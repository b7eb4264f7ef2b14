"""A suite of tests that every stage should pass; an author inherits it and runs it in pytest.

```python
from gravel.conformance import StageConformance


class TestKCore(StageConformance):
    plugin = "my_stages.py"  # beside the test; leave it out for a stage of an installed package
    stage_name = "k_core"
    parameters = ({"k": 2}, {"k": 8})
```

Each test tries every given set of parameters on small graphs: skewed, regular, in many parts, with
self-loops, without any edge. Override `inputs` for a stage that cannot take some of them.
"""

from __future__ import annotations

import inspect
import json
import pickle
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, ClassVar

from gravel.pipeline.plugins.conformance import GRAPHS, entries_for, giver_of, sample
from gravel.stages.artifact import Artifact
from gravel.stages.stage import Machine, Need, Parameters, Stage, documented

__all__ = ["StageConformance"]

HEAVY = ("cupy", "dask", "distributed", "matplotlib", "numba", "numpy", "pandas", "pyarrow", "scipy", "zarr")
"""Packages that a stage's module must not import at its top: planning a run imports its stages."""

SMALL = 256
"""Bytes by which an estimate may be too small."""

LIMIT = 120
"""Seconds for a fresh Python; it needs one or two on a quiet machine."""


class StageConformance:
    """Tests of what gravel expects of a stage.

    `plugin` is the path of the file, counted from the test's own folder; None for an installed package.
    `parameters` are the sets of parameters to try, as a workflow would write them.
    """

    plugin: ClassVar[str | None] = None
    stage_name: ClassVar[str]
    parameters: ClassVar[Sequence[Mapping[str, Any]]] = ({},)

    @classmethod
    def plugin_path(cls) -> Path | None:
        """Return the path of the plugin's file."""
        return None if cls.plugin is None else Path(inspect.getfile(cls)).resolve().parent / cls.plugin

    @classmethod
    def stage(cls) -> Stage:
        """Load the stage as a workflow does; raises RequestError for a faulty plugin."""
        path = cls.plugin_path()
        if path is None:
            from gravel.pipeline.plugins.packages import known_stages

            return known_stages()[cls.stage_name]
        from gravel.pipeline.workflow.plugins import read_plugin

        found = read_plugin(path)
        assert cls.stage_name in found, f"{path} has {', '.join(found)}, and no stage {cls.stage_name}"
        return found[cls.stage_name]

    def inputs(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield the name of each graph with the inputs made from it, by slot."""
        stage = self.stage()
        for graph in GRAPHS if stage.inputs else ("none",):
            filled: dict[str, Any] = {}
            for slot, each in stage.inputs.items():
                given = sample(graph, each.kinds)
                assert given is not None, f"override `inputs`: nothing fits the slot {slot!r}"
                filled[slot] = (given,) if each.many else given
            yield graph, filled

    def cases(self) -> Iterator[tuple[str, Stage, Parameters, dict[str, Any]]]:
        """Yield every set of parameters on every graph, with a name for messages."""
        stage = self.stage()
        for given in self.parameters:
            chosen = stage.parameters.model_validate(dict(given))
            for graph, filled in self.inputs():
                yield f"{stage.name} {dict(given)} on {graph}", stage, chosen, filled

    def test_it_can_be_loaded(self) -> None:
        """The file or package imports, and the declarations fit together."""
        assert self.stage().name == self.stage_name

    def test_importing_it_loads_nothing_heavy(self) -> None:
        """NumPy and the like are imported inside functions, so that planning stays quick."""
        path = self.plugin_path()
        load = (
            f"from gravel.pipeline.plugins.packages import known_stages; known_stages()[{self.stage_name!r}]"
            if path is None
            else f"from gravel.pipeline.workflow.plugins import read_plugin; read_plugin(Path({str(path)!r}))"
        )
        loaded = _python(
            f"import sys, json\nfrom pathlib import Path\n{load}\nprint(json.dumps(list(sys.modules)))"
        )
        heavy = sorted(set(json.loads(loaded)) & set(HEAVY))
        assert not heavy, f"it imports {', '.join(heavy)} at its top; import them where they are used"

    def test_its_parameters_are_documented(self) -> None:
        """Every parameter has a docstring below it."""
        known = documented(self.stage().parameters).model_fields
        silent = [name for name, field in known.items() if not field.description]
        assert not silent, f"the parameters {', '.join(silent)} have no docstring"

    def test_its_parameters_survive_json(self) -> None:
        """A recipe holds parameters as JSON, from which they must come back unchanged."""
        stage = self.stage()
        for given in self.parameters:
            chosen = stage.parameters.model_validate(dict(given))
            given_back = json.loads(json.dumps(chosen.model_dump(mode="json", exclude_unset=True)))
            assert stage.parameters.model_validate(given_back) == chosen

    def test_it_gives_what_it_declares(self) -> None:
        """The outputs are of the declared kinds and keep the promises of these."""
        from gravel.pipeline.plugins.conformance import broken_promises

        for name, stage, chosen, filled in self.cases():
            made = _run(stage, chosen, filled)
            assert tuple(type(each).__name__ for each in made) == stage.outputs, name
            for each in made:
                assert not (broken := broken_promises(each)), f"{name}: {type(each).__name__}: {broken}"

    def test_it_leaves_its_inputs_alone(self) -> None:
        """Other stages read the same artifacts, so that arrays of inputs are never written to."""
        for name, stage, chosen, filled in self.cases():
            frozen = {slot: _read_only(each) for slot, each in filled.items()}
            try:
                _run(stage, chosen, frozen)
            except ValueError as error:
                if "read-only" in str(error):
                    raise AssertionError(f"{name}: it writes into its input") from error
                raise

    def test_it_gives_the_same_again(self, tmp_path: Path) -> None:
        """Equal inputs and parameters give equal results, with one thread and with several."""
        for name, stage, chosen, filled in self.cases():
            one, two = (_ids(tmp_path, _run(stage, chosen, filled, threads), stage) for threads in (1, 2))
            assert one == two, (
                f"{name}: two runs differ; draw random numbers from a seed among the parameters"
            )

    def test_its_estimate_bounds_its_results(self) -> None:
        """`estimate` says at most how large each output is: the next stage's need is stated with it."""
        from gravel.pipeline.workers.results_in_memory import extent_in_memory

        machine = Machine(backend="cpu", threads=2, host_memory=1 << 32)
        for name, stage, chosen, filled in self.cases():
            many = {slot: each if isinstance(each, tuple) else (each,) for slot, each in filled.items()}
            extents = {slot: tuple(map(extent_in_memory, each)) for slot, each in many.items()}
            need = stage.estimate(chosen, extents, machine)
            assert isinstance(need, Need), name
            assert need.host_bytes >= 0, name
            assert need.device_bytes >= 0, name
            assert tuple(extent.kind for extent in need.outputs) == stage.outputs, name
            for stated, each in zip(need.outputs, _run(stage, chosen, filled), strict=True):
                real = extent_in_memory(each)
                for part in ("vertices", "arcs", "bytes", "searches"):
                    least, most = getattr(real, part), getattr(stated, part)
                    slack = SMALL if part == "bytes" else 0
                    assert least <= most + slack, (
                        f"{name}: {stated.kind} has {least} {part}, and {most} are stated"
                    )

    def test_it_travels_to_workers(self) -> None:
        """A fresh process finds the stage and its parameters under the names by which they are pickled."""
        from gravel.pipeline.plugins.files import SOURCES

        stage = self.stage()
        sent = pickle.dumps(
            (stage, [stage.parameters.model_validate(dict(each)) for each in self.parameters])
        )
        own = {name: source for name, source in SOURCES.items() if name == stage.run.__module__}
        printed = _python(
            "import pickle, sys\nfrom gravel.pipeline.plugins.files import add_sources\n"
            f"add_sources(pickle.loads({pickle.dumps(own)!r}))\n"
            f"print(pickle.loads({sent!r})[0].name)"
        )
        assert printed.strip() == stage.name

    def test_a_workflow_runs_it_once(self, tmp_path: Path) -> None:
        """A workflow computes it once; the second run takes it from the cache."""
        from gravel.pipeline.plan.builder import build_plan
        from gravel.pipeline.scheduler.execution import execute
        from gravel.pipeline.scheduler.machine import RunOptions
        from gravel.pipeline.workflow.loader import load_workflow

        path = tmp_path / "workflow.yaml"
        path.write_text(json.dumps(self._workflow()), encoding="utf-8")
        options = RunOptions(cache_root=tmp_path / "cache", cluster="inline", backend="cpu")
        for state in ("computed", "cached"):
            outcome = execute(build_plan(load_workflow(path)), options)
            stages = {each["key"]: each for each in outcome.record["stages"]}
            assert stages["mine"]["state"] == state, stages["mine"]["error"]

    def _workflow(self) -> dict[str, Any]:
        """Write the smallest workflow with the stage in it, which is the entry `mine`."""
        stage, path = self.stage(), self.plugin_path()
        chain = entries_for("rmat")
        mine: dict[str, Any] = {"stage": stage.name, **self.parameters[0]}
        wanted = []
        for slot, each in stage.inputs.items():
            wanted.append(giver := giver_of(each.kinds))
            mine[slot] = [giver] if each.many else giver
        entries: dict[str, Any] = {}
        while wanted:
            name = wanted.pop()
            entries[name] = chain[name]
            named = [each for key, each in chain[name].items() if key != "stage"]
            flat = [part for each in named for part in (each if isinstance(each, list) else [each])]
            wanted += [
                part for part in flat if isinstance(part, str) and part in chain and part not in entries
            ]
        plugins = {} if path is None else {"plugins": [str(path)]}
        return {"workflow": "conformance", **plugins, "stages": {**entries, "mine": mine}}


def _run(
    stage: Stage, chosen: Parameters, filled: Mapping[str, Any], threads: int = 2
) -> tuple[Artifact, ...]:
    from gravel.stages.context import PlainContext

    context = PlainContext(Machine(backend="cpu", threads=threads, host_memory=1 << 32))
    made = stage.run(context, chosen, **filled)
    return made if isinstance(made, tuple) else (made,)


def _ids(folder: Path, made: tuple[Artifact, ...], stage: Stage) -> list[str]:
    """Publish results and return the digests of their content; timings are left out."""
    from gravel.pipeline.store.cache import Cache

    timed = ("Batches", *(("Measurement", "Probe", "Links", "Counters") if stage.measures else ()))
    with Cache(folder / "cache").writer() as writer:
        return [writer.publish(each).id for each in made if type(each).__name__ not in timed]


def _read_only(value: Any) -> Any:
    """Return an artifact, or a tuple of them, with copies of its arrays that cannot be written to."""
    import numpy

    from gravel.pipeline.store.layout import ARRAY, GROUP, fields_of

    def locked(array: Any) -> Any:
        copy = numpy.array(array)
        copy.setflags(write=False)
        return copy

    if isinstance(value, tuple):
        return tuple(map(_read_only, value))
    roles = fields_of(type(value).__name__)
    changed: dict[str, Any] = {}
    for field in fields(value):
        content = getattr(value, field.name)
        if content is not None and roles[field.name] == ARRAY:
            changed[field.name] = locked(content)
        elif content is not None and roles[field.name] == GROUP:
            changed[field.name] = {name: locked(each) for name, each in content.items()}
    return replace(value, **changed)


def _python(code: str) -> str:
    """Run code in a fresh Python that finds modules where this one does; returns what it prints."""
    paths = [path for path in sys.path if path]
    before = f"import sys\nsys.path[:0] = [p for p in {paths!r} if p not in sys.path]\n"
    done = subprocess.run(
        [sys.executable, "-P", "-c", before + code],
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
