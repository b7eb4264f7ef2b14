"""What the time of a run went into, from the spans that its stage runs measured (`--profile`)."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count

from gravel.stages.artifact import Json

BESIDE = ("driver", "load", "load Dask")
OTHER = "other"


class Spans:
    """Spans of time as plain data: `what`, `began` (seconds since the epoch), `seconds` and `bytes`.

    Of a stage run `what` is read (inputs taken from memory, or opened), compute (the stage, compilation
    included), compile (of that, kernels compiled or loaded), digest (the result's id), or write (to the
    cache). Of the run itself see `WholeRun`. Without `kept` nothing is measured.
    """

    def __init__(self, *, kept: bool) -> None:
        self._kept = kept
        self.taken: list[dict[str, Json]] = []

    @contextmanager
    def take(self, what: str, size: int = 0) -> Iterator[None]:
        """Measure the block."""
        began, clock = time.time(), time.perf_counter()
        try:
            yield
        finally:
            self.add(what, began, time.perf_counter() - clock, size)

    def add(self, what: str, began: float, seconds: float, size: int = 0) -> None:
        """Add a span that was measured elsewhere."""
        if self._kept and seconds > 0:
            self.taken.append({"what": what, "began": began, "seconds": round(seconds, 6), "bytes": size})


@dataclass(frozen=True)
class WholeRun:
    """Seconds from the start of the process to the record's end, and what they went into.

    `before` and `after` have `OTHER` last: seconds that no span measured. Together with `stages`, from the
    beginning of the first stage run to the end of the last, they are all of `seconds`. What is `beside` went
    on at the same time.
    """

    seconds: float
    before: Mapping[str, float]
    stages: float
    after: Mapping[str, float]
    beside: Mapping[str, float]


def whole_run(record: Mapping[str, Json]) -> WholeRun | None:
    """Return what a profiled run spent its time on; None if it computed nothing, or was not profiled."""
    spans, computed = record.get("spans"), _computed(record)
    if not spans or not computed:
        return None
    first = float(computed[0]["started"])
    last = max(map(_ended, computed))
    began = min(float(span["began"]) for span in spans)
    ended = max(last, *(float(span["began"] + span["seconds"]) for span in spans))
    own = [span for span in spans if span["what"] not in BESIDE]
    return WholeRun(
        ended - began,
        _parts((span for span in own if span["began"] < first), first - began),
        last - first,
        _parts((span for span in own if span["began"] >= first), ended - last),
        {span["what"]: float(span["seconds"]) for span in spans if span["what"] in BESIDE},
    )


def _parts(spans: Iterable[Mapping[str, Json]], seconds: float) -> dict[str, float]:
    """Sum up spans by what they are, and what is left of the seconds."""
    found: dict[str, float] = {}
    for span in sorted(spans, key=lambda each: float(each["began"])):
        found[span["what"]] = found.get(span["what"], 0.0) + float(span["seconds"])
    found[OTHER] = max(0.0, seconds - sum(found.values()))
    return found


WHAT = ("read", "compile", "compute", "copy", "digest", "write")
"""Spans in the order of a table; `compute` is without what was compiled meanwhile."""


@dataclass(frozen=True)
class Profile:
    """One stage run: seconds in all, seconds that it waited for a worker after its inputs, and by `WHAT`.

    `other` are seconds of its own that no span measured: imports, and the way to the worker and back. `bytes`
    are those of its result and `on_disk` those that were written.
    """

    key: str
    seconds: float
    waited: float
    by_what: Mapping[str, float]
    bytes: int
    on_disk: int
    other: float

    @property
    def write_rate(self) -> float | None:
        """Bytes a second that reached the cache."""
        seconds = self.by_what["write"]
        return self.on_disk / seconds if seconds > 0 else None


def profiles(record: Mapping[str, Json]) -> list[Profile]:
    """Return the profile of each stage run that was computed, in the order in which they began."""
    computed = _computed(record)
    ended = {stage["key"]: _ended(stage) for stage in computed}
    began = min((stage["started"] for stage in record["stages"] if stage["started"]), default=0.0)
    found = []
    for stage in computed:
        by_what = dict.fromkeys(WHAT, 0.0)
        measured = 0.0
        for span in stage["spans"]:
            by_what[span["what"]] += span["seconds"]
            if span["what"] == "compile":
                by_what["compute"] -= span["seconds"]
            elif span["began"] < ended[stage["key"]]:
                measured += span["seconds"]
        by_what["compute"] = max(0.0, by_what["compute"])  # threads may have compiled side by side
        waited = stage["started"] - max([began, *(ended.get(key, 0.0) for key in stage["upstream"])])
        sizes = stage["bytes"] or 0, stage["bytes_on_disk"] or 0
        other = max(0.0, stage["seconds"] - measured)
        found.append(Profile(stage["key"], stage["seconds"], max(0.0, waited), by_what, *sizes, other))
    return found


def _computed(record: Mapping[str, Json]) -> list[Mapping[str, Json]]:
    """Return the stage runs that were computed, in the order in which they began."""
    found = [stage for stage in record["stages"] if stage["state"] == "computed" and stage["started"]]
    return sorted(found, key=lambda stage: float(stage["started"]))


def _ended(stage: Mapping[str, Json]) -> float:
    return float(stage["started"] + stage["seconds"])


def chrome_trace(record: Mapping[str, Json]) -> dict[str, Json]:
    """Return the spans as chrome://tracing and Perfetto read them: the run's, and a row for each slot."""
    events: list[Json] = []
    for span in record.get("spans") or ():
        row = span["what"] if span["what"] in BESIDE else "run"
        events.append(_event(span["what"], "run", span, "gravel", row))
    behind: list[tuple[Mapping[str, Json], str, str]] = []
    for stage in _computed(record):
        place = stage["place"] or "here"
        whole = {"began": stage["started"], "seconds": stage["seconds"]}
        events.append(_event(stage["key"], "stage", whole, place, "stages"))
        for span in stage["spans"]:
            name = f"{stage['key']}: {span['what']}"
            if span["what"] == "write":
                behind.append((span, name, place))
            else:
                events.append(_event(name, span["what"], span, place, "stages"))
    # Results are written side by side: when a row of a place is free again.
    free: dict[tuple[str, int], float] = {}
    for span, name, place in sorted(behind, key=lambda each: float(each[0]["began"])):
        number = next(row for row in count(1) if free.get((place, row), 0.0) <= span["began"])
        free[place, number] = span["began"] + span["seconds"]
        events.append(_event(name, span["what"], span, place, f"written behind {number}"))
    return {"traceEvents": events, "displayTimeUnit": "ms"}


def _event(name: str, kind: str, span: Mapping[str, Json], place: str, row: str) -> Json:
    times = {"ts": round(span["began"] * 1e6), "dur": round(span["seconds"] * 1e6)}
    return {"name": name, "cat": kind, "ph": "X", **times, "pid": place, "tid": row}
