"""A stage run's recipe, as soon as the ids of its inputs are known."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from blake3 import blake3

from gravel.pipeline.core.errors import GravelError, Location, NeedsContent, RequestError
from gravel.pipeline.core.hashing import Recipe, content_of, digest, make_recipe
from gravel.pipeline.core.memory import format_bytes
from gravel.pipeline.datasets.file_digest import FileDigests
from gravel.pipeline.plan import sources, vertex_ids
from gravel.pipeline.plan.model import InputRef, Plan, StageRun
from gravel.pipeline.plan.vertex_ids import Output, ids_through, planned_ids
from gravel.pipeline.store.cache import Cache
from gravel.pipeline.store.folder import resolved_path
from gravel.pipeline.workflow.data_files import listed_id
from gravel.stages.stage import FileInput, Parameters, Stage
from gravel.stages.urls import broken_link, is_url

MAX_BYTES = 64 << 20
"""Of a file of sources: a search from each of its lines would take days."""


def listed_sources(run: StageRun, location: str) -> tuple[str, ...]:
    """Read the ids; raises RequestError, with the place in the workflow or the line in the file."""
    place = run.files.get(location, run.location)
    if is_url(location):
        raise RequestError("sources are listed in a local file", hint="download it first", location=place)
    path = Path(location)
    try:
        size = path.stat().st_size
        if size > MAX_BYTES:
            limit = f"a list of sources may have {format_bytes(MAX_BYTES)}"
            raise RequestError(f"{location} has {format_bytes(size)}; {limit}", location=place)
        data = path.read_bytes()
    except OSError as error:
        reason = "there is no such file" if isinstance(error, FileNotFoundError) else error.strerror
        message = f"the sources in {location} cannot be read: {reason}{broken_link(path)}"
        raise RequestError(message, hint="one id a line", location=place) from None
    found = []
    for number, line in enumerate(data.removeprefix(b"\xef\xbb\xbf").split(b"\n"), 1):
        try:
            text = listed_id(line.decode())
        except UnicodeDecodeError:
            line_place = Location(location, number, 1)
            hint = "one id a line, in UTF-8"
            raise RequestError("this line is not UTF-8", hint=hint, location=line_place) from None
        if text:
            found.append(text)
    if not found:
        raise RequestError(f"{location} lists no source", hint="one id a line", location=place)
    return tuple(found)


PSEUDO = "recipe:"
"""What the id of a result that is not kept begins with."""


def pseudo_ids(run: StageRun, recipe_digest: str) -> tuple[str, ...]:
    """Name the outputs of a run that is not kept: they are known by its recipe only."""
    return tuple(f"{PSEUDO}{recipe_digest}:{position}" for position in range(len(run.stage.outputs)))


class NeedsResult(LookupError):
    """A recipe needs a look into a result that is not kept and not there yet: that of the run `key`."""

    def __init__(self, key: str) -> None:
        super().__init__(key)
        self.key = key


class RecipeMaker:
    """Makes recipes for the planner and the executor alike.

    `upstream` of each method leads from run keys to output ids and must hold everything that the run rests
    on (`Plan.lineage`), since given sources are resolved through the `VertexIds` far upstream. `hardware`
    is asked for stages that measure. `open_ids` opens an artifact by its id where the driver has set it:
    it also knows the results that are not kept.
    """

    def __init__(
        self, plan: Plan, cache: Cache, digests: FileDigests, hardware: Callable[[Stage], str | None]
    ) -> None:
        self._plan = plan
        self._cache = cache
        self._digests = digests
        self._hardware = hardware
        self.open_ids: Callable[[str], Any] | None = None

    def resolve(self, run: StageRun, upstream: Mapping[str, tuple[str, ...]]) -> Parameters:
        """Return the parameters with given source ids replaced by internal indices.

        A report's have the ids of its graphs, and whether all of these are read from files.


        Raises UnknownSource for an id that is not in the graph, and NeedsResult where that cannot be known.
        """
        if "graphs" in run.stage.parameters.model_fields:
            refs = [ref for slot in run.inputs.values() for ref in slot]
            graphs = tuple(_graph_id(self._plan, ref, upstream) for ref in refs)
            sources = [each for each in self._plan.lineage(run.key) if "VertexIds" in each.stage.outputs]
            own = bool(sources) and all(each.stage.files(each.parameters) for each in sources)
            return run.parameters.model_copy(update={"graphs": graphs, "from_files": own})
        ids, listed = run.stage.source_ids(run.parameters), run.stage.ids_file(run.parameters)
        if not ids and listed is None:
            return run.parameters
        outputs = self._vertex_ids(run)
        if not outputs:
            return run.parameters
        if listed is not None:
            ids = listed_sources(run, listed)
        what = "vertex" if "vertices" in run.stage.parameters.model_fields else "source"
        named_by = {key: upstream[key][place] for key, place in outputs}
        resolved: Parameters = run.stage.with_vertices(run.parameters, self._find(named_by, ids, what))
        return resolved

    def recipe(self, run: StageRun, upstream: Mapping[str, tuple[str, ...]]) -> Recipe:
        """Return the run's recipe.

        Raises as `resolve` does, RequestError for a file that is missing, and NeedsContent for a URL that has
        to be fetched first.
        """
        parameters = self.resolve(run, upstream)
        inputs = {
            slot: tuple(upstream[ref.run][ref.output] for ref in refs) for slot, refs in run.inputs.items()
        }
        files = self._contents(run, run.stage.files(parameters))
        hardware = self._hardware(run.stage) if run.stage.is_timed(parameters) else None
        return make_recipe(run.stage, parameters, inputs, files, hardware, run.repetition)

    def parts(self, run: StageRun, upstream: Mapping[str, tuple[str, ...]]) -> list[Recipe]:
        """Return the recipes of the parts that the run asks for, once its own is known; raises nothing."""
        return [
            make_recipe(stage, parameters, {}, self._contents(run, stage.files(parameters)), None)
            for stage, parameters in run.stage.parts(self.resolve(run, upstream))
        ]

    def _contents(self, run: StageRun, listed: Sequence[FileInput]) -> dict[str, str]:
        """Digest files; those whose order changes nothing come in the order of their digests."""
        found: list[tuple[str, str]] = []
        times: dict[str, int] = {}
        waiting: NeedsContent | None = None
        for file in listed:
            times[file.location] = count = times.get(file.location, 0) + 1
            name = file.location if count == 1 else f"{file.location} ({count})"
            try:
                found.append((name, content_of(self._digests.digest(file), file)))
            except NeedsContent as error:
                waiting = error  # the others are asked for meanwhile
            except RequestError as error:
                problem = error.problems[0]
                place = problem.location or run.files.get(file.location, run.location)
                raise RequestError(problem.message, hint=problem.hint, location=place) from None
        if waiting is not None:
            raise waiting
        if all(file.several for file in listed):
            found.sort(key=lambda each: each[1])
        return dict(found)

    def _vertex_ids(self, run: StageRun) -> tuple[Output, ...]:
        givers = [each for each in self._plan.lineage(run.key) if "VertexIds" in each.stage.outputs]
        if len(givers) > 1:
            names = ", ".join(each.key for each in givers)
            raise RequestError(
                f"the sources of {run.key} are ids, and it depends on several sets of ids: {names}",
                location=run.location,
            )
        return planned_ids(self._plan, *run.upstream)

    def _find(self, named_by: Mapping[str, str], ids: tuple[int | str, ...], what: str) -> tuple[int, ...]:
        """Look ids up in the memo, else in the artifacts that name vertices, by the runs that made them."""
        from gravel.pipeline.store.records import RECORD_FORMAT, BrokenRecord, seal, unseal

        artifacts = list(named_by.values())
        name = resolved_name(artifacts, ids)
        memo = self._cache.files.read(name)
        if memo is not None:
            with suppress(BrokenRecord, KeyError, ValueError):
                return tuple(unseal(memo[0])["vertices"])
        not_there = [key for key, artifact in named_by.items() if artifact.startswith(PSEUDO)]
        if self.open_ids is None and not_there:
            raise NeedsResult(not_there[0])
        named = ids_through(list(map(self.open_ids or self._cache.open, artifacts)))
        vertices = sources.find_vertices(named, ids, what)
        body = {"format": RECORD_FORMAT, "artifacts": artifacts, "ids": list(ids), "vertices": list(vertices)}
        with suppress(GravelError):  # without a memo they are looked up again
            self._cache.files.replace(name, seal(body))
        return vertices


def resolved_name(artifacts: Sequence[str], ids: Sequence[int | str]) -> str:
    """Name the file of the cache that remembers which vertices these ids are by artifacts that name them."""
    # The code that resolves is part of the name: what an earlier version of it found is not served.
    files = Path(__file__).with_name("sources.py"), Path(vertex_ids.__file__)
    code = blake3(b"".join(each.read_bytes() for each in files)).hexdigest()
    return resolved_path(digest([list(artifacts), list(ids), code]))


def _graph_id(plan: Plan, ref: InputRef, upstream: Mapping[str, tuple[str, ...]]) -> str:
    """Return the id of the one nearest `Graph` that an output rests on; "" where there is none, or several.

    `upstream` leads from run keys to output ids.
    """
    found: set[str] = set()
    waiting, seen = [ref], {ref}
    for each in waiting:
        run = plan.runs[each.run]
        if run.stage.outputs[each.output] == "Graph":
            found.update(upstream.get(each.run, ())[each.output :][:1])
            continue
        for before in (one for slot in run.inputs.values() for one in slot):
            if before not in seen:
                seen.add(before)
                waiting.append(before)
    return found.pop() if len(found) == 1 else ""
