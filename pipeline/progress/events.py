"""What happens in a run, as events; with `--json` each is one line on standard output.

Every line is an object with `event` and `time` (seconds since the epoch). With a stage comes `dataset`, if it
belongs to one. The kinds and their other fields:

- `run_started`: run, workflow, stages (count), data_sets (the stage runs of each, counted), folder
- `cluster_started`: cluster (what it is), seconds
- `stage_cached`: stage (the run's key), seconds (what making it took), bytes
- `stage_started`: stage, place, attempt, need_host_bytes, need_device_bytes
- `stage_progress`: stage, done, total (or null), unit, rate (units per second)
- `stage_compiles`: stage, kernel (which is compiled, or takes long to load; null when the stage goes on)
- `stage_finished`: stage, seconds, bytes, peak_host_bytes, compile_seconds (those of the seconds in which
  kernels were compiled, or loaded where they were compiled before), compiled (names of those compiled anew,
  on GPUs if that took more than 0.3 s), parts (how many parts of the result were cached, as a text; empty
  where it has none)
- `stage_failed`: stage, message, hint (or null)
- `stage_skipped`: stage, because (the key of the run that failed, or "stopped")
- `stage_retried`: stage, attempt, message
- `damaged`: stage (whose result it was), artifact, message
- `waiting`: stage, message (another run computes it)
- `note`: message; one on a stage run's result has stage
- `outputs`: outputs (the files that results were written to: file, entry, rows, state, problem)
- `run_finished`: run, state (done, failed, interrupted), seconds, computed, cached, failed, skipped,
  interrupted (counts), report (path or null)
"""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TextIO

from gravel.pipeline.core.durations import format_seconds
from gravel.pipeline.core.errors import on_one_line
from gravel.pipeline.core.memory import format_bytes
from gravel.pipeline.progress.tables import FEW, data_set_lines


@dataclass(frozen=True)
class Event:
    """One thing that happened; `data` holds the fields of its kind."""

    kind: str
    data: dict[str, Any]
    time: float = field(default_factory=time.time)


class Display:
    """Shows events to somebody; this one shows nothing."""

    def handle(self, event: Event) -> None:
        """Show one event."""

    def tick(self) -> None:
        """Refresh what is shown; called a few times a second."""

    def close(self) -> None:
        """End; the terminal is as it was."""


class QuietDisplay(Display):
    """Shows nothing; problems still reach the command's error message."""


