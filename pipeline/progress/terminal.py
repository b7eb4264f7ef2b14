"""A live table of what runs, below the lines of what is done. Rich is imported once a stage starts."""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING, Any

import click

from gravel.pipeline.core.durations import format_seconds
from gravel.pipeline.progress.events import (
    DataSetLines,
    Display,
    Event,
    JsonDisplay,
    PlainDisplay,
    ProblemDisplay,
)
from gravel.pipeline.progress.pace import Pace, describe_pace

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.live import Live

_STYLES: dict[str, tuple[str, dict[str, Any]]] = {
    "stage_finished": ("✓", {"fg": "green"}),
    "stage_cached": ("=", {"dim": True}),
    "stage_failed": ("✗", {"fg": "red"}),
    "stage_skipped": ("-", {"fg": "yellow"}),
    "stage_retried": ("↻", {"fg": "yellow"}),
    "damaged": ("!", {"fg": "yellow"}),
    "waiting": ("…", {"dim": True}),
}
_SHOWN_CACHED = 12


class TerminalDisplay(Display):
    """Finished steps scroll away above, running ones stay with rate and time left."""

    def __init__(self, console: Console | None = None) -> None:
        self._console = console
        self._running: dict[str, Pace] = {}
        self._compiling: dict[str, str] = {}
        self._total = 0
        self._ended = 0
        self._cached = 0
        self._live: Live | None = None
        self._lines = DataSetLines()

    def handle(self, event: Event) -> None:
        """Show an event."""
        data = event.data
        key = str(data.get("stage", ""))
        match event.kind:
            case "run_started":
                self._total = data["stages"]
            case "stage_started":
                self._running[key] = Pace()
                self._compiling.pop(key, None)
                self._start()
                return
            case "stage_compiles":
                self._compiling[key] = data["kernel"]
                return
            case "stage_progress":
                self._compiling.pop(key, None)
                self._running.setdefault(key, Pace()).update(data["done"], data["total"], data["unit"])
                return
            case "stage_finished" | "stage_failed" | "stage_skipped" | "stage_cached":
                self._running.pop(key, None)
                self._ended += 1
                self._cached += event.kind == "stage_cached"
            case "stage_retried" | "damaged":
                self._running.pop(key, None)
            case "run_finished":
                self.close()
        text = self._lines.words(event, colored=True)
        if text is None or (event.kind == "stage_cached" and self._cached > _SHOWN_CACHED):
            return
        failed = event.kind == "run_finished" and data["state"] == "failed"
        mark, style = _STYLES.get("stage_failed" if failed else event.kind, (" ", {}))
        line = click.style(f"{mark} {text}", **style) if style else f"{mark} {text}"
        if self._live is None:
            click.echo(line, err=True, color=False if os.environ.get("NO_COLOR") else None)
        else:
            from rich.text import Text

            # Soft: a path that the terminal itself wraps can still be copied.
            self._live.console.print(Text.from_ansi(line), highlight=False, soft_wrap=True)

    def _start(self) -> None:
        if self._live is None:
            from rich.console import Console
            from rich.live import Live

            self._live = Live(
                get_renderable=self._table,
                console=self._console or Console(stderr=True),
                refresh_per_second=8,
                transient=True,
            )
            self._live.start()

    def _table(self) -> RenderableType:
        from rich.console import Group
        from rich.progress_bar import ProgressBar
        from rich.table import Table
        from rich.text import Text

        table: Any = Table.grid(padding=(0, 2))
        for key, pace in self._running.items():
            bar: RenderableType = ""
            if pace.total:
                bar = ProgressBar(total=pace.total, completed=min(pace.done, pace.total), width=20)
            took = format_seconds(time.monotonic() - pace.started)
            kernel = self._compiling.get(key)
            doing = describe_pace(pace) if kernel is None else f"preparing {kernel}, which is compiled once"
            table.add_row(Text(key, style="bold"), bar, Text(doing), Text(took, style="dim"))
        text = f"{self._ended} of {self._total} stage runs"
        if self._cached:
            text += f", {self._cached} of them cached"
        return Group(table, Text(text, style="dim"))

    def close(self) -> None:
        """Leave the terminal as it was."""
        if self._live is not None:
            self._live.stop()
            self._live = None


def make_display(*, json: bool = False, quiet: bool = False, terminal: bool | None = None) -> Display:
    """Choose how a run is shown; `terminal` None asks whether standard error is one."""
    if json:
        return JsonDisplay()
    if quiet:
        return ProblemDisplay()
    if sys.stderr.isatty() if terminal is None else terminal:
        return TerminalDisplay()
    return PlainDisplay()
