"""`gravel schedule`: workflows at set times."""

from __future__ import annotations

import re
import shlex
import shutil
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gravel.pipeline.cli import run
from gravel.pipeline.cli.options import (
    age,
    cache_option,
    hook_options,
    json_option,
    load_plan,
    print_json,
    set_option,
)
from gravel.pipeline.core.errors import GravelError, RequestError
from gravel.pipeline.progress.tables import text_table
from gravel.pipeline.store.location import find_cache

if TYPE_CHECKING:
    from gravel.pipeline.schedule.job_store import JobStore


class _Schedules(click.Group):
    """A group that says what happens instead of what cannot be chosen."""

    def make_context(self, info_name: str | None, args: list[str], *rest: Any, **more: Any) -> click.Context:
        if args[:1] == ["hooks"]:
            hint = "`gravel schedule remove NAME`, and `add` it again with its hooks"
            raise RequestError("hooks are set when a job is added", hint=hint)
        for word in args[: args.index("--") if "--" in args else None]:
            name = word.partition("=")[0]
            if name in ("--catch-up", "--overlap"):
                from gravel.pipeline.schedule.job_store import INSTEAD

                raise RequestError(f"{name} cannot be chosen any more: {INSTEAD}", hint=f"leave {name} out")
        return super().make_context(info_name, args, *rest, **more)


@click.group(cls=_Schedules)
def command() -> None:
    """Run workflows at set times: add jobs, then keep `gravel schedule run` going.

    Instead of it, the system's own timer may call `gravel schedule tick`; `gravel schedule unit` prints what
    either needs. A scheduled run is an ordinary run: same cache, same record, see `gravel runs`.
    """


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
@click.option("--time-limit", type=age, metavar="TIME", help="Interrupt a run that takes longer, such as 2h.")
@hook_options
@cache_option
def add(
    workflow: str,
    name: str | None,
    zone: str | None,
    hooks: dict[str, str | None],
    cache_path: str | None,
    **fields: Any,
) -> None:
    """Run WORKFLOW at set times.

    Options after `--` go to `gravel run`, as in `-- --cluster inline --only check`.
    """
    from gravel.pipeline.records.hooks import check_hooks, check_secrets
    from gravel.pipeline.schedule.job import Job, check_name, name_from
    from gravel.pipeline.schedule.job_store import save_hooks
    from gravel.pipeline.schedule.listing import local, upcoming
    from gravel.pipeline.schedule.times import find_zone, local_zone, times_of

    zone = zone or local_zone()
    find_zone(zone)
    times_of(fields["cron"], zone)
    checked = check_hooks(hooks)
    for text in fields["settings"]:
        check_secrets(text, "--set")
    for text in fields["arguments"]:
        check_secrets(text, "what follows `--`")
    if fields["time_limit"] == 0:
        raise RequestError("--time-limit is no time at all", hint="leave it out for a run without a limit")
    selection = _selection(workflow, fields["arguments"])
    plan = load_plan(workflow, settings=fields["settings"], **selection)
    name = check_name(name) if name is not None else name_from(plan.workflow.name)
    path, created = str(Path(workflow).absolute()), time.time()
    job = Job(name=name, workflow=path, zone=zone, created=created, hooks=tuple(checked), **fields)
    store = _store(cache_path)
    store.add(job)
    save_hooks(job, store.root, checked)
    following = upcoming(job, store.state(job), job.created, 3)
    click.echo(f"{job.name}: {job.workflow}, next at {', '.join(local(due, zone) for due in following)}")
    click.echo("it runs while `gravel schedule run` goes, or when a timer calls `gravel schedule tick`")


def _selection(workflow: str, arguments: tuple[str, ...]) -> dict[str, Any]:
    """Read words for `gravel run` as it would; raises click's errors, and RequestError for some of them."""
    from gravel.pipeline.records.hooks import EVENTS

    read = run.command.make_context("gravel run", [workflow, *arguments]).params
    if read["cache_path"] is not None:
        raise RequestError("--cache stands behind `--`", hint="put it before: the schedule lies in the cache")
    for option, name in {"--set": "settings", **{f"--on-{event}": f"on_{event}" for event in EVENTS}}.items():
        if read[name]:
            raise RequestError(f"{option} stands behind `--`", hint="put it before `--`")
    return {name: read[name] for name in ("where", "only", "force")}


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
    from gravel.pipeline.schedule.job_store import save_hooks

    store = _store(cache_path)
    if name not in store.names():
        store.job(name)
    running = store.running(name)
    with suppress(GravelError):  # a record that is damaged can be removed all the same
        if (job := store.find(name)) is not None:
            save_hooks(job, store.root, {})
    store.remove(name)
    click.echo(f"{name} is removed" + ("; its run that goes ends by itself" if running else ""))


