"""gravel diff: what two runs have not in common."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import click

from gravel.pipeline.cli.completion import runs
from gravel.pipeline.cli.options import cache_option, json_option, open_cache, print_json
from gravel.pipeline.core.durations import format_seconds
from gravel.pipeline.core.hashing import is_input
from gravel.pipeline.plan.status import show_value
from gravel.pipeline.records.comparison import compare_runs
from gravel.pipeline.records.past_runs import find_run, run_folders

FAILED, ASKED, ONLY, OWN, MACHINE, MEASURED, TIME, FOLLOWS = range(7, -1, -1)
"""How much a difference matters: a failure or a check most, what merely follows from another least."""

OF_MACHINE = ("hardware", "host", "backend", "cores", "versions")


class Difference(NamedTuple):
    """One difference: where it is in the comparison, how much it matters, and how large it is."""

    part: str  # asked, only_old, only_new, state, parameters, results, note or times
    stage: int  # its place among the stages, -1 for one of the whole run
    place: int  # its place in the list that has it
    weight: int
    size: float = 0.0


def ranked(found: Mapping[str, Any], times: list[tuple[int, float, float]]) -> list[Difference]:
    """Return all differences of a comparison, the most important first; `times` has stages with both."""
    asked = [MACHINE if change["name"] in OF_MACHINE else ASKED for change in found["asked"]]
    every = [
        *(Difference("asked", -1, place, weight) for place, weight in enumerate(asked)),
        *(Difference(part, -1, 0, ONLY) for part in ("only_old", "only_new") if found[part]),
        *_of_stages(found["stages"]),
        *(Difference("times", stage, 0, TIME, _change(old, new)) for stage, old, new in times),
    ]
    return sorted(every, key=lambda each: (-each.weight, -each.size))


def _of_stages(stages: list[dict[str, Any]]) -> Iterator[Difference]:
    for number, stage in enumerate(stages):
        if stage["same"] is True:
            continue
        if any(stage["errors"]):
            yield Difference("state", number, 0, FAILED, 1.0)
        elif stage["same"] is None and stage["states"][0] != stage["states"][1]:
            yield Difference("state", number, 0, FAILED)
        for place, change in enumerate(stage["parameters"] or []):
            follows = is_input(change["name"])
            yield Difference("parameters", number, place, FOLLOWS if follows else OWN)
        for place, change in enumerate(stage["results"]):
            weight = _weight_of_result(change["name"], change["old"], change["new"])
            yield Difference("results", number, place, weight, _change(change["old"], change["new"]))
        is_bare = stage["same"] is False and not stage["results"]
        if stage["parameters"] is None or stage["gone"] or is_bare:
            yield Difference("note", number, 0, FOLLOWS)


def _weight_of_result(name: str, old: Any, new: Any) -> int:
    if name.startswith("check "):
        return FAILED
    if "array " in name or name.endswith("contents"):
        return FOLLOWS
    return MEASURED if isinstance(old, int | float) and isinstance(new, int | float) else OWN


def _change(old: Any, new: Any) -> float:
    """Return by which share of the larger one two numbers differ; 0 for what are none."""
    if not isinstance(old, int | float) or not isinstance(new, int | float):
        return 0.0
    largest = max(abs(old), abs(new))
    return abs(new - old) / largest if largest else 0.0


def only_these(found: Mapping[str, Any], chosen: list[Difference]) -> dict[str, Any]:
    """Return a comparison with the chosen differences alone; its stages are in the order of importance."""

    def kept(part: str, stage: int, changes: list[Any] | None) -> list[Any]:
        places = {each.place for each in chosen if (each.part, each.stage) == (part, stage)}
        return [change for place, change in enumerate(changes or []) if place in places]

    parts = {each.part for each in chosen}
    order = dict.fromkeys(each.stage for each in chosen if each.stage >= 0 and each.part != "times")
    stages = []
    for number in order:
        stage = found["stages"][number]
        own = {each.part for each in chosen if each.stage == number}
        changed = {name: kept(name, number, stage[name]) for name in ("parameters", "results")}
        if stage["parameters"] is None and "note" in own:
            changed["parameters"] = None  # type: ignore[assignment]
        hidden = {} if "state" in own else {"errors": [None, None], "states": [None, None]}
        stages.append({**stage, **changed, **hidden, "gone": stage["gone"] and "note" in own})
    return {
        **found,
        "asked": kept("asked", -1, found["asked"]),
        **{part: found[part] if part in parts else [] for part in ("only_old", "only_new")},
        "stages": stages,
    }


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
    click.echo("\n".join(_lines(found, None if show_all else MAX_SHOWN)))


def _lines(found: dict[str, Any], limit: int | None = MAX_SHOWN) -> Iterator[str]:
    for name, run in zip(("old", "new"), found["runs"], strict=True):
        counts = [f"{run[state]} {state}" for state in ("computed", "cached", "failed") if run[state]]
        did = f"{run['state']} in {format_seconds(run['seconds'])}: {', '.join(counts) or 'nothing'}"
        yield f"{name}  {run['run']}  {run['workflow']}  {did}"
    stages, times = found["stages"], _times(found["stages"])
    timed = sum(None not in stage["seconds"] for stage in stages)
    same = sum(stage["same"] is True for stage in stages)
    every = ranked(found, times)
    left = max(0, len(every) - limit) if limit is not None else 0
    shown = found
    if left:
        shown = only_these(found, every[:limit])
        slower = {each.stage for each in every[:limit] if each.part == "times"}
        times = [each for each in times if each[0] in slower]
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
        yield f"times of {len(times)} of {timed} stage runs differ"
        width = max(len(stages[number]["keys"][1]) for number, _, _ in times)
        for number, old, new in times:
            took = f"{format_seconds(old)} -> {format_seconds(new)}{_percent(float(old), float(new))}"
            yield f"  {stages[number]['keys'][1]:<{width}}  {took}"
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
    results += arrays if len(arrays) <= MAX_ARRAYS else []
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
    times = [(number, *stage["seconds"]) for number, stage in enumerate(stages)]
    timed = [each for each in times if None not in each]
    return [each for each in timed if abs(each[2] - each[1]) > max(LEAST_SECONDS, LEAST_SHARE * each[1])]
