"""Past runs: their folders, records, logs, failures, and what to note on how files were read."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from gravel.pipeline.core.errors import GravelError, RequestError
from gravel.pipeline.records.event_log import follow, is_record, read_log
from gravel.pipeline.records.record import BEFORE_STAGES, EXPORT_SUFFIX, FORMAT, is_newer, log_name
from gravel.pipeline.store.folder import LOGS, PAGE, RUN_RECORD, RUNS, run_path
from gravel.pipeline.store.opening import MAX_RECORD_BYTES, open_file, read_whole, stated
from gravel.pipeline.store.sharing import is_own

if TYPE_CHECKING:
    from collections.abc import Collection

    from gravel.pipeline.store.cache import Cache
    from gravel.stages.artifact import Json


HEAD_BYTES = 1 << 18
"""Bytes that are read at a time of a record of which only the beginning is wanted."""


def read_run(folder: Path) -> dict[str, Json] | None:
    """Return a run's record, or None if there is none that can be read.

    A record that says "running" while its process is gone is returned as "interrupted". `unread` counts the
    lines of its log that cannot be read, if there are any.
    """
    record = _read_record(folder)
    if record is None or not is_record(record) or is_newer(record):
        return None
    if record["state"] == "running" and (unread := follow(record, read_log(folder))):
        record["unread"] = unread
    if record["state"] == "running" and not still_runs(record):
        record["state"] = "interrupted"
        for stage in record["stages"]:
            if stage["state"] == "running":
                stage["state"] = "interrupted"
    return record


def read_head(folder: Path) -> dict[str, Json] | None:
    """Return the record of a run that has ended, without its stage runs, or None if that cannot be had."""
    try:
        with _open_record(folder) as file:
            text = b""
            while BEFORE_STAGES not in text:
                more = file.read(HEAD_BYTES)
                if not more:
                    return None
                text += more
        head = json.loads(text[: text.index(BEFORE_STAGES)] + b"}")
    except (GravelError, OSError, ValueError, RecursionError):
        return None
    head["stages"] = []
    return head if is_record(head) and head["state"] != "running" else None


def format_of(folder: Path) -> int:
    """Return the format that a run's record states, 0 if there is none that says so."""
    found = (_read_record(folder) or {}).get("format")
    return found if isinstance(found, int) else 0


