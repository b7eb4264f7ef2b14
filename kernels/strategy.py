"""Named ways of doing one job (searching, finding components), each on the CPU, on CUDA or on both.

A package of strategies has a table of them, its module `strategies`. Those of papers are in a table of
`gravel.kernels.papers` by the package's name, where that folder is there. Tables import nothing heavy:
implementations are named as `module:function` and loaded when they are asked for. On a backend a strategy has
a function of its own or none: no two names stand for the same code.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

GIVEN = (
    *("row_offsets", "column_indices", "rows", "query", "symmetric"),
    *("weighted", "predecessor", "back_offsets", "back_columns"),
)
"""Parameters of an implementation that are no constants of the strategy."""


@dataclass(frozen=True)
class Ran:
    """What was executed: a function as `module:name`, and its constants in force, defaults included."""

    function: str
    options: Mapping[str, Any]


COLUMNS, ENCODED = "columns", "encoded"
"""Layouts of rows: columns as they are, and rows that are decoded where they are read."""


@dataclass(frozen=True)
class Strategy:
    """One strategy: where it comes from, what it takes and what it gives.

    `cpu` and `cuda` name its functions. They take columns, or with `encoded` rows of any layout
    (`EncodedRows`), columns among them; encoded rows are decoded first for others. `placements` are where
    rows may lie that a GPU searches; a CPU has them in its memory, or streamed where that is among them.
    """

    name: str
    about: str
    source: str = "gravel"  # or a paper, and the section
    cpu: str | None = None
    cuda: str | None = None
    directed: bool = True  # whether it accepts graphs that are not symmetric
    outputs: Sequence[str] = ("distance", "predecessor", "both")
    placements: Sequence[str] = ("device", "pinned")
    counts: Sequence[str] = ()  # backends where `statistics=True` counts the arcs that a search gathers
    automatic: Sequence[str] = ()  # backends where `auto` may stand for it
    encoded: bool = False  # whether its functions take rows of any layout
    buffers: str | None = None  # its table of arrays on a GPU, where its package has none for it

    def on(self, layout: str) -> Strategy:
        """Return the strategy for rows of a layout: it has no functions where it does not read those."""
        return self if layout == COLUMNS or self.encoded else replace(self, cpu=None, cuda=None, counts=())

    def target(self, backend: str) -> str | None:
        """Name the implementation for `cpu` or `cuda`, as `module:function`."""
        return self.cuda if backend == "cuda" else self.cpu

    def load(self, backend: str) -> Callable[..., Any]:
        """Import the implementation for `cpu` or `cuda`; raises ValueError where there is none."""
        target = self.target(backend)
        if target is None:
            where, there = ("a GPU", "CPU") if backend == "cuda" else ("the CPU", "GPU")
            raise ValueError(f"strategy {self.name!r} does not run on {where}; it has {there} code alone")
        loaded: Callable[..., Any] = load_named(target)
        return loaded

    def own_buffers(self) -> Callable[..., Any] | None:
        """Import what makes its table of arrays on a GPU; None where its package has that."""
        return None if self.buffers is None else load_named(self.buffers)

    def ran(self, backend: str, given: Mapping[str, Any], search: Any = None) -> Ran:
        """Return what a call with these constants executes: the function, and all constants in force.

        Constants that the `search` which it made has `decided` itself stand in the place of those given.
        """
        parameters = inspect.signature(self.load(backend)).parameters
        defaults = {name: each.default for name, each in parameters.items() if name not in GIVEN}
        options = {name: given.get(name, default) for name, default in defaults.items()}
        return Ran(self.target(backend) or "", options | getattr(search, "decided", {}))


def load_named(target: str) -> Any:
    """Import what is named as `module:function`."""
    module, function = target.split(":")
    return getattr(importlib.import_module(module), function)


def table(*strategies: Strategy) -> Mapping[str, Strategy]:
    """Make a table by name; raises ValueError for a name that stands twice."""
    found = {each.name: each for each in strategies}
    if len(found) != len(strategies):
        raise ValueError("a name stands twice in the table of strategies")
    return found


def strategies_in(package: str, layout: str = COLUMNS) -> dict[str, Strategy]:
    """Return the strategies of a package, then those of papers, that search rows of a layout, by name.

    For example `strategies_in("gravel.kernels.bfs")`, or `strategies_in("gravel.kernels.bfs", ENCODED)`.
    """
    own: Mapping[str, Strategy] = importlib.import_module(f"{package}.strategies").STRATEGIES
    listed = table(*own.values(), *of_papers(package.rpartition(".")[2], "STRATEGIES").values())
    on_layout = {name: each.on(layout) for name, each in listed.items()}
    return {name: each for name, each in on_layout.items() if each.cpu or each.cuda}


@cache
def of_papers(room: str, what: str) -> Mapping[str, Any]:
    """Return what papers declare under a name for a room of kernels; empty where they declare nothing."""
    name = f"gravel.kernels.papers.{room}"
    try:
        declared = importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name not in ("gravel.kernels.papers", name):
            raise
        return {}
    found: Mapping[str, Any] = getattr(declared, what, {})
    return found
