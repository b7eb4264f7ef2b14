"""Faults of a workflow file, collected so that several are reported at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from gravel.pipeline.core.errors import Location, Problem, WorkflowError
from gravel.pipeline.workflow.nodes import MAX_PROBLEMS


class Faults:
    """A list of problems without repetitions, in the order of the files when raised."""

    def __init__(self, main: str = "") -> None:
        self._problems: dict[Problem, None] = {}
        self._main = main  # the file that was asked for; those of workflows that it uses come after it

    def __len__(self) -> int:
        return len(self._problems)

    def add(self, message: str, hint: str | None = None, location: Location | None = None) -> None:
        """Note a fault."""
        self.add_problem(Problem(message, hint, location))

    def add_problem(self, problem: Problem) -> None:
        """Note a fault that is put together already."""
        self._problems.setdefault(problem)

    def raise_if_any(self) -> None:
        """Raise WorkflowError with everything that was found, the first `MAX_PROBLEMS` in full."""
        if not self._problems:
            return
        files = [self._main, *(each.location.file for each in self._problems if each.location is not None)]
        order = {file: place for place, file in enumerate(dict.fromkeys(files))}
        ordered = sorted(self._problems, key=lambda problem: _place(problem, order))
        shown = ordered[:MAX_PROBLEMS]
        if len(ordered) > len(shown):
            more = f"{len(ordered) - len(shown)} more faults are not shown"
            shown[-1] = replace(shown[-1], hint="; ".join(filter(None, (shown[-1].hint, more))))
        raise WorkflowError(shown)


def _place(problem: Problem, files: Mapping[str, int]) -> tuple[int, int, int]:
    place = problem.location
    return (files[place.file], place.line, place.column) if place is not None else (0, 0, 0)
