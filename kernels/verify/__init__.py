"""Verifiers: a result is checked from the graph alone, by loops that no traversal uses.

Those named here take NumPy arrays and run on all threads of the CPU; `gravel.kernels.verify.cuda` has the
same checks on a GPU. Each returns one `Check` per rule, in order, with the first few offenders of a rule that
is broken; none raises for a wrong result.

They are imported when they are asked for, so that what states memory imports neither NumPy nor Numba.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gravel.kernels.verify.bfs import check_bfs
    from gravel.kernels.verify.components import check_components, check_parts
    from gravel.kernels.verify.result import Check
    from gravel.kernels.verify.rules import skipped_checks

__all__ = ["Check", "check_bfs", "check_components", "check_parts", "skipped_checks"]

_MODULES = {
    "Check": "result",
    "check_bfs": "bfs",
    "skipped_checks": "rules",
    "check_components": "components",
    "check_parts": "components",
}


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
