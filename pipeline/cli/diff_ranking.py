"""Which differences between two runs matter most: what failed, what was asked, then results and times."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from gravel.pipeline.core.hashing import is_input

Json = Any

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


def ranked(found: Mapping[str, Json], times: list[tuple[int, float, float]]) -> list[Difference]:
    """Return all differences of a comparison, the most important first; `times` has stages with both."""
    every = [*_of_run(found), *_of_stages(found["stages"])]
    every += [Difference("times", stage, 0, TIME, _change(old, new)) for stage, old, new in times]
    return sorted(every, key=lambda each: (-each.weight, -each.size))


def _of_run(found: Mapping[str, Json]) -> Iterator[Difference]:
    for place, change in enumerate(found["asked"]):
        yield Difference("asked", -1, place, MACHINE if change["name"] in OF_MACHINE else ASKED)
    for part in ("only_old", "only_new"):
        if found[part]:
            yield Difference(part, -1, 0, ONLY)


def _of_stages(stages: list[dict[str, Json]]) -> Iterator[Difference]:
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


def _weight_of_result(name: str, old: Json, new: Json) -> int:
    if name.startswith("check "):
        return FAILED
    if "array " in name or name.endswith("contents"):
        return FOLLOWS
    return MEASURED if isinstance(old, int | float) and isinstance(new, int | float) else OWN


def _change(old: Json, new: Json) -> float:
    """Return by which share of the larger one two numbers differ; 0 for what are none."""
    if not isinstance(old, int | float) or not isinstance(new, int | float):
        return 0.0
    largest = max(abs(old), abs(new))
    return abs(new - old) / largest if largest else 0.0


def only_these(found: Mapping[str, Json], chosen: list[Difference]) -> dict[str, Json]:
    """Return a comparison with the chosen differences alone; its stages are in the order of importance."""

    def kept(part: str, stage: int, changes: list[Json] | None) -> list[Json]:
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
