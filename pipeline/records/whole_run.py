"""What a run spent its time on besides its stages: before the first one, after the last one, and beside them.

Spans of a run, as `gravel.pipeline.workers.spans` measures them, in the order in which they begin:

- start: the interpreter, and gravel's command line
- plan: the workflow was read and planned
- look up: files were digested, and results looked up in the cache
- memory: what stages need was compared with what there is
- cluster: workers were started
- publish: since the last stage run ended, until its result was in the cache
- close: workers were ended
- page: the run's page was written

On other threads, which may end after the first stage began: driver (the GPU's driver was asked what is
free), load (what stages use was imported, and a CUDA context made), and load Dask.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gravel.stages.artifact import Json

BESIDE = ("driver", "load", "load Dask")
OTHER = "other"


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
    spans = record.get("spans") or []
    computed = [stage for stage in record["stages"] if stage["state"] == "computed" and stage["started"]]
    if not spans or not computed:
        return None
    first = min(float(stage["started"]) for stage in computed)
    last = max(float(stage["started"] + stage["seconds"]) for stage in computed)
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
