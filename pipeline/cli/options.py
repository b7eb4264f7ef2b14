"""Options that several verbs share, and the plan that they ask for."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

from gravel.pipeline.core.errors import RequestError

if TYPE_CHECKING:
    from gravel.pipeline.plan.model import Plan

MAX_REPETITIONS = 1000

Function = TypeVar("Function", bound=Callable[..., Any])


def cache_option(function: Function) -> Function:
    """Add `--cache`, passed as `cache_path`."""
    return click.option(
        "--cache",
        "cache_path",
        metavar="PLACE",
        help="Cache folder or s3://bucket/prefix (else GRAVEL_CACHE, else .gravel).",
    )(function)


def trust_option(function: Function) -> Function:
    """Add `--trust-remote`, passed as `trust_remote`."""
    return click.option(
        "--trust-remote",
        is_flag=True,
        help="This once, use results whose recipes no trusted key signed (see gravel trust).",
    )(function)


def set_option(function: Function) -> Function:
    """Add `--set NAME=VALUE`, passed as `settings`."""
    return click.option(
        "--set", "settings", multiple=True, metavar="NAME=VALUE", help="Give a parameter another value."
    )(function)


def where_option(function: Function) -> Function:
    """Add `--where AXIS=VALUE`, passed as `where`."""
    return click.option(
        "--where",
        multiple=True,
        metavar="AXIS=VALUE",
        help="Keep one value of a matrix axis; repeat it for several.",
    )(function)


def selection_options(function: Function) -> Function:
    """Add `--set` (passed as `settings`), `--where`, `--only`, `--force`, `--from` (`start`), `--repeat`."""
    repeat = click.option(
        "--repeat",
        type=click.IntRange(1, MAX_REPETITIONS),
        metavar="TIMES",
        help="Have every stage that measures do so this often; what is measured already counts.",
    )
    start = click.option(
        "--from",
        "start",
        multiple=True,
        metavar="STAGE",
        help="Compute this stage, and all that rests on it, even if cached.",
    )
    force = click.option(
        "--force", multiple=True, metavar="STAGE", help="Compute this stage even if it is cached."
    )
    only = click.option("--only", multiple=True, metavar="STAGE", help="This stage with what it needs, only.")
    return set_option(where_option(only(force(start(repeat(function))))))


def pairs(texts: Sequence[str], option: str) -> list[tuple[str, str]]:
    """Split texts like NAME=VALUE; raises RequestError for one without a name or `=`."""
    split = []
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise RequestError(
                f"{option} {text!r} has no NAME=VALUE form", hint=f"write it like {option} scale=20"
            )
        split.append((name.strip(), value))
    return split


def load_plan(
    file: str,
    *,
    settings: Sequence[str] = (),
    where: Sequence[str] = (),
    only: Collection[str] = (),
    force: Collection[str] = (),
    start: Collection[str] = (),
    repeat: int | None = None,
    failed: Collection[str] = (),
) -> Plan:
    """Read a workflow file and plan it as the shared options say; `failed` as for `build_plan`.

    Raises WorkflowError for faults of the file and RequestError for those of the options.
    """
    from gravel.pipeline.plan.building import build_plan
    from gravel.pipeline.workflow.loading import load_workflow

    selection: dict[str, list[str]] = {}
    for axis, value in pairs(where, "--where"):
        selection.setdefault(axis, []).append(value)
    overrides: Mapping[str, str] = dict(pairs(settings, "--set"))
    return build_plan(
        load_workflow(file, overrides),
        where=selection,
        only=only,
        force=force,
        start=start,
        failed=failed,
        repeat=repeat,
    )
