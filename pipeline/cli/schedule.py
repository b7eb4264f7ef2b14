"""`gravel schedule`: workflows at set times."""

from __future__ import annotations

import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gravel.pipeline.cli.options import (
    age,
    cache_option,
    json_option,
    load_plan,
    print_json,
    set_option,
    together,
)
from gravel.pipeline.core.errors import GravelError, RequestError
from gravel.pipeline.progress.tables import text_table

if TYPE_CHECKING:
    from gravel.pipeline.schedule.job import Event
    from gravel.pipeline.schedule.job_store import JobStore


@click.group()
def command() -> None:
    """Run workflows at set times: add jobs, then keep `gravel schedule run` going.

    Instead of the service, the system's own timer may call `gravel schedule tick`; `gravel schedule unit`
    prints what either needs. A scheduled run is an ordinary run: same cache, same record, see `gravel runs`.
    """


_hook_options = together(
    "hooks",
    click.option(
        "--on-failure", metavar="HOOK", help="A command or URL that receives the JSON of a failed run."
    ),
    click.option(
        "--on-change", metavar="HOOK", help="The same for a run with other results than the last one."
    ),
)


@command.command("add")
@click.argument("workflow", type=click.Path())
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED, metavar="[-- RUN_OPTIONS...]")
@click.option("--cron", required=True, metavar="TIMES", help="When, such as '0 3 * * *', or @daily.")
@click.option("--name", help="The job's name; otherwise the workflow's.")
@set_option
@click.option("--zone", metavar="NAME", help="Time zone, such as Europe/Berlin; otherwise this machine's.")
@click.option(
    "--jitter", type=age, default="0s", metavar="TIME", help="Delay the start at random, up to this time."
)
@click.option(
    "--catch-up",
    type=click.Choice(["none", "once", "all"]),
    default="once",
    show_default=True,
    help="Which missed times to run.",
)
@click.option(
    "--overlap",
    type=click.Choice(["skip", "queue"]),
    default="skip",
    show_default=True,
    help="What to do if the last run still goes on.",
)
@click.option("--time-limit", type=age, metavar="TIME", help="Interrupt a run that takes longer, such as 2h.")
@_hook_options
@cache_option
def add(
    workflow: str,
    arguments: tuple[str, ...],
    cron: str,
    name: str | None,
    settings: tuple[str, ...],
    zone: str | None,
    time_limit: float | None,
    hooks: dict[str, str | None],
    cache_path: str | None,
    **policies: Any,
) -> None:
    """Run WORKFLOW at set times.

    Options after `--` go to `gravel run`, as in `-- --cluster inline --only check`.
    """
    from gravel.pipeline.schedule.hooks import save_hooks
    from gravel.pipeline.schedule.job import Job, check_name, check_secrets, name_from
    from gravel.pipeline.schedule.listing import local, upcoming
    from gravel.pipeline.schedule.times import find_zone, local_zone, times_of

    zone = zone or local_zone()
    find_zone(zone)
    times_of(cron, zone)
    checked = _checked(hooks)
    for text in settings:
        check_secrets(text, "--set")
    for text in arguments:
        check_secrets(text, "what follows `--`")
    if time_limit is not None and time_limit <= 0:
        raise RequestError("--time-limit is no time at all", hint="leave it out for a run without a limit")
    run = _run_options(workflow, arguments)
    plan = load_plan(workflow, settings=settings, where=run["where"], only=run["only"], force=run["force"])
    job = Job(
        name=check_name(name) if name is not None else name_from(plan.workflow.name),
        workflow=str(Path(workflow).absolute()),
        cron=cron,
        zone=zone,
        created=time.time(),
        settings=settings,
        arguments=arguments,
        time_limit=time_limit,
        hooks=tuple(checked),
        **policies,
    )
    store = _store(cache_path)
    store.add(job)
    save_hooks(job, store.root, checked)
    following = upcoming(job, store.state(job), job.created, 3)
    click.echo(f"{job.name}: {job.workflow}, next at {', '.join(local(due, zone) for due in following)}")
    click.echo("it runs while `gravel schedule run` goes, or a timer calls `gravel schedule tick`")


def _checked(hooks: dict[str, str | None]) -> dict[Event, str]:
    """Return the hooks that were given, by event."""
    from gravel.pipeline.schedule.job import EVENTS, check_hook

    given = {event: hooks[f"on_{event}"] for event in EVENTS}
    return {event: check_hook(hook, f"--on-{event}") for event, hook in given.items() if hook is not None}


@command.command("hooks", short_help="Set the hooks of a job.")
@click.argument("name")
@_hook_options
@cache_option
def set_hooks(name: str, hooks: dict[str, str | None], cache_path: str | None) -> None:
    """Set the hooks of the job NAME to these, and remove others.

    Hooks are in your own configuration folder, because others may be able to write to the cache.
    """
    from dataclasses import replace

    from gravel.pipeline.schedule.hooks import hooks_file, save_hooks

    store = _store(cache_path)
    checked = _checked(hooks)
    job = replace(store.job(name), hooks=tuple(checked), in_cache=())
    save_hooks(job, store.root, checked)
    store.change(job)
    kept = f"{' and '.join(checked)} in {hooks_file(job)}" if checked else "none"
    click.echo(f"hooks of {job.name}: {kept}")