class JsonDisplay(Display):
    """One JSON object per line, for programs."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stdout

    def handle(self, event: Event) -> None:
        """Write the event."""
        line = {"event": event.kind, "time": round(event.time, 3), **event.data}
        self._stream.write(json.dumps(line, ensure_ascii=False) + "\n")
        self._stream.flush()


PROBLEMS = ("damaged", "stage_retried", "note")
"""Kinds of events that somebody should know of although all may end well."""

LONG_COMPILATION = 0.5
"""Seconds of compiling from which on a line says so; loading what was compiled takes less."""


def sentence(event: Event, *, colored: bool = False) -> str | None:
    """Put an event into words; None for what is not worth a line."""
    data: dict[str, Any] = event.data
    match event.kind:
        case "run_started":
            return f"run {data['run']} of {data['workflow']}: {data['stages']} stage runs"
        case "cluster_started":
            return f"cluster: {data['cluster']}, up in {format_seconds(data['seconds'])}"
        case "stage_cached":
            return f"{data['stage']}: cached"
        case "stage_started":
            again = f", attempt {data['attempt']}" if data["attempt"] > 1 else ""
            return f"{data['stage']}: started{again}"
        case "stage_finished":
            took = format_seconds(data["seconds"])
            text = f"{data['stage']}: done in {took}, {format_bytes(data['bytes'])}"
            if data.get("parts"):
                text += f"; {data['parts']}"
            if (seconds := data.get("compile_seconds", 0.0)) >= LONG_COMPILATION:
                which = named_kernels(data.get("compiled", ()))
                text += f"; {format_seconds(seconds)} of it prepared {which}, which are compiled once"
            return text
        case "stage_compiles" if data["kernel"]:
            return f"{data['stage']}: preparing the kernel {data['kernel']}, which is compiled once"
        case "stage_failed":
            return f"{data['stage']}: failed: {on_one_line(data['message'])}"
        case "stage_skipped":
            stopped = data["because"] == "stopped"
            why = "the run was stopped" if stopped else f"it depends on {data['because']}"
            return f"{data['stage']}: skipped, {why}"
        case "stage_not_run":
            return f"{data['stage']}: not run: {data['reason']}"
        case "stage_retried":
            return f"{data['stage']}: attempt {data['attempt']} follows: {data['message']}"
        case "damaged":
            return f"{data['stage']}: {data['message']}; computed again"
        case "waiting":
            return f"{data['stage']}: {data['message']}"
        case "note":
            return str(data["message"])
        case "datasets":
            return "\n".join(data_set_lines(data["datasets"], colored=colored))
        case "outputs":
            return "\n".join(_output_lines(data["outputs"]))
        case "run_finished":
            states = ("failed", "skipped", "computed", "cached", "not_run")
            counts = [f"{data[name]} {name.replace('_', ' ')}" for name in states if data.get(name)]
            did = ", ".join(counts) or "nothing computed"
            text = f"{data['state']} in {format_seconds(data['seconds'])}: {did}"
            return f"{text}\nreport: {data['report']}" if data.get("report") else text
    return None


MAX_FILES = 12
"""Files of outputs that are listed one by one, beside those with a problem."""


def _output_lines(outputs: Sequence[dict[str, Any]]) -> Iterator[str]:
    counts = Counter(each["state"] for each in outputs)
    yield f"outputs: {', '.join(f'{count:,} {state}' for state, count in counts.items())}"
    if counts["written"] <= MAX_FILES:
        for each in outputs:
            if each["state"] == "written":
                yield f"  {each['rows']:,} rows -> {each['file']}"
    for each in outputs:
        if each["problem"]:
            yield f"  {each['file']}: {on_one_line(each['problem'])}"


MAX_NAMES = 3
"""Kernels that a line names; it counts the others."""


def named_kernels(names: Sequence[str]) -> str:
    """Name what was compiled: `kernels (fold_rows, scan and 4 more)`."""
    if not names:
        return "kernels"
    more = len(names) - MAX_NAMES
    return f"kernels ({', '.join(names[:MAX_NAMES])}{f' and {more} more' if more > 0 else ''})"


_ENDS = {
    "stage_finished": "computed",
    "stage_cached": "cached",
    "stage_failed": "failed",
    "stage_skipped": "skipped",
    "stage_not_run": "not run",
}


_WORST_FIRST = ("failed", "skipped", "not run", "computed", "cached")


class DataSetLines:
    """Puts events into words: one line for each of many data sets, when all of its stage runs have ended."""

    def __init__(self) -> None:
        self._left: Counter[str] = Counter()
        self._ended: dict[str, Counter[str]] = {}
        self._seconds: Counter[str] = Counter()

    def words(self, event: Event, *, colored: bool = False) -> str | None:
        """Return what to print of an event, or None."""
        data: dict[str, Any] = event.data
        if event.kind == "run_started" and len(data.get("data_sets", ())) > FEW:
            self._left.update(data["data_sets"])
        name = data.get("dataset")
        if name is None or name not in self._left:
            return sentence(event, colored=colored)
        line = self._count(name, event) if event.kind in _ENDS else None
        if event.kind in ("stage_failed", "stage_retried", "damaged"):
            return "\n".join(filter(None, (sentence(event), line)))
        return line

    def _count(self, name: str, event: Event) -> str | None:
        ended = self._ended.setdefault(name, Counter())
        ended[_ENDS[event.kind]] += 1
        if event.kind == "stage_finished":
            self._seconds[name] += event.data["seconds"]
        if ended.total() < self._left[name]:
            return None
        if ended["cached"] == ended.total():
            return f"{name}: unchanged"
        counts = ", ".join(
            f"{count} {state}"
            for state, count in sorted(ended.items(), key=lambda item: _WORST_FIRST.index(item[0]))
        )
        took = f" in {format_seconds(self._seconds[name])}" if self._seconds[name] else ""
        return f"{name}: {'failed' if ended['failed'] else 'done'}{took} ({counts})"


class PlainDisplay(Display):
    """Writes a line per event to a stream, standard error by default."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr
        self._lines = DataSetLines()
        self._compiling: set[str] = set()

    def handle(self, event: Event) -> None:
        """Write the event if it is worth a line; of kernels that are compiled, a stage's first alone."""
        if event.kind == "stage_compiles":
            if event.data["stage"] in self._compiling or not event.data["kernel"]:
                return
            self._compiling.add(event.data["stage"])
        text = self._lines.words(event)
        if text is None:
            return
        stamp = time.strftime("%H:%M:%S", time.localtime(event.time))
        self._stream.write("".join(f"{stamp} {line}\n" for line in text.splitlines()))
        self._stream.flush()


class ProblemDisplay(PlainDisplay):
    """Writes problems only; a failure reaches the command's error message."""

    def handle(self, event: Event) -> None:
        """Write the event if it is a problem."""
        if event.kind in PROBLEMS:
            super().handle(event)
        elif event.kind == "run_started":
            self._lines.words(event)
