"""What several commands share: options, the cache and the plan that they ask for, JSON on standard output."""

from __future__ import annotations

import errno
import functools
import json
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gravel.pipeline.cli.completion import axes, settings, workflow_stages
from gravel.pipeline.core.errors import GravelError, RequestError
from gravel.pipeline.core.files import as_given

if TYPE_CHECKING:
    from gravel.pipeline.plan.model import Plan
    from gravel.pipeline.store.cache import Cache

Command = Callable[..., Any]

cache_option = click.option(
    "--cache",
    "cache_path",
    metavar="PLACE",
    help="Cache folder or s3://bucket/prefix (else GRAVEL_CACHE, else .gravel of the project).",
)
trust_option = click.option(
    "--trust-remote",
    is_flag=True,
    help="In this run, use results without a trusted signature (see gravel trust).",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document, for programs.")
set_option = click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="NAME=VALUE",
    help="Give a parameter another value.",
    shell_complete=settings,
)
where_option = click.option(
    "--where",
    multiple=True,
    metavar="AXIS=VALUE",
    help="Keep one value of a matrix axis; repeat it for several.",
    shell_complete=axes,
)

others_argument = click.argument("others", nargs=-1, metavar="[FILE...]", type=click.Path())
"""Further data files that are one graph with FILE."""

sources_option = click.option(
    "--sources",
    multiple=True,
    metavar="ID,ID",
    help="If FILE is data: the vertices to search from, as the file writes them.",
)
data_file_options = (
    click.option(
        "--columns",
        multiple=True,
        metavar="END=NAME,...",
        help="If FILE is data: its columns, such as source=payer,target=payee,weight=amount.",
    ),
    click.option(
        "--delimiter",
        metavar="CHARACTER",
        help="If FILE is data: what separates its columns, such as ';', tab or blanks.",
    ),
    click.option(
        "--header",
        type=click.Choice(["true", "false"]),
        help="If FILE is data: whether its first line names the columns.",
    ),
    click.option(
        "--filter",
        "rows",
        metavar="CONDITION",
        help="If FILE is data: which rows are edges, such as \"kind == 'paid' and amount > 0\".",
    ),
)


