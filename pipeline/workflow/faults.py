"""Faults of a workflow file, collected so that several are reported at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace

from gravel.pipeline.core.errors import GravelError, Location, Problem, WorkflowError
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
        self._problems.setdefault(Problem(message, hint, location))

    def add_all(self, problems: Iterable[Problem]) -> None:
        """Note faults that are put together already."""
        self._problems.update(dict.fromkeys(problems))

    @contextmanager
    def noted(self, location: Location | None = None) -> Iterator[None]:
        """Note the problems of an error that ends the block; those without a place are at `location`."""
        try:
            yield
        except GravelError as error:
            self.add_all(
                replace(problem, location=problem.location or location) for problem in error.problems
            )

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
