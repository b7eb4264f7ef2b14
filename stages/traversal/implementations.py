"""The implementations of each algorithm, by the form of the rows that it searches: one row of a table each.

`gravel.stages.traversal.search` goes by the table from a stored graph to the kernel, and
`gravel.stages.traversal.memory` states by it what that takes. Functions are named as `module:function`, for
`pkgutil.resolve_name`, so that a plan imports those alone that it calls.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

COLUMNS, ENCODED, RANKS, DISTRIBUTED = "columns", "encoded", "ranks", "distributed"
"""Forms of rows: whole as columns, whole and decoded where they are read, those of a partition's ranks, and
those that only the memory of ranks holds."""

RUNS = 3
"""How often components are found and timed, after one run that compiles."""

TRAVERSAL, RANK_ROOM = "gravel.stages.traversal", "gravel.stages.ranks"


@dataclass(frozen=True)
class Implementation:
    """One algorithm over rows of one form.

    `entry` is a kernel's function that makes rows ready, to which `arguments` gives strategy, rows and
    constants. Without `arguments`, it takes the context, the graph and the parameters, and of a distributed
    graph it does everything. Without a separate `preparation`, the entry is the search itself.

    `need` states the memory, and `sizes` what rows on a GPU are placed by. `labels` is a class that maps back
    and writes what was found. `warm_ups` searches come before the clock. A graph is prepared `twice` where
    the first time compiles.
    """

    entry: str
    need: str
    arguments: str = ""
    preparation: bool = True
    sizes: str = ""
    labels: str = ""
    warm_ups: int = 1
    twice: bool = False


BFS_LABELS = f"{TRAVERSAL}.labels:SearchLabels"
PATH_LABELS = f"{TRAVERSAL}.labels:PathLabels"
COMPONENT_LABELS = f"{TRAVERSAL}.labels:ComponentLabels"

_BFS = Implementation(
    "gravel.kernels.bfs:prepare",
    arguments=f"{TRAVERSAL}.preparation:of_bfs",
    labels=BFS_LABELS,
    need=f"{TRAVERSAL}.memory:rows_need",
    sizes=f"{TRAVERSAL}.memory:rows_sizes",
    twice=True,
)
_COMPONENTS = replace(
    _BFS,
    entry="gravel.kernels.components:components",
    arguments=f"{TRAVERSAL}.preparation:of_components",
    labels=COMPONENT_LABELS,
    preparation=False,
)
_RANKS_NEED = f"{TRAVERSAL}.rank_memory:ranks_need"
_DISTRIBUTED_NEED = f"{TRAVERSAL}.rank_memory:distributed_need"

IMPLEMENTATIONS = {
    (COLUMNS, "bfs"): _BFS,
    (ENCODED, "bfs"): replace(_BFS, entry="gravel.kernels.bfs:prepare_rows"),
    (RANKS, "bfs"): Implementation(
        f"{RANK_ROOM}.searches:prepare_ranks", need=_RANKS_NEED, labels=BFS_LABELS, twice=True
    ),
    (DISTRIBUTED, "bfs"): Implementation(
        f"{RANK_ROOM}.distributed:search_distributed", need=_DISTRIBUTED_NEED
    ),
    (COLUMNS, "shortest_paths"): Implementation(
        "gravel.kernels.sssp:prepare",
        arguments=f"{TRAVERSAL}.preparation:of_paths",
        need=f"{TRAVERSAL}.memory:paths_need",
        sizes=f"{TRAVERSAL}.memory:paths_sizes",
        labels=PATH_LABELS,
        warm_ups=2,  # what the first one finds may change how the next ones search
    ),
    (RANKS, "shortest_paths"): Implementation(
        f"{RANK_ROOM}.paths:prepare_paths",
        need=f"{TRAVERSAL}.rank_memory:rank_paths_need",
        labels=PATH_LABELS,
    ),
    (COLUMNS, "components"): _COMPONENTS,
    (ENCODED, "components"): replace(
        _COMPONENTS, entry="gravel.kernels.components:prepare_rows", preparation=True
    ),
    (RANKS, "components"): Implementation(
        f"{RANK_ROOM}.components:prepare_components", need=_RANKS_NEED, labels=COMPONENT_LABELS
    ),
    (DISTRIBUTED, "components"): Implementation(
        f"{RANK_ROOM}.distributed:find_distributed", need=_DISTRIBUTED_NEED
    ),
    (COLUMNS, "strong_components"): replace(
        _COMPONENTS,
        entry="gravel.kernels.strong_components:strong_components",
        arguments=f"{TRAVERSAL}.preparation:of_strong_components",
        need=f"{TRAVERSAL}.memory:strong_need",
        twice=False,
    ),
}
