"""The checks of a search by the ranks that hold the graph: each looks at its own arcs, and nobody at all.

The findings are those of `gravel.kernels.verify.check_bfs` on the whole graph: the same rules, the same
counts, and the same vertices and arcs named, on every rank. The graph has to be symmetric.

Ranks tell each other their vertices' levels (4 bytes for each vertex of the graph on every rank), the
predecessors of delegates, and masks over the delegates, whose rows are spread: an arc that jumps or leaves
breaks a rule wherever it is, and a predecessor has to be found by one of the ranks. Only where a tree turns
out to be none do all tell all predecessors, to walk it.

    checks = drive(check_program(Endpoint(wire), RankChecker(part, delegates, n, p), source, d, q), wire)

with `gravel.kernels.verify.ranks.cpu.RankChecker` or `...cuda.RankChecker`;
`gravel.kernels.verify.ranks.components` is for components.
"""

from __future__ import annotations

from gravel.kernels.verify.ranks.program import LevelSums, check_program, sum_levels_program

__all__ = ["LevelSums", "check_program", "sum_levels_program"]
