"""Rates, plain lines, JSON events and the live table."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from rich.console import Console

from gravel.pipeline.core.durations import format_seconds
from gravel.pipeline.progress.events import (
    Event,
    JsonDisplay,
    PlainDisplay,
    ProblemDisplay,
    sentence,
)
from gravel.pipeline.progress.pace import Pace, describe_pace, format_count
from gravel.pipeline.progress.tables import data_set_lines
from gravel.pipeline.progress.terminal import TerminalDisplay, make_display

COUNTS = {"computed": 1, "cached": 1, "failed": 1, "skipped": 1, "interrupted": 0}
STORY: list[Event] = [
    Event("run_started", {"run": "r1", "workflow": "w", "stages": 4, "folder": "f"}),
    Event("stage_cached", {"stage": "a", "seconds": 1.0, "bytes": 10}),
    Event("cluster_started", {"cluster": "local, 2 workers", "seconds": 1.5}),
    Event("stage_started", {"stage": "b", "place": "w0", "attempt": 1}),
    Event("stage_progress", {"stage": "b", "done": 5, "total": 10, "unit": "edges", "rate": 2.0}),
    Event("stage_retried", {"stage": "b", "attempt": 2, "message": "the worker that ran it died"}),
    Event("stage_finished", {"stage": "b", "seconds": 2.5, "bytes": 2048, "peak_host_bytes": 5}),
    Event("damaged", {"stage": "a", "artifact": "x", "message": "artifact x is damaged"}),
    Event("waiting", {"stage": "c", "message": "another run is computing it; waiting for that"}),
    Event("stage_failed", {"stage": "c", "message": "[no] luck", "hint": None}),
    Event("stage_skipped", {"stage": "d", "because": "c"}),
    Event("note", {"message": "by the way"}),
    Event("run_finished", {"run": "r1", "state": "failed", "seconds": 9.0, "report": "/r.html", **COUNTS}),
]


def lines_of(display: type[PlainDisplay]) -> list[str]:
    stream = io.StringIO()
    told = display(stream)
    for event in STORY:
        told.handle(event)
    return [line.split(" ", 1)[1] for line in stream.getvalue().splitlines()]


def test_plain_lines_are_one_per_step_and_a_quiet_run_tells_of_problems() -> None:
    lines = [
        "run r1 of w: 4 stage runs",
        "a: cached",
        "cluster: local, 2 workers, up in 1.50 s",
        "b: started",
        "b: attempt 2 follows: the worker that ran it died",
        "b: done in 2.50 s, 2 KiB",
        "a: artifact x is damaged; computed again",
        "c: another run is computing it; waiting for that",
        "c: failed: [no] luck",
        "d: skipped, it depends on c",
        "by the way",
        "failed in 9.00 s: 1 failed, 1 skipped, 1 computed, 1 cached",
        "report: /r.html",
    ]
    assert lines_of(PlainDisplay) == lines
    assert lines_of(ProblemDisplay) == [lines[place] for place in (4, 6, 10)]


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"compile_seconds": 0.4}, ""),
        ({"compile_seconds": 1.25}, "; 1.25 s of it prepared kernels, which are compiled once"),
        ({"compile_seconds": 1.25, "compiled": [*"vwxyz"]},
         "; 1.25 s of it prepared kernels (v, w, x and 2 more), which are compiled once"),
    ],
)  # fmt: skip
def test_a_step_that_compiled_for_long_says_so(more: dict[str, Any], told: str) -> None:
    data = {"stage": "b", "seconds": 2.5, "bytes": 2048, **more}
    assert sentence(Event("stage_finished", data)) == f"b: done in 2.50 s, 2 KiB{told}"


def test_json_events_are_one_object_per_line() -> None:
    stream = io.StringIO()
    display = JsonDisplay(stream)
    for event in STORY:
        display.handle(event)
    objects: list[dict[str, Any]] = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert [each["event"] for each in objects] == [event.kind for event in STORY]
    assert all(isinstance(each["time"], float) for each in objects)
    assert objects[4] == {**STORY[4].data, "event": "stage_progress", "time": objects[4]["time"]}


def test_the_terminal_shows_what_runs_and_keeps_what_is_done() -> None:
    stream = io.StringIO()
    console = Console(file=stream, force_terminal=True, width=100, color_system=None)
    display = TerminalDisplay(console)
    for event in STORY[:5]:
        display.handle(event)
    table = Console(file=io.StringIO(), width=100, color_system=None)
    with table.capture() as captured:
        table.print(display._table())
    assert "5/10 edges" in captured.get()
    assert "1 of 4 stage runs, 1 of them cached" in captured.get()
    for event in STORY[5:]:
        display.handle(event)
    display.close()
    text = stream.getvalue()
    assert "✓ b: done in 2.50 s" in text
    assert "✗ c: failed: [no] luck" in text


def test_a_display_is_chosen() -> None:
    assert isinstance(make_display(json=True), JsonDisplay)
    assert isinstance(make_display(quiet=True), ProblemDisplay)
    assert isinstance(make_display(terminal=False), PlainDisplay)


def test_a_terminal_sees_plain_lines_if_nothing_runs(capsys: pytest.CaptureFixture[str]) -> None:
    display = make_display(terminal=True)
    display.handle(STORY[0])
    display.handle(STORY[1])
    display.handle(STORY[-1])
    display.close()
    assert "a: cached" in capsys.readouterr().err


def test_a_pace_has_a_rate_and_a_remaining_time() -> None:
    pace = Pace()
    pace.update(0, 1000, "edges", now=0.0)
    assert pace.remaining is None
    pace.update(100, 1000, "edges", now=1.0)
    assert pace.rate == 100.0
    pace.update(300, 1000, "edges", now=2.0)
    assert pace.rate == pytest.approx(0.7 * 100 + 0.3 * 200)
    assert pace.remaining == pytest.approx(700 / 130)
    assert describe_pace(pace) == "300/1.00k edges, 130/s, 5.38 s left".replace("1.00k", "1k")
    pace.update(1, 10, "levels", now=3.0)
    assert pace.rate == 0.0


def test_numbers_are_short() -> None:
    told = [format_count(count) for count in (0, 999, 1000, 12345, 4_560_000, 2e9, 3e12)]
    assert told == ["0", "999", "1k", "12.3k", "4.56M", "2G", "3T"]
    told = [format_seconds(seconds) for seconds in (0.00042, 0.123, 12.34, 99.99, 245, 7380)]
    assert told == ["0.00042 s", "0.12 s", "12.3 s", "1 min 40 s", "4 min 05 s", "2 h 03 min"]


def test_a_kernel_that_is_compiled_is_named_while_it_is() -> None:
    stream = io.StringIO()
    display = PlainDisplay(stream)
    for kernel in ("fold_rows", None, "scan", None):
        display.handle(Event("stage_compiles", {"stage": "b", "kernel": kernel}))
    [line] = stream.getvalue().splitlines()
    assert line.endswith("b: preparing the kernel fold_rows, which is compiled once"), "a stage's first alone"


def test_the_live_table_names_the_kernel_until_the_stage_goes_on() -> None:
    console = Console(file=io.StringIO(), force_terminal=True, width=100)
    display = TerminalDisplay(console)
    table = io.StringIO()

    def shown() -> str:
        table.truncate(0)
        Console(file=table, width=100).print(display._table())
        return table.getvalue()

    display.handle(Event("stage_started", {"stage": "b", "attempt": 1}))
    display.handle(Event("stage_compiles", {"stage": "b", "kernel": "fold_rows"}))
    assert "preparing fold_rows" in shown()
    display.handle(Event("stage_compiles", {"stage": "b", "kernel": None}))
    assert "preparing" not in shown()
    display.close()


def data_sets(count: int, failed: str) -> list[dict[str, Any]]:
    done = {"state": "done", "stages": {"computed": 3}, "failed": None, "vertices": None, "edges": 7}
    rows = {f"g{number:02}": done | {"seconds": 1.0, "change": ""} for number in range(count)}
    broken = {"state": "failed", "stages": {"skipped": 2, "failed": 1}, "failed": f"edges[dataset={failed}]"}
    return [{"name": name, **row, **(broken if name == failed else {})} for name, row in rows.items()]


def test_of_many_data_sets_the_one_that_failed_stands_first_and_in_red() -> None:
    lines = data_set_lines(data_sets(60, "g50"))
    assert lines[1].split()[:6] == ["g50", "failed", "1", "failed,", "2", "skipped"]
    assert lines[2:] == ["and 59 more, which run.json has", "60 data sets: 1 failed, 59 done"]
    red = data_set_lines(data_sets(3, "g02"), colored=True)
    assert [line.startswith("\x1b[31m") for line in red] == [False, True, False, False, False]
    stream = io.StringIO()
    display = TerminalDisplay(Console(file=stream, force_terminal=True, width=100, color_system="standard"))
    for event in (STORY[3], Event("datasets", {"datasets": data_sets(3, "g02")})):
        display.handle(event)
    display.close()
    assert "\x1b[31mg02" in stream.getvalue()


def test_many_data_sets_take_a_line_each() -> None:
    names = [f"g{number:02}" for number in range(30)]
    stream = io.StringIO()
    display = PlainDisplay(stream)
    started = {"run": "r", "workflow": "w", "stages": 60, "folder": "f", "data_sets": dict.fromkeys(names, 2)}
    display.handle(Event("run_started", started))
    for name in names:
        edges, graph = (
            {"stage": f"edges[{name}]", "dataset": name},
            {"stage": f"graph[{name}]", "dataset": name},
        )
        if name == "g03":
            display.handle(Event("stage_cached", {**edges, "seconds": 1.0, "bytes": 1}))
            display.handle(Event("stage_cached", {**graph, "seconds": 1.0, "bytes": 1}))
            continue
        display.handle(Event("stage_started", {**edges, "attempt": 1}))
        display.handle(Event("note", {**edges, "message": "read as blanks"}))
        if name == "g07":
            display.handle(Event("stage_failed", {**edges, "message": "no edges", "hint": None}))
            display.handle(Event("stage_skipped", {**graph, "because": edges["stage"]}))
            continue
        display.handle(Event("stage_finished", {**edges, "seconds": 1.0, "bytes": 1}))
        display.handle(Event("stage_finished", {**graph, "seconds": 0.5, "bytes": 1}))
    lines = [line.partition(" ")[2] for line in stream.getvalue().splitlines()]
    assert len(lines) == 32
    assert lines[1] == "g00: done in 1.50 s (2 computed)"
    assert lines[4] == "g03: unchanged"
    assert lines[8:10] == ["edges[g07]: failed: no edges", "g07: failed (1 failed, 1 skipped)"]
