"""What is drawn: boxes, each after those that feed it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from gravel.pipeline.plan.model import CACHED, CANNOT_RUN, NOT_NEEDED, WAITS, WILL_RUN, Plan, RunStatus


@dataclass(frozen=True)
class Box:
    """One box: a stage run, or an entry with all its runs; `state` is empty where it is not known."""

    name: str
    stage: str
    feeds: tuple[str, ...]
    state: str = ""
    note: str = ""


def boxes_of_runs(plan: Plan, statuses: Mapping[str, RunStatus]) -> list[Box]:
    """Make one box for each stage run."""
    return [
        Box(
            key,
            run.stage.name,
            run.upstream,
            statuses[key].state if key in statuses else "",
            "not kept" if not run.keep else "",
        )
        for key, run in plan.runs.items()
    ]


_URGENCY = (CANNOT_RUN, WILL_RUN, WAITS, NOT_NEEDED, CACHED)


def boxes_of_entries(plan: Plan, statuses: Mapping[str, RunStatus]) -> list[Box]:
    """Make one box for each entry of the workflow; its state is the most pressing of its runs'."""
    members: dict[str, list[str]] = {}
    for key, run in plan.runs.items():
        members.setdefault(run.entry, []).append(key)
    boxes = []
    for entry, keys in members.items():
        feeds = dict.fromkeys(plan.runs[up].entry for key in keys for up in plan.runs[key].upstream)
        states = Counter(statuses[key].state for key in keys if key in statuses)
        state = next((each for each in _URGENCY if states[each]), "")
        counts = ", ".join(f"{states[each]} {each}" for each in _URGENCY if states[each])
        note = f"{len(keys)} runs{f': {counts}' if counts else ''}" if len(keys) > 1 else ""
        boxes.append(Box(entry, plan.runs[keys[0]].stage.name, tuple(feeds), state, note))
    return boxes
