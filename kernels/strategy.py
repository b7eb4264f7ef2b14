"""Named ways of doing one job (searching, finding components), each on the CPU, on CUDA or on both.

A package of strategies holds one thin module per strategy that defines `STRATEGY`. Such a module imports
nothing heavy: the implementations are named as `module:function` and loaded when they are asked for. On a
backend a strategy has a function of its own or none: no two names stand for the same code.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

GIVEN = (
    *("row_offsets", "column_indices", "rows", "output", "symmetric", "max_depth", "statistics"),
    *("weighted", "predecessor"),
)
"""Parameters of an implementation that are no constants of the strategy."""


@dataclass(frozen=True)
class Ran:
    """What was executed: a function as `module:name`, and its constants in force, defaults included."""

    function: str
    options: Mapping[str, Any]


@dataclass(frozen=True)
class Strategy:
    """One strategy; `cpu` and `cuda` name its `prepare` function, or are None where there is none."""

    name: str
    about: str
    source: str  # paper and section, or "gravel"
    cpu: str | None = None
    cuda: str | None = None
    directed: bool = True  # whether it accepts graphs that are not symmetric
    outputs: Sequence[str] = ("distance", "predecessor", "both")
    counts: Sequence[str] = ()  # backends where `statistics=True` counts the arcs that a search gathers
    encoded: bool = False  # whether its functions take rows of any layout (`EncodedRows`), columns among them

    def target(self, backend: str) -> str | None:
        """Name the implementation for `cpu` or `cuda`, as `module:function`."""
        return self.cuda if backend == "cuda" else self.cpu

    def load(self, backend: str) -> Callable[..., Any]:
        """Import the implementation for `cpu` or `cuda`; raises ValueError where there is none."""
        target = self.target(backend)
        if target is None:
            where, there = ("a GPU", "CPU") if backend == "cuda" else ("the CPU", "GPU")
            raise ValueError(f"strategy {self.name!r} does not run on {where}; it has {there} code alone")
        module, function = target.split(":")
        loaded: Callable[..., Any] = getattr(importlib.import_module(module), function)
        return loaded

    def ran(self, backend: str, given: Mapping[str, Any], without: Collection[str] = GIVEN) -> Ran:
        """Return what a call with these constants executes: the function, and all constants in force."""
        parameters = inspect.signature(self.load(backend)).parameters
        defaults = {name: each.default for name, each in parameters.items() if name not in without}
        options = {name: given.get(name, default) for name, default in defaults.items()}
        return Ran(self.target(backend) or "", options)


@cache
def strategies_in(package: str) -> dict[str, Strategy]:
    """All strategies of a package by name, for example `strategies_in("gravel.kernels.bfs")`."""
    path = importlib.import_module(package).__path__
    found = {}
    for module in pkgutil.iter_modules(path):
        if module.ispkg or module.name.startswith("_"):
            continue
        strategy = getattr(importlib.import_module(f"{package}.{module.name}"), "STRATEGY", None)
        if isinstance(strategy, Strategy):
            found[strategy.name] = strategy
    return found


def strategies_of_rows(package: str) -> dict[str, Strategy]:
    """Those strategies of a package that read encoded rows, by name."""
    return {name: each for name, each in strategies_in(package).items() if each.encoded}


def backend_of(array: Any) -> str:
    """`cuda` for a CuPy array, else `cpu`, without importing CuPy."""
    return "cuda" if type(array).__module__.split(".")[0] == "cupy" else "cpu"
