"""Measurements that were repeated: every repetition, their median and spread.

A repetition is a stage run of its own, whose label says `repeat=2` from the second one on. Everything else in
a report compares the repetition with the median time, so that all of its figures belong together.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from statistics import median
from typing import Any

from gravel.stages.artifacts import Measurement
from gravel.stages.charts import Axis, Rows, RowSeries
from gravel.stages.sections.rates import EDGE_RATE, mean_rate, median_milliseconds, milliseconds
from gravel.stages.sections.section import Made, Runs, Section, figure, table
from gravel.stages.sections.studies import short_labels

_REPEAT = re.compile(r"[\[,]repeat=(\d+)\]$")

MAX_DRAWN = 40
"""Repeated runs in one figure; more are in the table alone."""

Members = Sequence[tuple[str, Any]]


def first_label(label: str) -> tuple[str, int]:
    """Split a label into that of the first repetition and the number of this one."""
    found = _REPEAT.search(label)
    if found is None:
        return label, 1
    start = label[: found.start()]
    return (f"{start}]" if "[" in start else start), int(found[1])


def repetition_sections(members: Runs) -> list[Made]:
    """Make the tables and the picture of what was repeated; none where nothing was."""
    # Without a single search there is nothing that could differ.
    repeated = {
        label: group for label, group in _grouped(members).items() if len(group) > 1 and _times(group)
    }
    if not repeated:
        return []
    drawn = [_figure(repeated)] if len(repeated) <= MAX_DRAWN else []
    return [_summary(repeated), _every(repeated), *drawn]


def typical(members: Members) -> list[tuple[str, Measurement]]:
    """Keep one repetition of each measurement, that with the median time, under the first one's label."""
    return [(label, _middle(group)) for label, group in _grouped(members).items()]


def repeated_times(members: Members) -> dict[str, list[float]]:
    """Give the median times of all repetitions of each measurement that was repeated, by its first label."""
    groups = _grouped(members).items()
    return {label: times for label, group in groups if len(group) > 1 and (times := _times(group))}


def _grouped(members: Runs) -> dict[str, list[tuple[int, Measurement]]]:
    groups: dict[str, list[tuple[int, Measurement]]] = {}
    for label, one in members:
        first, number = first_label(label)
        groups.setdefault(first, []).append((number, one))
    return groups


def _time(one: Measurement) -> float | None:
    """Return the median milliseconds of a search."""
    return median_milliseconds(one) if one.searches else None


def _middle(group: Sequence[tuple[int, Measurement]]) -> Measurement:
    """Return the repetition with the median time, of an even number the faster of the middle two."""
    timed = sorted((_time(one) or 0.0, number) for number, one in group)
    number = timed[(len(timed) - 1) // 2][1]
    return next(one for each, one in group if each == number)


def _times(group: Sequence[tuple[int, Measurement]]) -> list[float]:
    return [time for _, one in group if (time := _time(one)) is not None]


def _summary(repeated: dict[str, list[tuple[int, Measurement]]]) -> Made:
    rows: list[list[Any]] = []
    for label, group in repeated.items():
        times = _times(group)
        if not times:
            continue
        middle = median(times)
        spread = 100 * (max(times) - min(times)) / middle if middle else None
        speeds = [rate for _, one in group if (rate := mean_rate(one)) is not None]
        deviation = 100 * median(abs(time - middle) for time in times) / middle if middle else None
        facts = (label, len(times), middle, min(times), max(times), spread, deviation)
        rows.append([*facts, median(speeds) if speeds else None])
    return table(
        "Repeated measurements",
        "Each repetition is a separate stage run, which reads the graph and warms up again. Its time is the "
        "median over its searches. Spread is the slowest minus the fastest repetition, and deviation is the "
        "median distance from the median. Both are in percent of the median. Other tables show the "
        "repetition with the median time.",
        f"run | repetitions | median ms | fastest ms | slowest ms | spread, % | deviation, % | {EDGE_RATE}, "
        "median",
        rows,
        result=280,
    )


def _every(repeated: dict[str, list[tuple[int, Measurement]]]) -> Made:
    rows: list[list[Any]] = []
    for label, group in repeated.items():
        times = _times(group)
        middle = median(times) if times else None
        for number, one in group:
            time = _time(one)
            searches = milliseconds(one)
            facts = (label, number, time, 100 * (time / middle - 1) if time is not None and middle else None)
            figures = (min(searches) if searches else None, max(searches) if searches else None)
            rows.append([*facts, *figures, mean_rate(one), one.prepare_milliseconds])
    return table(
        "Every repetition",
        "The time of a repetition is the median over its searches.",
        "run | repetition | median ms | from the median, % | fastest search ms | slowest search ms | "
        f"{EDGE_RATE}, harmonic mean | preparation ms",
        rows,
        covered_by=("spread of repetitions",),
    )


def _figure(repeated: dict[str, list[tuple[int, Measurement]]]) -> Made:
    names = short_labels(list(repeated))
    data = {
        name: times for name, group in zip(names, repeated.values(), strict=True) if (times := _times(group))
    }

    relative = [_from_median(times) for times in data.values()]
    repetitions = [
        RowSeries(
            name=f"repetition {place + 1}",
            values=tuple(each[place] if place < len(each) else None for each in relative),
            draw="point",
            in_legend=False,
        )
        for place in range(max(map(len, relative), default=0))
    ]
    middle = RowSeries(
        name="median",
        values=(0.0,) * len(data),
        draw="mark",
        low=tuple(min(each) for each in relative),
        high=tuple(max(each) for each in relative),
        range_name="end",
        color=1,
    )
    panel = Rows(
        of="run",
        names=tuple(f"{name}  {median(times):.3g} ms" for name, times in data.items()),
        axis=Axis(label="% from the median"),
        series=(middle, *repetitions),
    )
    return figure(
        "Spread of the repetitions",
        "Each point is one repetition; the bar marks their median.",
        [panel],
        data,
        alt=f"Spread of {len(data)} repeated runs",
        result=390,
        name="spread of repetitions",
    )


def _from_median(times: Sequence[float]) -> list[float]:
    """Give each time's distance from the median in per cent."""
    middle = median(times)
    return [100 * (time / middle - 1) if middle else 0.0 for time in times]


SECTIONS = (Section(rank=119, make=repetition_sections, kinds=("Measurement",)),)
