"""gravel run: carry out a workflow."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gravel.pipeline.cli.errors import echo, render
from gravel.pipeline.cli.options import (
    cache_option,
    hook_options,
    load_plan,
    machine_options,
    others_argument,
    selection_options,
    trust_option,
)
from gravel.pipeline.core.durations import format_seconds
from gravel.pipeline.core.errors import GravelError, RequestError
from gravel.pipeline.records.record import DONE

if TYPE_CHECKING:
    from gravel.pipeline.plan.model import Plan
    from gravel.pipeline.records.past_runs import Failures
    from gravel.pipeline.scheduler.outcome import RunOutcome
    from gravel.pipeline.store.cache import Cache
    from gravel.pipeline.store.records import ArtifactRecord
    from gravel.stages.artifact import Json


@click.command()
@click.argument("file", type=click.Path())
@others_argument
@selection_options
@cache_option
@trust_option
@machine_options
@click.option(
    "--scheduler-file", metavar="FILE", help="The file that the scheduler of an existing cluster wrote."
)
@click.option(
    "--tls-ca", metavar="FILE", help="For tls://: the authority that signed the certificates (PEM)."
)
@click.option("--tls-cert", metavar="FILE", help="For tls://: this side's certificate (PEM).")
@click.option("--tls-key", metavar="FILE", help="For tls://: the key of --tls-cert (PEM).")
@click.option("--workers", type=click.IntRange(1, 256), help="Workers of a local cluster.")
@click.option(
    "--retries",
    type=click.IntRange(0, 100),
    default=2,
    show_default=True,
    help="How often to retry a stage whose worker is lost.",
)
@click.option(
    "--failed", is_flag=True, help="Only what failed in the last run of FILE, and what depends on it."
)
@hook_options
@click.option("--fail-fast", is_flag=True, help="Stop everything at the first failure.")
@click.option(
    "--profile", is_flag=True, help="End with a table of where the time went, and write a Chrome trace."
)
@click.option("--show-workflow", is_flag=True, help="If FILE is data: print the workflow that searches it.")
@click.option("--json", "as_json", is_flag=True, help="One JSON event per line on standard output.")
@click.option("-q", "--quiet", is_flag=True, help="Show problems only.")
@click.pass_obj
def command(
    began: float | None,
    /,
    file: str,
    others: Sequence[str],
    selection: dict[str, Any],
    machine: dict[str, Any],
    hooks: dict[str, str | None],
    cache_path: str | None,
    scheduler_file: str | None,
    tls_ca: str | None,
    tls_cert: str | None,
    tls_key: str | None,
    failed: bool,
    show_workflow: bool,
    as_json: bool,
    quiet: bool,
    **options: Any,
) -> int:
    """Run the workflow FILE: use what is cached, compute the rest, verify, report.

    FILE may also be data, such as an edge list, or several files, a folder or a pattern that are one
    graph. gravel searches it from --sources, or from random vertices, verifies the searches, and prints
    the answer.

    Exit code 0: done. 1: a stage or a verification failed. 2: the request or the file is wrong, or it
    cannot fit. 130: interrupted; what is complete is kept and used by the next run.
    """
    from gravel.pipeline.progress.terminal import make_display
    from gravel.pipeline.records.hooks import check_hooks, run_hooks
    from gravel.pipeline.records.past_runs import last_failures
    from gravel.pipeline.scheduler.execution import execute
    from gravel.pipeline.scheduler.machine import RunOptions
    from gravel.pipeline.store.location import find_cache
    from gravel.pipeline.workers.settings import tls_of
    from gravel.pipeline.workflow.data_files import is_data, split_ids

    if show_workflow:
        _show_workflow(file, selection, others)
        return 0
    if scheduler_file is not None:
        if machine["cluster"] != "auto":
            hint = f"leave --cluster {machine['cluster']} out"
            raise RequestError("--scheduler-file and --cluster both name a cluster", hint=hint)
        machine["cluster"] = f"file://{scheduler_file}"
    tls = tls_of(tls_ca, tls_cert, tls_key)
    root = find_cache(cache_path)
    failures = last_failures(root, file) if failed else None
    if failures is not None and not failures.keys:
        echo(f"nothing failed in the last run of {file} ({failures.run}), so nothing is to do", err=True)
        return 0
    display = make_display(json=as_json, quiet=quiet)
    settings = RunOptions(cache_root=root, tls=tls, display=display, began=began, **machine, **options)
    with run_hooks(check_hooks(hooks), root, Path(file), partial(echo, err=True)) as ended:
        plan = load_plan(file, others=others, failed=failures.keys if failures else (), **selection)
        if failures is not None:
            _say_what_differs(failures, plan)
        outcome = execute(plan, settings)
        ended(outcome.record)
    if outcome.exit_code:
        _say_what_went_wrong(outcome, plan, file if is_data(file) else None)
    elif not (as_json or quiet) and is_data(file):
        for line in _answer(root, outcome.record, split_ids(selection["sources"])):
            echo(line)
    if settings.profile:
        _show_profile(outcome, root)
    return outcome.exit_code


def _show_profile(outcome: RunOutcome, root: Path) -> None:
    import json

    from gravel.pipeline.records.profile import chrome_trace
    from gravel.pipeline.store.failures import storage_errors
    from gravel.pipeline.store.folder import PROFILE

    if not any(stage["state"] == "computed" for stage in outcome.record["stages"]):
        echo("nothing was computed: there is nothing to profile (--force STAGE computes again)", err=True)
        return
    trace = outcome.folder / PROFILE
    with storage_errors(root):
        trace.write_text(json.dumps(chrome_trace(outcome.record)))
    echo(profile_text(outcome.record), err=True)
    echo(f"trace for chrome://tracing or ui.perfetto.dev: {trace}", err=True)


def _show_workflow(file: str, selection: Mapping[str, Any], others: Sequence[str]) -> None:
    from gravel.pipeline.workflow.data_files import data_settings, is_data
    from gravel.pipeline.workflow.default import workflow_text

    if not is_data(file):
        problem = f"--show-workflow is for a data file, and {file} is a workflow"
        raise RequestError(problem, hint="print the file itself")
    read_as = data_settings(*(selection[name] for name in ("columns", "delimiter", "header", "rows")))
    echo(workflow_text(file, selection["sources"], read_as, others).rstrip())


def _say_what_differs(failures: Failures, plan: Plan) -> None:
    """Tell where the workflow is no longer what failed."""
    from gravel.pipeline.workflow.nodes import as_data

    gone = [key for key in failures.keys if plan.find(key) is None]
    if gone:
        echo(f"note: failed in {failures.run}, and not part of this run: {', '.join(gone)}", err=True)
    now = as_data(dict(plan.workflow.parameters), written=True)
    for name, value in failures.parameters.items():
        if name in now and now[name] != value:
            echo(f"note: {name} was {value} in {failures.run}, and is {now[name]} now", err=True)


def _say_what_went_wrong(outcome: RunOutcome, plan: Plan, data: str | None) -> None:
    stages: list[dict[str, Any]] = outcome.record["stages"]
    for stage in stages:
        if stage["state"] != "failed":
            continue
        run = plan.find(stage["key"])
        # Settings that turn out wrong on this graph, or on this backend, stand in the workflow.
        place = run.location if run is not None and getattr(run.parameters, "tuning", None) else None
        message, hint = f"{stage['key']}: {stage['error']}", stage["hint"]
        if data is not None and data not in message:
            message = f"{data}: {message}"
        if data is not None and hint and "`" in hint:
            hint += f"; `gravel run {data} --show-workflow` prints the workflow to set it in"
        echo(render(GravelError(message, hint=hint, location=place)), err=True)
    if outcome.state == "interrupted":
        kept = sum(stage["state"] in DONE for stage in stages)
        echo(f"interrupted: {kept} of {len(stages)} results are kept; the same command goes on", err=True)


def _answer(root: Path, record: Mapping[str, Any], sources: Sequence[str]) -> Iterator[str]:
    """Yield lines on each search of a run: vertices reached, levels, time; then if it was verified.

    `sources` are the ids that were asked for. Those of random sources are looked up among the file's.
    """
    from gravel.pipeline.progress.tables import text_table
    from gravel.pipeline.records.past_runs import reading_notes
    from gravel.pipeline.store.cache import Cache

    cache = Cache(root)
    stages = [stage for stage in record["stages"] if stage["state"] in DONE]
    outputs = [cache.find(name) for stage in stages for name in stage["outputs"]]
    found = [each for each in outputs if each is not None]
    measured = [each.attributes for each in found if each.kind == "Measurement"]
    searches = [search for each in measured for search in each["searches"] if "reached" in search]
    if not searches:
        return
    vertices = measured[0]["graph"]["vertices"]
    names = sources or _ids(cache, found, [search["source"] for search in searches])
    rows = [("SOURCE", "REACHED", "LEVELS", "TOOK")]
    for name, search in zip(names, searches, strict=False):
        reached = search["reached"]
        share = f"{reached:,} of {vertices:,} vertices ({reached / max(vertices, 1):.1%})"
        rows.append((str(name), share, str(search["depth"]), format_seconds(search["milliseconds"] / 1e3)))
    yield from text_table(rows, right=(2, 3))
    verified = any(stage["stage"] == "verify" for stage in stages)
    yield "searches verified: every check passed" if verified else "searches not verified"
    yield from reading_notes(record, cache)


def _ids(cache: Cache, found: Sequence[ArtifactRecord], indices: Sequence[int]) -> list[str]:
    """Return the ids of vertices as the file writes them; their indices where the ids cannot be read."""
    with suppress(Exception):  # the ids are a convenience
        import numpy

        from gravel.pipeline.export.columns import FileIds

        one = next(each for each in found if each.kind == "VertexIds")
        named = FileIds(cache.open(one.id))(numpy.asarray(indices, numpy.int64))  # type: ignore[arg-type]
        return [str(each) for each in named.tolist()]
    return [f"vertex {index}" for index in indices]


def profile_text(record: Mapping[str, Json]) -> str:
    """Return what the time of each computed stage run went into, in seconds."""
    from gravel.pipeline.core.memory import format_bytes
    from gravel.pipeline.progress.tables import text_table
    from gravel.pipeline.records.profile import WHAT, profiles, whole_run

    heads = ("stage", "s", "waited", *WHAT, "result", "written at")
    rows: list[tuple[str, ...]] = [heads]
    for one in profiles(record):
        rate = "-" if one.write_rate is None else f"{format_bytes(one.write_rate)}/s"
        times = [one.seconds, one.waited, *(one.by_what[what] for what in WHAT)]
        seconds = [f"{time:.2f}" if time >= 0.005 else "-" for time in times]
        rows.append((one.key, *seconds, format_bytes(one.bytes), rate))
    text = "\n".join(text_table(rows, right=range(1, len(heads))))
    if (whole := whole_run(record)) is not None:
        text += (
            f"\n{format_seconds(whole.seconds)} in all: {sum(whole.before.values()):.2f} before the first "
            f"stage ({_parts(whole.before)}), {whole.stages:.2f} from there to the end of the last, "
            f"{sum(whole.after.values()):.2f} after it ({_parts(whole.after)})"
        )
        text += f"; on other threads: {_parts(whole.beside)}" if whole.beside else ""
    return text


def _parts(parts: Mapping[str, float]) -> str:
    return ", ".join(f"{what} {seconds:.2f}" for what, seconds in parts.items())
