"""Probes that were repeated: the time of every part in every repetition, with median and spread."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import TYPE_CHECKING, Any

from gravel.stages.sections.probes import probe_sections
from gravel.stages.sections.repetitions import first_label

if TYPE_CHECKING:
    from gravel.stages.artifacts import Probe


def probe_with_repetitions(members: Sequence[tuple[str, Probe]]) -> list[dict[str, Any]]:
    """Make the sections of probes from the median repetition of each, then the table of all repetitions."""
    groups: dict[str, list[Probe]] = {}
    for label, one in members:
        groups.setdefault(first_label(label)[0], []).append(one)
    sections = probe_sections([(label, _middle(group)) for label, group in groups.items()])
    repeated = {
        label: group
        for label, group in groups.items()
        if len(group) > 1 and group[0].parts and group[0].searches
    }
    return [*sections, _table(repeated)] if repeated else sections


def _milliseconds(one: Probe, place: int) -> float:
    """Return the time of a part over all levels of a search, in the mean over the searches."""
    return float(sum(search["milliseconds"][place] for search in one.searches) / max(1, len(one.searches)))


def _middle(group: Sequence[Probe]) -> Probe:
    """Return the repetition with the median time of all parts, of an even number the faster of the two."""
    timed = [
        (sum(_milliseconds(one, place) for place in range(len(one.parts))), number)
        for number, one in enumerate(group)
    ]
    return group[sorted(timed)[(len(timed) - 1) // 2][1]]


def _table(repeated: dict[str, list[Probe]]) -> dict[str, Any]:
    rows: list[list[Any]] = []
    for label, group in repeated.items():
        for place, part in enumerate(group[0].parts):
            times = [_milliseconds(one, place) for one in group]
            middle = median(times)
            rows.append(
                [
                    label,
                    part["part"],
                    ", ".join(str(part[name]) for name in ("method", "schedule") if part[name] is not None),
                    middle,
                    min(times),
                    max(times),
                    100 * (max(times) - min(times)) / middle if middle else None,
                    "  ".join(f"{time:.4g}" for time in times),
                ]
            )
    return {
        "kind": "table",
        "title": "Repeated probes",
        "about": (
            "Milliseconds over all levels of a search, averaged over the searches. Spread is the "
            "slowest minus the fastest repetition, in percent of the median. Other tables and "
            "charts show the repetition with the median time of all parts."
        ),
        "columns": [
            "run",
            "part",
            "method",
            "median ms",
            "fastest ms",
            "slowest ms",
            "spread, %",
            "every repetition, ms",
        ],
        "rows": rows,
    }
