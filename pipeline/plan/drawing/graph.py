"""What is drawn: boxes, each after those that feed it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
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
    states = {key: statuses[key].state if key in statuses else "" for key in plan.runs}
    return gathered(
        (
            (run.entry, run.stage.name, [plan.runs[up].entry for up in run.upstream], states[key])
            for key, run in plan.runs.items()
        ),
        _URGENCY,
    )


def gathered(runs: Iterable[tuple[str, str, Sequence[str], str]], urgency: Sequence[str]) -> list[Box]:
    """Make one box for each entry of stage runs: entry, stage, entries upstream and state.

    `urgency` has the states, the most pressing first: that is the state of an entry.
    """
    members: dict[str, list[tuple[str, Sequence[str], str]]] = {}
    for entry, stage, upstream, state in runs:
        members.setdefault(entry, []).append((stage, upstream, state))
    boxes = []
    for entry, found in members.items():
        feeds = dict.fromkeys(name for _, upstream, _ in found for name in upstream if name != entry)
        counted = Counter(state for _, _, state in found)
        present = [state for state in urgency if counted[state]]
        counts = ", ".join(f"{counted[state]} {state}" for state in present)
        note = f"{len(found)} runs{f': {counts}' if counts else ''}" if len(found) > 1 else ""
        boxes.append(Box(entry, found[0][0], tuple(feeds), present[0] if present else "", note))
    return boxes
