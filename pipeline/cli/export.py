"""gravel export: a stage's result as a file, under the ids that the input uses."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from gravel.pipeline.cli.completions import workflow_stages
from gravel.pipeline.cli.options import (
    cache_option,
    data_file_options,
    load_plan,
    machine_options,
    open_cache,
    set_option,
    sources_option,
    together,
    trust_option,
    where_option,
)
from gravel.pipeline.core.errors import DamagedArtifact, GravelError, RequestError
from gravel.pipeline.export.columns import EXPORTABLE, columns_of
from gravel.pipeline.export.writers import check_target, write_file
from gravel.pipeline.progress.terminal import make_display
from gravel.pipeline.store.cache import Cache

if TYPE_CHECKING:
    from gravel.pipeline.plan.model import Plan, StageRun
    from gravel.pipeline.scheduler.options import RunOptions
    from gravel.stages.artifacts import VertexIds

ATTEMPTS = 3
"""How often a result that turns out damaged while it is read is computed again before that is an error."""


@click.command()
@click.argument("file", type=click.Path())
@click.argument("stage", shell_complete=workflow_stages)
@click.option(
    "--to", "target", required=True, metavar="OUT", help="The file to write: .parquet, .csv or .npz."
)
@machine_options
@together("asked", sources_option, *data_file_options, set_option, where_option)
@cache_option
@trust_option
def command(
    file: str,
    stage: str,
    target: str,
    machine: dict[str, Any],
    asked: dict[str, Any],
    cache_path: str | None,
    trust_remote: bool,
) -> None:
    """Write the result of STAGE of the workflow FILE, or of FILE's data, computing whatever is missing first.

    A BFS has the columns source, vertex, distance and predecessor. Components have vertex and component,
    which is the smallest id of the component. -1 means unreached or no predecessor. If ids are texts, a
    missing predecessor is null, and an empty text in npz.
    """
    from gravel.pipeline.scheduler.options import RunOptions

    path = Path(target)
    check_target(path)
    # Every repetition of a measurement labels the same, so the first stands for all.
    plan = load_plan(file, **asked, only=[stage], repeat=1)
    source = _source(plan, _one_run(plan, stage))
    cache = open_cache(cache_path)
    display = make_display(quiet=True)
    options = RunOptions(cache_root=cache.root, display=display, trust_remote=trust_remote, **machine)
    rows = _export(plan, source, path, options, cache)
    click.echo(f"{rows:,} rows -> {path}")


def _one_run(plan: Plan, stage: str) -> StageRun:
    runs = [run for key, run in plan.runs.items() if key in plan.wanted]
    if len(runs) == 1:
        return runs[0]
    axes = sorted({axis for run in runs for axis in run.coordinates})
    names = ", ".join(run.key for run in runs[:6])
    raise RequestError(
        f"{stage} has {len(runs)} results: {names}{', ...' if len(runs) > 6 else ''}",
        hint=f"choose one with --where {' --where '.join(f'{axis}=VALUE' for axis in axes)}",
    )


def _export(plan: Plan, source: list[tuple[str, int]], path: Path, options: RunOptions, cache: Cache) -> int:
    from gravel.pipeline.scheduler.execution import execute

    for attempt in range(ATTEMPTS):
        outcome = execute(plan, options)
        if outcome.exit_code:
            problems = [f"{one['key']}: {one['error']}" for one in outcome.record["stages"] if one["error"]]
            raise GravelError("; ".join(problems) or f"the run was {outcome.state}")
        try:
            result, ids = (outcome.outputs(key)[place] for key, place in source)
            columns = columns_of(cache.open(result), cast("VertexIds", cache.open(ids)))
            write_file(columns, path)
        except DamagedArtifact as damage:
            if attempt + 1 == ATTEMPTS:
                raise
            cache.quarantine(damage.artifact_id, damage.reason)
        else:
            return columns.rows
    raise AssertionError("the loop returns or raises")


def _source(plan: Plan, run: StageRun) -> list[tuple[str, int]]:
    """Find the runs and the places in their outputs of the result to export and of the ids of its vertices.

    Raises RequestError before anything is computed.
    """
    kinds = run.stage.outputs
    kind = next((kind for kind in EXPORTABLE if kind in kinds), None)
    if kind is None:
        raise RequestError(
            f"{run.entry} makes a {' and a '.join(kinds)}, which has no columns to export",
            hint=f"stages that make one of {', '.join(EXPORTABLE)} can be exported",
        )
    lineage = [run, *plan.lineage(run.key)]
    ingest = next((one for one in lineage if "VertexIds" in one.stage.outputs), None)
    if ingest is None:
        raise RequestError(f"{run.entry} rests on no stage that names vertices", hint="start with ingest")
    for one in (run, ingest):
        if not one.keep:
            raise RequestError(f"{one.entry} is not kept (keep: false)", hint="set keep: true to export it")
    return [(run.key, kinds.index(kind)), (ingest.key, ingest.stage.outputs.index("VertexIds"))]
