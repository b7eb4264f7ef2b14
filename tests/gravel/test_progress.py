"""What is shown of long calls and runs: on a terminal, in a notebook, and after Ctrl-C."""

from __future__ import annotations

import io
import sys
import time
from contextlib import suppress
from contextvars import ContextVar
from itertools import count
from types import SimpleNamespace

import pytest

import gravel
from gravel import progress
from gravel.displays import NotebookDisplay, display_for
from gravel.kernels import team
from gravel.pipeline.progress.events import Event
from gravel.pipeline.progress.pace import Pace
from gravel.progress import in_notebook, measured, report, shown
from tests.gravel.asked import Steps, counted
from tests.gravel.samples import random_edges


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True

    def until(self, text: str) -> None:
        """Wait until the text is shown; on a busy machine that takes its time."""
        until = time.monotonic() + 60
        while text not in self.getvalue() and time.monotonic() < until:
            time.sleep(0.01)
        assert text in self.getvalue()


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    found = Terminal()
    monkeypatch.setattr(progress, "sys", SimpleNamespace(stderr=found, modules=sys.modules))
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    monkeypatch.setattr(progress, "INTERVAL", 0.01)
    # A test before may have been interrupted where the end of a call is noted.
    monkeypatch.setattr(progress, "_CURRENT", ContextVar("line", default=None))
    return found


def test_an_interrupted_call_hides_no_later_one(terminal: Terminal) -> None:
    for line in count(1):
        began = False
        with suppress(KeyboardInterrupt), counted(Steps(line)), shown("interrupted"):
            began = True
        if began:
            break
        with shown(f"after line {line}"):
            terminal.until(f"after line {line}: ")
    assert line > 3


def test_a_line_has_the_time_left_and_is_gone_at_the_end(terminal: Terminal) -> None:
    with shown("to_networkx"), shown("edges"):
        for done in range(1, 4):
            report(done * 1000, 100_000, "arcs")
            time.sleep(0.05)
        terminal.until("to_networkx: 3k/100k arcs, ")
    lines = terminal.getvalue().split("\r\x1b[2K")
    assert any("3k/100k arcs, " in line and " s left" in line for line in lines)
    assert "edges" not in terminal.getvalue()
    assert not lines[-1]


def test_a_measure_reports_to_its_line_or_to_who_asks(terminal: Terminal, monkeypatch) -> None:
    with measured("closeness", None) as reported:
        reported(100, 1000)
        terminal.until("closeness: 100/1k vertices, ")
    with measured("closeness", print) as reported:
        assert reported is print
    monkeypatch.setattr(terminal, "isatty", lambda: False)
    with measured("closeness", None) as reported:
        assert reported is None


@pytest.mark.parametrize("name", ["closeness", "betweenness", "neighbourhood", "eccentricity", "diameter"])
def test_measures_report(name: str, terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    monkeypatch.setattr(Pace, "update", lambda pace, done, total, *_: seen.append((done, total)))
    graph = gravel.graph((list(range(20)), list(range(1, 21))))
    getattr(graph, name)(*([2] if name == "neighbourhood" else []))
    assert seen[-1][0] > 0
    assert max(total for _, total in seen) == 21


@pytest.mark.parametrize("strategy", ["afforest", "streamed"])
def test_components_report(strategy: str, terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    monkeypatch.setattr(Pace, "update", lambda pace, done, total, *_: seen.append((done, total)))
    monkeypatch.setattr(team, "REPORTS_EVERY", 1e-4)
    gravel.graph(random_edges(1, 1 << 18, 1 << 20)).components(strategy=strategy)
    total = seen[-1][1]
    assert seen[-1][0] > 0
    assert all(done <= total for done, _ in seen)


def test_short_calls_and_those_that_nobody_sees_show_nothing(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "PATIENCE", 60.0)
    with shown("components"):
        pass
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    monkeypatch.setattr(terminal, "isatty", lambda: False)
    with shown("components"):
        time.sleep(0.05)
    assert not terminal.getvalue()


def test_the_line_goes_with_ctrl_c(terminal: Terminal) -> None:
    def stopped() -> None:
        terminal.until("components: ")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), shown("components"):
        stopped()
    assert terminal.getvalue().endswith("\r\x1b[2K")
    with shown("bfs"):
        terminal.until("bfs: ")


def test_conversions_report_how_far_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = gravel.graph(random_edges(1, 300, 2000)).reorder("degree")
    reports = []
    monkeypatch.setattr("gravel.graphs.adjacency.report", lambda *given: reports.append(given))
    for name in ("to_networkx", "to_scipy", "edges"):
        reports.clear()
        getattr(graph, name)()
        assert reports[-1] == (graph.info().arcs, graph.info().arcs, "arcs")


def test_ctrl_c_while_a_file_is_read_is_no_error_of_the_file(tmp_path, monkeypatch) -> None:
    (tmp_path / "edges.txt").write_text("1 2\n")
    interrupted = SimpleNamespace(state="interrupted")
    monkeypatch.setattr("gravel.running.execute", lambda plan, options: interrupted)
    with pytest.raises(KeyboardInterrupt):
        gravel.graph(tmp_path / "edges.txt", cache=tmp_path / "cache")


def test_progress_is_shown_where_somebody_waits(monkeypatch, capsys):
    assert display_for(False) is None
    assert display_for(None) is None
    assert display_for(True) is not None
    assert not in_notebook()
    shell = SimpleNamespace(kernel=object())
    shown = []
    handle = SimpleNamespace(update=lambda data, raw: shown.append(data["text/plain"]))
    display = SimpleNamespace(display=lambda data, raw, display_id: handle)
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    display = display_for(None)
    assert isinstance(display, NotebookDisplay)
    display.handle(Event("run_started", {"run": "r", "workflow": "w", "stages": 2, "folder": "f"}))
    display.handle(Event("stage_cached", {"stage": "edges"}))
    display.handle(Event("stage_started", {"stage": "bfs"}))
    display.handle(Event("stage_compiles", {"stage": "bfs", "kernel": "push"}))
    assert shown[-1] == "1 of 2 stage runs done; bfs (preparing push)"
    display.handle(Event("stage_compiles", {"stage": "bfs", "kernel": None}))
    assert shown[-1] == "1 of 2 stage runs done; bfs"
    display.handle(Event("stage_progress", {"stage": "bfs", "done": 1, "total": 4}))
    display.tick()
    assert shown[-1] == "1 of 2 stage runs done; bfs 25%"
    display.handle(Event("note", {"message": "the file changed"}))
    display.handle(Event("stage_finished", {"stage": "bfs"}))
    display.close()
    assert shown[-1] == "2 of 2 stage runs done\nthe file changed"
    assert capsys.readouterr().out == ""
