"""How far a run is, for whoever waits for it: in a notebook, at a terminal, or not at all."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from gravel.pipeline.progress.events import Display, Event

if TYPE_CHECKING:
    from collections.abc import Callable


def in_notebook() -> bool:
    """Say whether this is a kernel of a notebook, without importing IPython."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return shell is not None and hasattr(shell, "kernel")


def is_interactive() -> bool:
    """Say whether somebody types at a prompt, and not a script runs."""
    return hasattr(sys, "ps1") or bool(sys.flags.interactive)


def display_for(progress: bool | None) -> Display | None:
    """Choose how a run is shown; None shows it in a notebook and at a prompt with a terminal."""
    if progress is False:
        return None
    if in_notebook():
        return NotebookDisplay()
    if progress is None and not (is_interactive() and sys.stderr.isatty()):
        return None
    from gravel.pipeline.progress.terminal import make_display

    return make_display()


class NotebookDisplay(Display):
    """One line below the cell that changes as the run goes on; problems stay below it."""

    def __init__(self, show: Callable[[str], Any] | None = None) -> None:
        self._show = show or _display()
        self._total = 0
        self._done = 0
        self._running: dict[str, str] = {}
        self._kept: list[str] = []
        self._shown = ""

    def handle(self, event: Event) -> None:
        """Count what is done and remember what runs."""
        data: dict[str, Any] = event.data
        match event.kind:
            case "run_started":
                self._total = int(data["stages"])
            case "stage_started":
                self._running[data["stage"]] = ""
            case "stage_compiles":
                self._running[data["stage"]] = f" (compiling {data['kernel']})" if data["kernel"] else ""
            case "stage_progress":
                if data["total"]:
                    self._running[data["stage"]] = f" {data['done'] / data['total']:.0%}"
            case "stage_cached" | "stage_finished" | "stage_failed" | "stage_skipped" | "stage_not_run":
                self._running.pop(data["stage"], None)
                self._done += 1
        if event.kind in ("stage_failed", "stage_retried", "damaged", "note", "run_finished"):
            from gravel.pipeline.progress.events import sentence

            if (line := sentence(event)) is not None:
                self._kept.append(line)
        if event.kind != "stage_progress":
            self.tick()

    def tick(self) -> None:
        """Write the line anew where it changed."""
        running = ", ".join(f"{stage}{share}" for stage, share in self._running.items())
        lines = [f"{self._done} of {self._total} stage runs done" + (f"; {running}" if running else "")]
        text = "\n".join([*lines, *self._kept])
        if text != self._shown:
            self._shown = text
            self._show(text)

    def close(self) -> None:
        """Leave the last state."""
        self._running.clear()
        self.tick()


def _display() -> Callable[[str], Any]:
    from IPython.display import display

    handle: Any = display({"text/plain": ""}, raw=True, display_id=True)
    return lambda text: handle.update({"text/plain": text}, raw=True)
