"""gravel export: results as files, under the ids that the input uses."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gravel.pipeline.cli.completion import workflow_stages
from gravel.pipeline.cli.errors import echo
from gravel.pipeline.cli.options import (
    cache_option,
    data_file_options,
    load_plan,
    machine_options,
    set_option,
    sources_option,
    together,
    trust_option,
    where_option,
)
from gravel.pipeline.cli.plan import forecast
from gravel.pipeline.core.errors import DamagedArtifact
from gravel.pipeline.export.tables import STANDARD_OUTPUT, Table, entry_of, tables
from gravel.pipeline.export.writers import write_csv_to
from gravel.pipeline.plan.builder import select
from gravel.pipeline.plan.model import CACHED
from gravel.pipeline.progress.terminal import make_display
from gravel.pipeline.records.past_runs import last_failed_recipes
from gravel.pipeline.records.record import DONE, EXPORT
from gravel.pipeline.store.cache import Cache
from gravel.pipeline.store.location import find_cache

if TYPE_CHECKING:
    from gravel.pipeline.plan.model import Plan

ATTEMPTS = 3
"""How often a result that turns out damaged while it is read is computed again before that is an error."""

MAX_LISTED = 20
"""Files that are listed one by one; of more only those that changed are counted."""


@click.command()
@click.argument("file", type=click.Path())
@click.argument("stages", nargs=-1, required=True, metavar="STAGE...", shell_complete=workflow_stages)
@click.option(
    "--to",
    "target",
    required=True,
    metavar="OUT",
    help="The file to write: .parquet, .csv or .npz; 'out/{dataset}.{stage}.csv' is a file of each data set "
    "and stage, and - is CSV on standard output.",
)
@machine_options
@together("asked", sources_option, *data_file_options, set_option, where_option)
@cache_option
@trust_option
def command(
    file: str,
    stages: Sequence[str],
    target: str,
    machine: dict[str, Any],
    asked: dict[str, Any],
    cache_path: str | None,
    trust_remote: bool,
) -> int:
    """Write results of STAGEs of the workflow FILE, or of FILE's data, computing whatever is missing first.

    OUT may name axes of the matrix, and the stage, in braces: it then stands for a file of each of their
    values. Axes with several values that it does not name become columns. A file whose content stays the same
    is not written again. What failed in the last run of FILE is not tried again.

    A BFS has the columns source, vertex, distance and predecessor. Components have vertex and component,
    which is the smallest id of the component. A vertex that is not reached has no distance and no
    predecessor. These are null, or an empty field in CSV. In npz they are -1, inf among decimals, and an
    empty text among ids.

    Exit code 1: a result is missing; the others are written.
    """
    # Every repetition of a measurement labels the same, so the first stands for all.
    plan = load_plan(file, **asked, only=stages, repeat=1)
    wanted = tables(plan, _entries(plan, stages), target, Path())
    cache = Cache(find_cache(cache_path), trust_remote=trust_remote)
    for attempt in range(ATTEMPTS):
        try:
            results, code = _results(plan, wanted, cache, Path(file), machine)
            return max(code, _write(wanted, cache, results))
        except DamagedArtifact as damage:
            if attempt + 1 == ATTEMPTS:
                raise
            cache.quarantine(damage.artifact_id, damage.reason)
    raise AssertionError("the loop returns or raises")


def _entries(plan: Plan, stages: Sequence[str]) -> list[str]:
    """Return the entries that were asked for, by their names, those of their keys or of a nested workflow."""
    keys = [key for run in plan.runs.values() if run.key in plan.wanted for key in (run.key, *run.aliases)]
    found = ((key, entry_of(key)) for key in keys)
    named = (
        entry
        for key, entry in found
        if any(f"{entry}.".startswith(f"{each}.") or key == each for each in stages)
    )
    return list(dict.fromkeys(named))


Results = Mapping[str, Sequence[str]]
"""The ids of outputs by the keys of the runs that have a result."""


def _results(
    plan: Plan, wanted: Sequence[Table], cache: Cache, file: Path, machine: Mapping[str, Any]
) -> tuple[Results, int]:
    """Find the results, and compute those that are missing; returns an exit code, too.

    Where nothing is to be computed, no run is recorded.
    """
    found = forecast(plan, cache, **machine).statuses
    needed = {run for table in wanted for part in table.parts for run, _ in part.read}
    if all(found[key].state == CACHED for key in needed):
        return {key: found[key].outputs or () for key in needed}, 0
    failed = last_failed_recipes(cache.root, file)
    lost = {key: failed[status.recipe] for key, status in found.items() if status.recipe in failed}
    left = [
        key
        for key in needed
        if not lost.keys() & {key, *(run.key for run in plan.lineage(key))} or found[key].state == CACHED
    ]
    for key, problem in lost.items():
        echo(f"error: {key}: {problem}; it is not tried again (gravel run {file} does)", err=True)
    if all(found[key].state == CACHED for key in left):
        return {key: found[key].outputs or () for key in left}, 1
    from gravel.pipeline.scheduler.execution import execute
    from gravel.pipeline.scheduler.machine import RunOptions

    display = make_display(quiet=not sys.stderr.isatty())
    trust = cache.acceptance.trust_remote
    options = RunOptions(cache_root=cache.root, display=display, trust_remote=trust, kind=EXPORT, **machine)
    outcome = execute(select(plan, only=left), options)
    for stage in outcome.record["stages"]:
        if stage["error"]:
            echo(f"error: {stage['key']}: {stage['error']}", err=True)
    there = {stage["key"]: stage["outputs"] for stage in outcome.record["stages"] if stage["state"] in DONE}
    return there, max(outcome.exit_code, int(bool(lost)))


def _write(wanted: Sequence[Table], cache: Cache, results: Results) -> int:
    """Write the files of the results that there are, and say what became of each; returns an exit code."""

    def outputs(key: str) -> Sequence[str]:
        return results.get(key, ())

    lines, changed, code = [], 0, 0
    for table in wanted:
        there, missing = table.split(outputs)
        if missing:
            code = 1
            echo(f"error: {table.path}: {table.problem(missing)}", err=True)
        if not there.parts:
            continue
        if table.path == STANDARD_OUTPUT:
            write_csv_to(there.columns(cache, outputs), sys.stdout.buffer)
            continue
        written = there.write(cache, outputs)
        changed += written.is_new
        lines.append(f"{written.rows:,} rows -> {table.path}{'' if written.is_new else ' (unchanged)'}")
    if len(lines) <= MAX_LISTED:
        for line in lines:
            echo(line)
    else:
        echo(f"{len(lines):,} files, {changed:,} of them written and the others unchanged")
    return code
