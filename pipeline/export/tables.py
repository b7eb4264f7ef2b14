"""Files of results: which result goes into which, and writing those that changed.

`out/{dataset}.{stage}.parquet` stands for a file of each data set and stage. A name without braces stands for
one file, in which a column for each axis says what a row belongs to.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from string import Formatter
from typing import Any

from blake3 import blake3

from gravel.pipeline.core.errors import GravelError, Location, RequestError
from gravel.pipeline.core.names import suggest
from gravel.pipeline.export.columns import EXPORTABLE, Columns, columns_of, joined
from gravel.pipeline.export.writers import check_format, write_file
from gravel.pipeline.plan.model import Plan, StageRun
from gravel.pipeline.plan.vertex_ids import Output, ids_through, planned_ids
from gravel.pipeline.store.cache import Cache
from gravel.pipeline.store.folder import exported_path
from gravel.pipeline.workflow.entries import REPEAT
from gravel.pipeline.workflow.nodes import to_text

FORMAT = 1
"""Of the files that are written: another one where equal results become other bytes."""

STAGE = "stage"
"""What stands in a name for the entry of the workflow whose result it is."""

STANDARD_OUTPUT = Path("-")

Outputs = Callable[[str], Sequence[str]]
"""Returns the ids of the outputs of a run by its key; none where it has no result."""

MAX_NAMED = 5
"""Missing results that a message names."""

_UNSAFE = re.compile(r"[^\w.+=,@ -]+")


@dataclass(frozen=True)
class Part:
    """One result in a table: the runs, and the places among their outputs, of it and of its vertices' ids.

    `ids` are as `gravel.pipeline.plan.vertex_ids` finds them, `axes` the values that become columns.
    """

    key: str
    result: Output
    ids: tuple[Output, ...]
    axes: Mapping[str, str]

    @property
    def read(self) -> tuple[Output, ...]:
        """All outputs that its rows are made of, the result first."""
        return self.result, *self.ids


@dataclass(frozen=True)
class Written:
    """How many rows a file has, and whether it is another one than before."""

    rows: int
    is_new: bool


@dataclass(frozen=True)
class Table:
    """A file and the results of an entry that it gets."""

    path: Path
    entry: str
    parts: tuple[Part, ...]

    def split(self, outputs: Outputs) -> tuple[Table, list[str]]:
        """Return the table of the results that there are, and the keys of those that there are not."""
        there = [part for part in self.parts if all(outputs(run) for run, _ in part.read)]
        missing = [part.key for part in self.parts if part not in there]
        return Table(self.path, self.entry, tuple(there)), missing

    def problem(self, missing: Sequence[str]) -> str:
        """Say what results that there are not mean for the file; an empty text if there are all."""
        names = ", ".join(missing[:MAX_NAMED]) + (", ..." if len(missing) > MAX_NAMED else "")
        if len(missing) < len(self.parts):
            return f"it lacks {names}" if missing else ""
        older = "; the file that is there is older" if self.path.exists() else ""
        return f"not written, since there is no result of {names}{older}"

    def columns(self, cache: Cache, outputs: Outputs) -> Columns:
        """Return its rows; raises `DamagedArtifact`, and RequestError for results that are no one table."""
        read = []
        for part in self.parts:
            result, *ids = (cache.open(outputs(run)[at]) for run, at in part.read)
            read.append((part.axes, columns_of(result, ids_through(ids))))
        return joined(read)

    def write(self, cache: Cache, outputs: Outputs) -> Written:
        """Write the file.

        What was written is remembered in the cache. A file that still is what these results became stays
        untouched. Raises as `columns` and `write_file` do.
        """
        path = self.path.absolute()
        memo = exported_path(blake3(os.fsencode(path)).hexdigest())
        of = [[outputs(run)[at] for run, at in part.read] for part in self.parts]
        body = {
            "format": FORMAT,
            "path": str(path),
            "of": of,
            "axes": [dict(part.axes) for part in self.parts],
        }
        known = _remembered(cache, memo)
        if (seen := _seen(path)) and {**known, "rows": None} == {**body, **seen, "rows": None}:
            return Written(known["rows"], is_new=False)
        columns = self.columns(cache, outputs)
        is_new = write_file(columns, path)
        text = json.dumps({**body, **_seen(path), "rows": columns.rows}).encode()
        with suppress(GravelError):  # a cache that cannot be written
            cache.files.replace(memo, text, durable=False)
        return Written(columns.rows, is_new)


def _remembered(cache: Cache, memo: str) -> dict[str, Any]:
    found = cache.files.read(memo)
    try:
        body = None if found is None else json.loads(found[0])
    except (ValueError, RecursionError):
        return {}
    return body if isinstance(body, dict) and isinstance(body.get("rows"), int) else {}


def _seen(path: Path) -> dict[str, int]:
    """Return what tells a file that was written from one that somebody changed."""
    try:
        found = path.stat()
    except OSError:
        return {}
    return {"size": found.st_size, "mtime_ns": found.st_mtime_ns}


def tables(
    plan: Plan, entries: Sequence[str], name: str, folder: Path, place: Location | None = None
) -> list[Table]:
    """Find the files that results of these entries become, by the order of the plan.

    Parameters
    ----------
    plan : has the results; of a repeated measurement the first stands for all.
    name : of the files, with axes and `stage` in braces, from the folder.
    place : where the name is written.

    Raises RequestError, before anything is computed, for results without columns, braces that hold no axis,
    an unknown format, and two results with the name of one file.

    """
    fields = _fields(name, place)
    if name != str(STANDARD_OUTPUT) or place is not None:
        check_format(name, place)
    elif len(entries) > 1:
        raise RequestError("standard output takes one table", hint=f"name one of: {', '.join(entries)}")
    found: dict[Path, Table] = {}
    for entry in entries:
        for table in _tables_of(plan, entry, name, fields, folder, place):
            other = found.setdefault(table.path, table)
            if other is not table:
                raise RequestError(
                    f"{other.parts[0].key} and {table.parts[0].key} would both be written to {table.path}",
                    hint="tell them apart in the name, such as by {stage}" if other.entry != entry else None,
                    location=place,
                )
    return list(found.values())


def tables_of_outputs(plan: Plan, root: Path) -> list[Table]:
    """Find the files of the section `outputs` for the entries that are planned; `root` is the cache's.

    Raises RequestError as `tables` does, also for two outputs with the name of one file, and one that would
    take the place of an input, of the workflow or of something in the cache.
    """
    folder = plan.workflow.path.absolute().parent
    entries = {entry_of(key) for run in plan.runs.values() for key in (run.key, *run.aliases)}
    taken = {Path(file) for run in plan.runs.values() for file in run.files}
    taken |= {plan.workflow.path.absolute()}
    found: dict[Path, Table] = {}
    for output in plan.workflow.outputs:
        if output.entry not in entries:
            continue
        for table in tables(plan, [output.entry], output.name, folder, output.place):
            path = Path(os.path.normpath(table.path))
            if path in taken:
                problem = f"{path} is read by this workflow, and an output would take its place"
                raise RequestError(problem, hint="name another file", location=output.place)
            if path.is_relative_to(root):
                problem = f"{path} lies in the cache, which gravel alone writes"
                raise RequestError(problem, hint="name a file elsewhere", location=output.place)
            if path in found:
                problem = (
                    f"{found[path].parts[0].key} and {table.parts[0].key} would both be written to {path}"
                )
                raise RequestError(problem, hint="name two files", location=output.place)
            found[path] = table
    return list(found.values())


def _fields(name: str, place: Location | None) -> list[str]:
    try:
        parts = list(Formatter().parse(name))
    except ValueError as error:
        raise _not_read(name, str(error), place) from None
    if strange := [field for _, field, form, turned in parts if field is not None and (form or turned)]:
        raise _not_read(name, f"{{{strange[0]}}} has a format of its own", place)
    return list(dict.fromkeys(field for _, field, _, _ in parts if field is not None))


def _not_read(name: str, problem: str, place: Location | None) -> RequestError:
    hint = "write it like out/{dataset}.{stage}.parquet, and a brace itself twice"
    return RequestError(f"the name {name!r} cannot be read: {problem}", hint=hint, location=place)


def _tables_of(
    plan: Plan, entry: str, name: str, fields: Sequence[str], folder: Path, place: Location | None
) -> Iterator[Table]:
    results = [
        (run, key, coordinates)
        for run in plan.runs.values()
        if run.repetition == 1
        for key, coordinates in ((run.key, run.coordinates), *run.aliases.items())
        if entry_of(key) == entry and REPEAT not in coordinates
    ]
    values: dict[str, set[str]] = {}
    for _, _, coordinates in results:
        for axis, value in coordinates.items():
            values.setdefault(axis, set()).add(to_text(value))
    for field in fields:
        if field != STAGE and field not in values:
            hint = suggest(field, [STAGE, *values], "name")
            problem = f"{name!r} has {{{field}}}, and {entry} has no such axis"
            raise RequestError(problem, hint=hint, location=place)
    as_columns = [axis for axis in values if axis not in fields and len(values[axis]) > 1]
    by_name: dict[str, list[Part]] = {}
    for run, key, coordinates in results:
        texts = {axis: to_text(value) for axis, value in coordinates.items()}
        safe = {axis: _UNSAFE.sub("_", text) or "_" for axis, text in texts.items()}
        written = _filled(name, {**safe, STAGE: _UNSAFE.sub("_", entry)})
        axes = {axis: texts[axis] for axis in as_columns}
        by_name.setdefault(written, []).append(Part(key, *_sources(plan, run, place), axes))
    for written, parts in by_name.items():
        if len({tuple(part.axes.items()) for part in parts}) < len(parts):
            message = f"{parts[0].key} and {parts[1].key} would both be written to {written}"
            hint = "their values differ only in signs that no name of a file has"
            raise RequestError(message, hint=hint, location=place)
        path = STANDARD_OUTPUT if written == str(STANDARD_OUTPUT) else folder / Path(written).expanduser()
        yield Table(path, entry, tuple(parts))


def entry_of(key: str) -> str:
    """Return the entry of the workflow that a stage run's key begins with."""
    return key.split("[", 1)[0]


def _filled(name: str, values: Mapping[str, str]) -> str:
    return "".join(
        text + ("" if field is None else values[field]) for text, field, _, _ in Formatter().parse(name)
    )


def _sources(plan: Plan, run: StageRun, place: Location | None) -> tuple[Output, tuple[Output, ...]]:
    """Find the runs, and the places in their outputs, of a result and of the ids of its vertices."""
    kinds = run.stage.outputs
    kind = next((kind for kind in EXPORTABLE if kind in kinds), None)
    if kind is None:
        raise RequestError(
            f"{run.entry} makes a {' and a '.join(kinds)}, which has no columns to export",
            hint=f"stages that make one of {', '.join(EXPORTABLE)} can be exported",
            location=place,
        )
    ids = planned_ids(plan, run.key)
    if not ids:
        problem = f"{run.entry} rests on no stage that names vertices"
        raise RequestError(problem, hint="start with ingest", location=place)
    for one in (run, *(plan.runs[key] for key, _ in ids)):
        if not one.keep:
            problem = f"{one.entry} is not kept (keep: false)"
            raise RequestError(problem, hint="set keep: true to export it", location=place)
    return (run.key, kinds.index(kind)), ids