def _run_options(workflow: str, arguments: tuple[str, ...]) -> dict[str, Any]:
    """Read words for `gravel run` as it would; raises click's errors, and RequestError for two of them."""
    from gravel.pipeline.cli.run import command as run

    read = run.make_context("gravel run", [workflow, *arguments]).params
    if read["cache_path"] is not None:
        raise RequestError("--cache stands behind `--`", hint="put it before: the schedule lies in the cache")
    if read["settings"]:
        raise RequestError("--set stands behind `--`", hint="put it before `--`")
    return dict(read)


@command.command("list", short_help="List the jobs, or the runs of one.")
@click.argument("name", required=False)
@json_option
@click.option("-n", "history", type=click.IntRange(1), default=10, show_default=True, help="Runs of NAME.")
@cache_option
def list_jobs(name: str | None, as_json: bool, history: int, cache_path: str | None) -> None:
    """List the jobs with their next and last runs; with NAME, its options and runs."""
    from gravel.pipeline.schedule.listing import describe, details, row

    store = _store(cache_path)
    now = time.time()
    if name is not None:
        found = describe(store, store.job(name), now, history=history, ahead=3)
        if as_json:
            print_json(found)
        else:
            click.echo("\n".join(details(found)))
        return
    jobs = []
    for each in store.names():
        try:
            jobs.append(describe(store, store.job(each), now))
        except GravelError as error:
            click.echo(f"{each}: {error}", err=True)
    if as_json:
        print_json(jobs)
    elif not jobs:
        click.echo(f"no schedule is on record in {store.root}; `gravel schedule add` makes one")
    else:
        rows = [("NAME", "TIMES", "NEXT", "LAST", "OUTCOME"), *(row(job) for job in jobs)]
        click.echo("\n".join(text_table(rows)))


@command.command("remove", short_help="Remove a job.")
@click.argument("name")
@cache_option
def remove(name: str, cache_path: str | None) -> None:
    """Remove the job NAME; a run in progress is not stopped."""
    from gravel.pipeline.schedule.hooks import save_hooks

    store = _store(cache_path)
    if name not in store.names():
        store.job(name)
    running = store.running(name)
    with suppress(GravelError):  # a record that is damaged can be removed all the same
        if (job := store.find(name)) is not None:
            save_hooks(job, store.root, {})
    store.remove(name)
    click.echo(f"{name} is removed" + ("; its run that goes ends by itself" if running else ""))


@command.command("run", short_help="Serve the schedules until Ctrl-C.")
@cache_option
def serve(cache_path: str | None) -> int:
    """Serve the schedules in the foreground; Ctrl-C interrupts what runs and ends it.

    You may kill it or start it twice at any time. No due time is run twice, and runs of a killed service
    go on.
    """
    from gravel.pipeline.schedule.service import Service
    from gravel.pipeline.store.location import find_cache

    return Service(find_cache(cache_path)).serve()


@command.command("tick", short_help="Start what is due, once: for cron.")
@cache_option
def tick(cache_path: str | None) -> int:
    """Make one pass for cron or a systemd timer: start what is due and wait until it is done.

    Jobs that become due meanwhile are started too. Exit code 1 if a run failed.
    """
    from gravel.pipeline.schedule.service import Service
    from gravel.pipeline.store.location import find_cache

    return Service(find_cache(cache_path)).tick()


@command.command("unit", short_help="Print a systemd unit for the service.")
@click.option("--timer", "kind", flag_value="timer", help="Print a timer that calls `tick` every minute.")
@click.option("--cron", "kind", flag_value="cron", help="Print a line for crontab.")
@click.option("--system", is_flag=True, help="For the system, not for the user.")
@cache_option
def unit(kind: str | None, system: bool, cache_path: str | None) -> None:
    """Print the systemd unit that keeps `gravel schedule run` going."""
    from gravel.pipeline.schedule.units import cron_line, service_units, timer_units
    from gravel.pipeline.store.location import find_cache

    program, cache = _program(), str(find_cache(cache_path))
    if kind == "cron":
        click.echo(cron_line(program, cache), nl=False)
        return
    units = timer_units(program, cache) if kind == "timer" else service_units(program, cache, system=system)
    folder = "/etc/systemd/system" if system else "~/.config/systemd/user"
    reach = "sudo systemctl" if system else "systemctl --user"
    for name, text in units.items():
        click.echo(f"# {folder}/{name}\n{text}")
    click.echo(f"# then: {reach} daemon-reload && {reach} enable --now {list(units)[-1]}")


def _program() -> list[str]:
    """Return the words that start gravel from anywhere."""
    import shutil

    beside = Path(sys.executable).with_name("gravel")
    found = str(beside) if beside.exists() else shutil.which("gravel")
    if found is not None:
        return [str(Path(found).absolute())]
    from gravel.pipeline.schedule.child_process import program

    return program("gravel.pipeline.cli")


def _store(cache_path: str | None) -> JobStore:
    from gravel.pipeline.schedule.job_store import JobStore
    from gravel.pipeline.store.location import find_cache

    return JobStore(find_cache(cache_path))
