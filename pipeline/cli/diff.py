"""gravel diff: what two runs have not in common."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click

from gravel.pipeline.cli.options import cache_option, json_option, open_cache, print_json
from gravel.pipeline.core.durations import format_seconds
from gravel.pipeline.plan.why import show_value
from gravel.pipeline.records.comparing import compare_runs
from gravel.pipeline.records.reading import find_run

MAX_NAMES = 8  # stage runs named in one line
MAX_ARRAYS = 4  # arrays shown one by one
LEAST_SHARE, LEAST_SECONDS = 0.05, 0.05
"""Times that differ by less, as a share or in seconds, are only counted."""


@click.command()
@click.argument("old", metavar="RUN")
@click.argument("new", metavar="RUN")
@json_option
@cache_option
def command(old: str, new: str, as_json: bool, cache_path: str | None) -> None:
    """Compare two runs: which parameters, artifacts, results and times differ.

    A RUN is an id of `gravel runs` or a part of one that no other has; `last` is the newest.
    """
    cache = open_cache(cache_path)
    found = compare_runs(cache, find_run(cache.root, old)[1], find_run(cache.root, new)[1])
    if as_json:
        print_json(found)
        return
    for line in _lines(found):
        click.echo(line)


def _lines(found: dict[str, Any]) -> Iterator[str]:
    for name, run in zip(("old", "new"), found["runs"], strict=True):
        counts = ", ".join(
            f"{run[state]} {state}" for state in ("computed", "cached", "failed") if run[state]
        )
        took = format_seconds(run["seconds"])
        yield f"{name}  {run['run']}  {run['workflow']}  {run['state']} in {took}: {counts or 'nothing'}"
    yield from (f"  {line}" for line in _changes(found["asked"]))
    for name, keys in (("old", found["only_old"]), ("new", found["only_new"])):
        if keys:
            more = f" and {len(keys) - MAX_NAMES} more" if len(keys) > MAX_NAMES else ""
            yield f"only in the {name} run: {', '.join(keys[:MAX_NAMES])}{more}"
    stages = found["stages"]
    same = sum(stage["same"] is True for stage in stages)
    yield f"{len(stages)} stage runs in both: {same} with the same results, {len(stages) - same} without"
    for stage in stages:
        if stage["same"] is not True:
            yield ""
            yield from _stage(stage)
    yield from _times(stages)


def _stage(stage: dict[str, Any]) -> Iterator[str]:
    old, new = stage["keys"]
    yield f"{old} -> {new}" if old != new else new
    if stage["states"][0] != stage["states"][1] and stage["same"] is None:
        yield f"  {stage['states'][0]} -> {stage['states'][1]}"
    for name, error in zip(("old", "new"), stage["errors"], strict=True):
        if error:
            yield f"  {name} error: {error}"
    if stage["parameters"] is None:
        yield "  the recipe of one of them is not in the cache any more"
    yield from (f"  {line}" for line in _changes(stage["parameters"] or []))
    if stage["gone"]:
        yield "  a result of one of them is not in the cache any more"
    arrays = [change for change in stage["results"] if "array " in change["name"]]
    results = [change for change in stage["results"] if change not in arrays]
    if len(arrays) <= MAX_ARRAYS:
        results += arrays
    yield from (f"  {line}" for line in _changes(results))
    if len(arrays) > MAX_ARRAYS:
        yield f"  {len(arrays)} arrays of other lengths or types"
    if stage["same"] is False and not stage["gone"] and not stage["results"]:
        yield "  the figures are the same, the results are not"


def _changes(changes: list[dict[str, Any]]) -> Iterator[str]:
    width = max((len(change["name"]) for change in changes), default=0)
    for change in changes:
        name, old, new = change["name"], change["old"], change["new"]
        shown = [f"{x:.4g}" if isinstance(x, float) else show_value(name, x) for x in (old, new)]
        yield f"{name:<{width}}  {shown[0]} -> {shown[1]}{_percent(old, new)}"


def _percent(old: Any, new: Any) -> str:
    if not isinstance(old, float) or not isinstance(new, float) or old == 0:
        return ""
    return f"  ({(new - old) / abs(old):+.1%})"


def _times(stages: list[dict[str, Any]]) -> Iterator[str]:
    timed = [(stage["keys"][1], *stage["seconds"]) for stage in stages if None not in stage["seconds"]]
    differ = [
        (key, old, new) for key, old, new in timed if abs(new - old) > max(LEAST_SECONDS, LEAST_SHARE * old)
    ]
    if not differ:
        return
    yield ""
    yield f"times of {len(differ)} of {len(timed)} stage runs differ"
    width = max(len(key) for key, _, _ in differ)
    for key, old, new in differ:
        change = _percent(float(old), float(new))
        yield f"  {key:<{width}}  {format_seconds(old)} -> {format_seconds(new)}{change}"