def together(name: str, *options: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """Make options that are passed as one dict, the argument `name`, by their own names."""

    def add(function: Command) -> Command:
        @functools.wraps(function)
        def call(**arguments: Any) -> Any:
            arguments[name] = {parameter: arguments.pop(parameter) for parameter in parameters}
            return function(**arguments)

        others = len(getattr(call, "__click_params__", ()))
        for option in reversed(options):
            option(call)
        parameters = [parameter.name for parameter in call.__click_params__[others:]]  # type: ignore[attr-defined]
        return call

    return add


_stages_option = functools.partial(
    click.option, multiple=True, metavar="STAGE", shell_complete=workflow_stages
)

selection_options = together(
    "selection",
    sources_option,
    *data_file_options,
    set_option,
    where_option,
    _stages_option("--only", help="Only this stage and what it needs."),
    _stages_option("--force", help="Compute this stage even if it is cached."),
    _stages_option("--from", "start", help="Compute this stage and all that depends on it, even if cached."),
    _stages_option("--keep", help="Store the result of this stage, even if the workflow says keep: false."),
    click.option(
        "--repeat",
        type=click.IntRange(1, 1000),
        metavar="TIMES",
        help="Repeat every stage that measures time this often; existing repetitions count.",
    ),
)
"""Which part of a workflow, with which values: what `load_plan` takes, passed as `selection`."""

hook_options = together(
    "hooks",
    click.option(
        "--on-failure", metavar="HOOK", help="A command or URL that receives the JSON of a failed run."
    ),
    click.option(
        "--on-change", metavar="HOOK", help="The same for a run with other results than the last one."
    ),
    click.option("--on-success", metavar="HOOK", help="The same for a run that is done."),
)
"""What is called when a run has ended: what `check_hooks` takes, passed as `hooks`."""

machine_options = together(
    "machine",
    click.option(
        "--cluster",
        default="auto",
        show_default=True,
        metavar="KIND",
        help="auto, inline, local, cuda, slurm, tcp://host:port, or a scheduler file (.json).",
    ),
    click.option(
        "--backend",
        type=click.Choice(["auto", "cuda", "cpu"]),
        default="auto",
        show_default=True,
        help="Where kernels run.",
    ),
    click.option(
        "--host-memory", metavar="SIZE", help="Host memory that all stages may use at once, such as 16GiB."
    ),
    click.option(
        "--resident-memory",
        metavar="SIZE",
        help="Host memory for results between stages; half of the host memory by default, 0 for none.",
    ),
    click.option("--device-memory", metavar="SIZE", help="Memory of each GPU to use, such as 8GiB."),
)
"""On what stages run: fields of `RunOptions`, passed as `machine`."""


def age(text: str) -> float:
    """Read an option's length of time, such as 90s, 12h or 30d, in seconds."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([smhdw])\s*", text.lower())
    if match is None:
        raise click.BadParameter(f"{text!r} is no duration; write it like 90s, 12h, 30d or 2w")
    return float(match[1]) * {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}[match[2]]


def size(text: str) -> int:
    """Read an option's size, such as 20GB, 512MiB or 1000, in bytes."""
    from gravel.pipeline.core.memory import parse_bytes

    try:
        return parse_bytes(text)
    except RequestError:
        raise click.BadParameter(f"{text!r} is no size; write it like 20GB, 512MiB or 1000000") from None


def print_json(body: Any) -> None:
    """Print one JSON document."""
    click.echo(json.dumps(body, indent=1))


@contextmanager
def byte_progress(did: str, *, wanted: bool) -> Iterator[Callable[..., None]]:
    """Show on a terminal how many bytes there were so far; gives rich's `update`, which takes `advance`."""
    from rich.console import Console
    from rich.progress import DownloadColumn, Progress, TextColumn

    columns = (TextColumn("{task.description}"), DownloadColumn(binary_units=True))
    hidden = not (wanted and sys.stderr.isatty())
    with Progress(*columns, console=Console(stderr=True), transient=True, disable=hidden) as bar:
        yield functools.partial(bar.update, bar.add_task(did, total=None))


def write_text(target: str, text: str) -> None:
    """Write a UTF-8 file; raises RequestError for a place that takes none, GravelError for a full disk."""
    from gravel.pipeline.export.writers import check_place

    path = Path(target)
    check_place(path)
    there = path.exists()
    try:
        path.write_text(text, encoding="utf-8")
        if not there:
            as_given(path)
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise GravelError(f"could not write {target!r}: the disk is full") from error
        raise RequestError(f"could not write {target!r}: {(error.strerror or str(error)).lower()}") from error


def open_cache(cache_path: str | None) -> Cache:
    """Return the cache that `--cache` names, or the one around the current directory."""
    from gravel.pipeline.store.cache import Cache
    from gravel.pipeline.store.location import find_cache

    return Cache(find_cache(cache_path))


def pairs(texts: Sequence[str], option: str) -> list[tuple[str, str]]:
    """Split texts like NAME=VALUE; raises RequestError for one without a name or `=`."""
    split = []
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            hint = f"write it like {option} scale=20"
            raise RequestError(f"{option} {text!r} has no NAME=VALUE form", hint=hint)
        split.append((name.strip(), value))
    return split


def load_plan(
    file: str,
    *,
    sources: Sequence[str] = (),
    columns: Sequence[str] = (),
    delimiter: str | None = None,
    header: str | None = None,
    rows: str | None = None,
    settings: Sequence[str] = (),
    where: Sequence[str] = (),
    others: Sequence[str] = (),
    **chosen: Any,
) -> Plan:
    """Read a workflow file, or the one that stands for a data file, and plan it as the shared options say.

    `others` are data files that are one graph with `file`; `chosen` is what `build_plan` takes. Raises
    WorkflowError for faults of the file and RequestError for those of the options.
    """
    from gravel.pipeline.plan.builder import build_plan
    from gravel.pipeline.workflow.data_files import data_settings, is_data, refuse_settings

    read_as = data_settings(columns, delimiter, header, rows)
    axes: dict[str, list[str]] = {}
    for axis, value in pairs(where, "--where"):
        axes.setdefault(axis, []).append(value)
    overrides = dict(pairs(settings, "--set"))
    if is_data(file):
        from gravel.pipeline.workflow.default import load_default

        workflow = load_default(file, sources, overrides, read_as, others)
    elif others:
        problem = f"{file} is a workflow, and one is carried out at a time"
        raise RequestError(problem, hint=f"leave {others[0]} out")
    elif sources:
        raise RequestError(
            f"--sources is for a data file, and {file} is a workflow",
            hint="give its own parameter another value with --set, or change its traverse stage",
        )
    else:
        refuse_settings(read_as, file)
        from gravel.pipeline.workflow.loader import load_workflow

        workflow = load_workflow(file, overrides)
    return build_plan(workflow, where=axes, **chosen)
