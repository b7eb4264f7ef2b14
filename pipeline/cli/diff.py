"""gravel diff: what two runs have not in common."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click

from gravel.pipeline.cli.completing import runs
from gravel.pipeline.cli.diff_ranking import only_these, ranked
from gravel.pipeline.cli.options import cache_option, json_option, open_cache, print_json
from gravel.pipeline.core.durations import format_seconds
from gravel.pipeline.plan.why import show_value
from gravel.pipeline.records.comparing import compare_runs
from gravel.pipeline.records.reading import find_run, run_folders

MAX_NAMES = 8  # stage runs named in one line
MAX_ARRAYS = 4  # arrays shown one by one
LEAST_SHARE, LEAST_SECONDS = 0.05, 0.05
"""Times that differ by less, as a share or in seconds, are only counted."""


MAX_SHOWN = 20
"""Differences that are shown without `--all`."""


@click.command()
@click.argument("old", metavar="RUN", shell_complete=runs)
@click.argument("new", metavar="RUN", shell_complete=runs)
@click.option("--all", "show_all", is_flag=True, help=f"All, not the {MAX_SHOWN} that matter most.")
@json_option
@cache_option
def command(old: str, new: str, show_all: bool, as_json: bool, cache_path: str | None) -> None:
    """Compare two runs: which parameters, artifacts, results and times differ.

    A RUN is an id of `gravel runs` or a unique part of one; `last` is the newest. The most important
    differences are first: failures and checks, then parameters, results and times.
    """
    cache = open_cache(cache_path)
    (first, one), (second, other) = find_run(cache.root, old), find_run(cache.root, new)
    found = compare_runs(cache, one, other)
    if as_json:
        print_json(found)
        return
    if first == second:
        click.echo(f"both are the run {first.name}: a run does not differ from itself")
        earlier = [folder.name for folder in run_folders(cache.root) if folder != first][:1]
        if earlier:
            click.echo(f"compare it with another one, for example: gravel diff {earlier[0]} {first.name}")
        return
    for line in _lines(found, None if show_all else MAX_SHOWN):
        click.echo(line)


def _lines(found: dict[str, Any], limit: int | None = MAX_SHOWN) -> Iterator[str]:
    for name, run in zip(("old", "new"), found["runs"], strict=True):
        counts = ", ".join(
            f"{run[state]} {state}" for state in ("computed", "cached", "failed") if run[state]
        )
        took = format_seconds(run["seconds"])
        yield f"{name}  {run['run']}  {run['workflow']}  {run['state']} in {took}: {counts or 'nothing'}"
    stages, times = found["stages"], _times(found["stages"])
    timed = sum(None not in stage["seconds"] for stage in stages)
    same = sum(stage["same"] is True for stage in stages)
    every = ranked(found, times)
    left = 0
    if limit is not None and len(every) > limit:
        left = len(every) - limit
        shown = only_these(found, every[:limit])
        slower = {each.stage for each in every[:limit] if each.part == "times"}
        times = [each for each in times if each[0] in slower]
    else:
        shown = found
    yield from (f"  {line}" for line in _changes(shown["asked"]))
    for name, keys in (("old", shown["only_old"]), ("new", shown["only_new"])):
        if keys:
            more = f" and {len(keys) - MAX_NAMES} more" if len(keys) > MAX_NAMES and limit is not None else ""
            yield f"only in the {name} run: {', '.join(keys[:MAX_NAMES] if more else keys)}{more}"
    yield f"{len(stages)} stage runs in both: {same} with the same results, {len(stages) - same} without"
    for stage in shown["stages"]:
        if stage["same"] is not True:
            yield ""
            yield from _stage(stage, whole=not left)
    if times:
        yield ""
        yield from _time_lines([(stages[number]["keys"][1], old, new) for number, old, new in times], timed)
    if left:
        yield ""
        yield f"{left} differences more: --all shows them"


def _stage(stage: dict[str, Any], *, whole: bool) -> Iterator[str]:
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
    if whole and stage["same"] is False and not stage["gone"] and not stage["results"]:
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


def _times(stages: list[dict[str, Any]]) -> list[tuple[int, float, float]]:
    """Return the stages, by number, whose times differ by more than chance, with both times."""
    timed = [
        (number, *stage["seconds"]) for number, stage in enumerate(stages) if None not in stage["seconds"]
    ]
    return [each for each in timed if abs(each[2] - each[1]) > max(LEAST_SECONDS, LEAST_SHARE * each[1])]


def _time_lines(differ: list[tuple[str, float, float]], timed: int) -> Iterator[str]:
    yield f"times of {len(differ)} of {timed} stage runs differ"
    width = max(len(key) for key, _, _ in differ)
    for key, old, new in differ:
        change = _percent(float(old), float(new))
        yield f"  {key:<{width}}  {format_seconds(old)} -> {format_seconds(new)}{change}"
