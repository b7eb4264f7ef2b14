"""gravel diff: what two runs have not in common."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import click

from gravel.pipeline.cli.options import cache_option

MAX_NAMES = 8  # stage runs named in one line
MAX_ARRAYS = 4  # arrays shown one by one
LEAST_SHARE, LEAST_SECONDS = 0.05, 0.05
"""Times that differ by less, as a share or in seconds, are only counted."""


@click.command()
@click.argument("old", metavar="RUN")
@click.argument("new", metavar="RUN")
@click.option("--json", "as_json", is_flag=True, help="All of it as JSON, what is equal with it.")
@cache_option
def command(old: str, new: str, as_json: bool, cache_path: str | None) -> None:
    """Compare two runs: which parameters, artifacts, results and times differ.

    A RUN is an id of `gravel runs` or a part of one that no other has; `last` is the newest.
    """
    from gravel.pipeline.records.comparing import compare_runs
    from gravel.pipeline.records.reading import find_run
    from gravel.pipeline.store.cache import Cache
    from gravel.pipeline.store.location import find_cache

    cache = Cache(find_cache(cache_path))
    found = compare_runs(cache, find_run(cache.root, old)[1], find_run(cache.root, new)[1])
    if as_json:
        click.echo(json.dumps(found, indent=1, ensure_ascii=False))
        return
    for line in _lines(found):
        click.echo(line)


def _lines(found: dict[str, Any]) -> Iterator[str]:
    from gravel.pipeline.core.durations import format_seconds

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
    from gravel.pipeline.plan.why import show_value

    width = max((len(change["name"]) for change in changes), default=0)
    for change in changes:
        old, new = change["old"], change["new"]
        shown = [_number(each) or show_value(change["name"], each) for each in (old, new)]
        yield f"{change['name']:<{width}}  {shown[0]} -> {shown[1]}{_percent(old, new)}"


def _number(value: Any) -> str | None:
    if isinstance(value, float):
        return f"{value:.4g}"
    return None


def _percent(old: Any, new: Any) -> str:
    if not isinstance(old, float) or not isinstance(new, float) or old == 0:
        return ""
    return f"  ({(new - old) / abs(old):+.1%})"


def _times(stages: list[dict[str, Any]]) -> Iterator[str]:
    from gravel.pipeline.core.durations import format_seconds

    timed = [stage for stage in stages if None not in stage["seconds"]]
    differ = [
        stage
        for stage in timed
        if abs(stage["seconds"][1] - stage["seconds"][0])
        > max(LEAST_SECONDS, LEAST_SHARE * stage["seconds"][0])
    ]
    if not differ:
        return
    yield ""
    yield f"times of {len(differ)} of {len(timed)} stage runs differ"
    rows = [(stage["keys"][1], *map(format_seconds, stage["seconds"]), stage) for stage in differ]
    width = max(len(row[0]) for row in rows)
    for key, old, new, stage in rows:
        yield f"  {key:<{width}}  {old} -> {new}{_percent(*map(float, stage['seconds']))}"
