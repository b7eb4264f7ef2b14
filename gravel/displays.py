"""Displays of runs that Python starts: a line of a call, below a notebook's cell, or on a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from gravel.pipeline.progress.events import Display, Event, sentence
from gravel.progress import display_line, in_notebook, report


class RunLine(Display):
    """Puts the progress of a run's stages into the line of the call that runs it."""

    def handle(self, event: Event) -> None:
        """Take how far a stage is."""
        if event.kind == "stage_progress":
            report(event.data["done"], event.data["total"], event.data["unit"])


def display_for(progress: bool | None) -> Display | None:
    """Return the display of a run; `None` chooses one in a notebook and at a prompt with a terminal."""
    if progress is False:
        return None
    if in_notebook():
        return NotebookDisplay()
    at_prompt = hasattr(sys, "ps1") or bool(sys.flags.interactive)
    if progress is None and not (at_prompt and sys.stderr.isatty()):
        return None
    from gravel.pipeline.progress.terminal import make_display

    return make_display()


class NotebookDisplay(Display):
    """One line below the cell that changes as the run goes on; problems stay below it."""

    def __init__(self, show: Callable[[str], Any] | None = None) -> None:
        self._show = show or display_line()
        self._total = 0
        self._done = 0
        self._running: dict[str, str] = {}
        self._kept: list[str] = []
        self._shown = ""

    def handle(self, event: Event) -> None:
        """Count finished stage runs and list those that run."""
        data: dict[str, Any] = event.data
        match event.kind:
            case "run_started":
                self._total = int(data["stages"])
            case "stage_started":
                self._running[data["stage"]] = ""
            case "stage_compiles":
                self._running[data["stage"]] = f" (preparing {data['kernel']})" if data["kernel"] else ""
            case "stage_progress":
                if data["total"]:
                    self._running[data["stage"]] = f" {data['done'] / data['total']:.0%}"
            case "stage_cached" | "stage_finished" | "stage_failed" | "stage_skipped" | "stage_not_run":
                self._running.pop(data["stage"], None)
                self._done += 1
        kept = event.kind in ("stage_failed", "stage_retried", "damaged", "note", "run_finished")
        if kept and (line := sentence(event)) is not None:
            self._kept.append(line)
        if event.kind != "stage_progress":
            self.tick()

    def tick(self) -> None:
        """Show the line again if it changed."""
        running = ", ".join(f"{stage}{share}" for stage, share in self._running.items())
        lines = [f"{self._done} of {self._total} stage runs done" + (f"; {running}" if running else "")]
        text = "\n".join([*lines, *self._kept])
        if text != self._shown:
            self._shown = text
            self._show(text)

    def close(self) -> None:
        """Show the last state."""
        self._running.clear()
        self.tick()
