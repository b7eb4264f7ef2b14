"""Verifiers: a result is checked from the graph alone, by loops that no traversal uses.

They take NumPy arrays and run on all threads of the CPU, also for results that a GPU made. Each returns one
`Check` per rule, in order, with the first few offenders of a rule that is broken; none raises for a wrong
result.
"""

from __future__ import annotations

from gravel.kernels.verify.bfs import check_bfs, skipped_checks
from gravel.kernels.verify.components import check_components, check_parts
from gravel.kernels.verify.result import Check

__all__ = ["Check", "check_bfs", "check_components", "check_parts", "skipped_checks"]