@command.command("run", short_help="Start what is due until Ctrl-C.")
@cache_option
def serve(cache_path: str | None) -> int:
    """Start what is due, and go on until Ctrl-C, which interrupts the runs at work.

    You may kill it or start it twice at any time: runs at work go on, and no due time is run twice.
    """
    from gravel.pipeline.schedule.ticker import Ticker

    return Ticker(find_cache(cache_path)).serve()


@command.command("tick", short_help="Start what is due, once: for cron.")
@cache_option
def tick(cache_path: str | None) -> int:
    """Start what is due and wait until it is done: for cron or a systemd timer.

    Jobs that become due meanwhile are started too. Exit code 1 if a run failed.
    """
    from gravel.pipeline.schedule.ticker import Ticker

    return Ticker(find_cache(cache_path)).tick()


@command.command("unit", short_help="Print a systemd unit.")
@click.option("--timer", "kind", flag_value="timer", help="Print a timer that calls `tick` every minute.")
@click.option("--cron", "kind", flag_value="cron", help="Print a line for crontab.")
@click.option("--system", is_flag=True, help="For the system, not for the user.")
@cache_option
def unit(kind: str | None, system: bool, cache_path: str | None) -> None:
    """Print the systemd unit that keeps `gravel schedule run` going."""
    cache = str(find_cache(cache_path))
    words = [*_program(), "schedule", "run" if kind is None else "tick", "--cache", cache]
    if kind == "cron":
        click.echo("* * * * * " + shlex.join(words).replace("%", r"\%"))
        return
    folder = "/etc/systemd/system" if system else "~/.config/systemd/user"
    reach = "sudo systemctl" if system else "systemctl --user"
    units = _units(words, cache, kind == "timer", "multi-user.target" if system else "default.target")
    for name, text in units.items():
        click.echo(f"# {folder}/{name}\n{text}")
    click.echo(f"# then: {reach} daemon-reload && {reach} enable --now {list(units)[-1]}")


SERVICE = """\
[Unit]
Description=gravel schedules of {shown}

[Service]
Type={type}
ExecStart={command}
# Only gravel itself gets the signal to stop; it interrupts its runs and waits for them.
KillMode=mixed
TimeoutStopSec=90
SuccessExitStatus=130
"""
RESTARTED = """\
Restart=on-failure
RestartSec=10

[Install]
WantedBy={target}
"""
TIMER = """\
[Unit]
Description=Passes over the gravel schedules of {shown}

[Timer]
OnCalendar=minutely
AccuracySec=1s
Persistent=true

[Install]
WantedBy=timers.target
"""


def _units(words: Sequence[str], cache: str, timed: bool, target: str) -> dict[str, str]:
    """Return the unit files by name: of a service, which a timer starts every minute if it is `timed`."""
    shown = cache.replace("%", "%%").replace("\n", " ")
    command = " ".join(map(_unit_word, words))
    service = SERVICE.format(shown=shown, type="oneshot" if timed else "exec", command=command)
    name = "gravel-schedule"
    if not timed:
        return {f"{name}.service": service + RESTARTED.format(target=target)}
    return {f"{name}.service": service, f"{name}.timer": TIMER.format(shown=shown)}


def _unit_word(word: str) -> str:
    if re.fullmatch(r"[A-Za-z0-9_@+=:,./-]+", word):
        return word
    inner = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return '"' + inner.replace("\n", "\\n") + '"'


def _program() -> list[str]:
    """Return the words that start gravel from anywhere."""
    from gravel.pipeline.schedule.ticker import program

    beside = Path(sys.executable).with_name("gravel")
    found = str(beside) if beside.exists() else shutil.which("gravel")
    return program("gravel.pipeline.cli") if found is None else [str(Path(found).absolute())]


def _store(cache_path: str | None) -> JobStore:
    from gravel.pipeline.schedule.job_store import JobStore

    return JobStore(find_cache(cache_path))