def _read_record(folder: Path) -> dict[str, Json] | None:
    """Return what a run's `run.json` holds, whatever that is, or None if it cannot be read."""
    try:
        with _open_record(folder) as file:
            found = json.loads(read_whole(file).decode())
    except (GravelError, OSError, ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _open_record(folder: Path) -> BinaryIO:
    return open_file(folder.parents[1], f"{folder.parent.name}/{folder.name}/{RUN_RECORD}", MAX_RECORD_BYTES)


def still_runs(record: dict[str, Json]) -> bool:
    """Say whether the process of a run lives; one on another host is believed."""
    if record.get("state") != "running":
        return False
    if record.get("host") != os.uname().nodename:
        return True
    try:
        os.kill(record["pid"], 0)
        # A later process may have got the same id.
        words = Path(f"/proc/{record['pid']}/cmdline").read_bytes().lower()
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return any(name in words for name in (b"python", b"gravel", b"pytest"))


def run_folders(root: Path, *, exports: bool = False) -> list[Path]:
    """Return the folders of all runs, the newest first; those of exports only if they are asked for."""
    folder = root / RUNS
    written: dict[str, int] = {}
    with suppress(OSError):
        for name in os.listdir(folder):  # noqa: PTH208 (names are all that is wanted)
            if name.endswith(EXPORT_SUFFIX) and not exports:
                continue
            with suppress(OSError):
                written[name] = os.stat(f"{folder}/{name}/{RUN_RECORD}").st_mtime_ns  # noqa: PTH116
    return [folder / name for name in sorted(written, key=written.__getitem__, reverse=True)]


def list_runs(root: Path, *, exports: bool = False) -> list[dict[str, Json]]:
    """Return the records of all runs, the newest first; those of exports only if they are asked for."""
    folders = run_folders(root, exports=exports)
    return [record for folder in folders if (record := read_run(folder)) is not None]


def find_run(root: Path, name: str | None) -> tuple[Path, dict[str, Json]]:
    """Find a run by its id or the only id that holds `name`; without a name, or with `last`, the newest.

    One of an export is found by its id. Raises RequestError if there is none or the name fits several.
    """
    folders = run_folders(root)
    if name is None or name == "last":
        if not folders:
            raise RequestError(f"no run is on record in {root}", hint="start one with: gravel run FILE")
        chosen = folders[:1]
    else:
        exact = [folder for folder in run_folders(root, exports=True) if folder.name == name]
        chosen = exact or [folder for folder in folders if name in folder.name]
    if len(chosen) != 1:
        found = f"{len(chosen)} runs fit {name!r}" if chosen else f"there is no run {name!r}"
        raise RequestError(found, hint="gravel runs lists them; `last` is the newest")
    record = read_run(chosen[0])
    if record is None:
        newer = format_of(chosen[0])
        if newer > FORMAT:
            raise RequestError(
                f"the record of run {chosen[0].name} is of format {newer}, which a newer gravel wrote; "
                f"this one reads up to format {FORMAT}",
                hint="upgrade gravel",
            )
        raise RequestError(f"the record of run {chosen[0].name} cannot be read", hint="see gravel runs")
    return chosen[0], record


def stage_log(folder: Path, record: dict[str, Json], stage: str) -> Path:
    """Return the log file of a stage run, given by its key or by an entry that has one run only.

    Raises RequestError for a stage that the run does not have.
    """
    stages = record["stages"]
    keys = [entry["key"] for entry in stages]
    chosen = [stage] if stage in keys else [entry["key"] for entry in stages if entry["entry"] == stage]
    if len(chosen) == 1:
        return folder / LOGS / log_name(chosen[0])
    if chosen:
        raise RequestError(f"{stage} ran {len(chosen)} times", hint=f"name one of: {', '.join(chosen)}")
    from difflib import get_close_matches

    near = get_close_matches(stage, keys, 1)
    hint = f"did you mean {near[0]}?" if near else f"its stage runs are: {', '.join(keys)}"
    raise RequestError(f"run {record['run']} has no stage run {stage!r}", hint=hint)


def last_report(root: Path, workflow_path: str, recipes: Collection[str]) -> str | None:
    """Return the newest report of a workflow file's run of the same recipes that is still there."""
    for folder in run_folders(root):
        page = folder / PAGE
        there = stated(root, run_path(folder.name, PAGE)) is not None
        if not (there and is_own(root, folder) and is_own(root, page)):
            continue
        record = read_head(folder) or read_run(folder)
        if record is None or record["workflow"]["path"] != workflow_path:
            continue
        if set(record["recipes"]) == set(recipes):
            return str(page)
    return None


@dataclass(frozen=True)
class Failures:
    """The run, the keys of the stage runs that failed in it, and the parameters that it had."""

    run: str
    keys: tuple[str, ...]
    parameters: Mapping[str, Json]


def runs_of(root: Path, workflow: Path) -> Iterator[dict[str, Json]]:
    """Yield the records of a workflow or data file's runs, the newest first."""
    for folder in run_folders(root):
        record = read_run(folder)
        if record is not None and record["workflow"].get("file") == str(workflow.absolute()):
            yield record


def last_failures(root: Path, workflow: str | Path) -> Failures:
    """Return what failed in the last run of a workflow file.

    Raises RequestError if no run of it is on record, or if the last one still goes.
    """
    record = next(runs_of(root, Path(workflow)), None)
    if record is None:
        raise RequestError(f"no run of {workflow} is on record in {root}", hint="leave --failed out")
    if still_runs(record):
        raise RequestError(
            f"the last run of {workflow}, {record['run']}, still goes",
            hint="gravel status shows it; run --failed when it has ended",
        )
    keys = tuple(stage["key"] for stage in record["stages"] if stage["state"] == "failed")
    return Failures(record["run"], keys, record["workflow"]["parameters"])


def last_failed_recipes(root: Path, workflow: Path) -> dict[str, str]:
    """Map the recipes that failed in the last run of a workflow file to what went wrong."""
    record: dict[str, Json] = next(runs_of(root, workflow), {"stages": []})
    return {
        stage["recipe"]: f"failed in {record['run']}: {stage['error']}"
        for stage in record["stages"]
        if stage["state"] == "failed" and stage["recipe"]
    }


MAX_NOTES = 12
"""Lines beside an answer; all of them stand with the stage runs."""


def reading_notes(record: Mapping[str, Any], cache: Cache) -> list[str]:
    """List what ingest says of its files, and how many edges are left out where there is one graph."""
    readers = [stage for stage in record["stages"] if stage["stage"] == "ingest" and stage["remarks"]]
    alike: dict[str, list[str]] = {}
    for remark in (remark for stage in readers for remark in stage["remarks"]):
        how = re.fullmatch("read .+? as: (.+)", remark)
        alike.setdefault(how[1] if how else remark, []).append(remark)
    notes = [
        each[0] if len(set(each)) == 1 else f"read {len(each):,} files as: {how}"
        for how, each in alike.items()
    ]
    if len(readers) == 1:
        notes += _left_out(record, cache)
    if len(notes) > MAX_NOTES:
        more = f"and {len(notes) - MAX_NOTES:,} more notes, which stand with the stage runs"
        notes[MAX_NOTES:] = [more]
    return notes


def _left_out(record: Mapping[str, Any], cache: Cache) -> list[str]:
    outputs = dict.fromkeys(name for stage in record["stages"] for name in stage["outputs"])
    found = [each for name in outputs if (each := cache.find(name)) is not None]
    lists = [each for each in found if each.kind == "EdgeList"]
    graphs = [each for each in found if each.kind == "Graph"]
    if len(lists) != 1 or len(graphs) != 1 or graphs[0].attributes["loop_count"]:
        return []
    edges, arcs = lists[0].extent.arcs, graphs[0].extent.arcs
    left = edges - (arcs // 2 if graphs[0].attributes["symmetric"] else arcs)
    return [f"{left:,} of {edges:,} edges are self-loops or duplicates, and left out"] if left > 0 else []
