"""The CUDA kernels that a stage nearly always loads, CuPy's among them, for whoever compiles them ahead.

NVRTC takes 0.1 to 2.5 s for a file, and works at several at a time. What is not here is compiled when it is
loaded. Vertices are taken to be 32 bits wide, as those of all graphs below 2^32 vertices are.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from gravel.kernels.betweenness.buffers import LANES, MAX_WORDS
from gravel.kernels.distances.buffers import BATCH, row_words
from gravel.kernels.layouts.registry import encoded_layouts, layout_of
from gravel.kernels.partition.buffers import ANY, SMALLEST
from gravel.kernels.partition.options import CULLING
from gravel.stages.kernel_names import (
    OF_STAGES,
    PATHS,
    RCM,
    SHAPE,
    U32,
    Kernel,
    MadeBy,
    columns_searched,
    named,
    tree_of,
)
from gravel.stages.measuring.parameters import count_chosen

if TYPE_CHECKING:
    from gravel.stages.stage import Parameters

LABEL = {**U32, "LABEL": "u8"}
"""Levels that verification compares with are bytes, in searches of fewer than 255."""

WAKE: Kernel = ("kernels/cuda/wake.cu", {})

OF_RANKS = {**U32, "OFFSET": "u32"}
"""A rank is taken to have fewer than 2^32 arcs of a kind; encoded rows always have wide offsets."""


def kernels_ahead(stage: str, parameters: Parameters, made_by: MadeBy = ()) -> tuple[Kernel, ...]:
    """Return kernel files and their macros, those first that take longest or are most likely.

    Operations of CuPy's follow, named as `gravel.stages.kernel_names` does.
    """
    find = {
        "ingest": _ingest,
        "symmetrize": _symmetrize,
        "reorder": _reorder,
        "partition": _partition,
        "compress": _compress,
        "subgraph": _subgraph,
        "traverse": _traverse,
        "centrality": _centrality,
        "verify": _verify,
    }.get(stage)
    kernels = () if find is None else find(parameters, made_by)
    return (*kernels, *named(OF_STAGES.get(stage, ()))) if kernels else ()


def _ingest(asked: Any, made_by: MadeBy) -> tuple[Kernel, ...]:
    if asked.source is not None:
        return (("kernels/generate/rmat.cu", U32),) if asked.source.rmat is not None else ()
    return ("kernels/text/pairs.cu", {"ID": "u32"}), ("kernels/ids/bitmap.cu", {"ID": "u32", **U32})


def _symmetrize(asked: Any, made_by: MadeBy) -> tuple[Kernel, ...]:
    # Rows with weights are built on the host.
    return () if asked.weights != "leave_out" else (("kernels/csr/build.cu", U32),)


def _reorder(asked: Any, made_by: MadeBy) -> tuple[Kernel, ...]:
    if asked.method == "original":
        return ()
    renumbering = ("kernels/order/renumber.cu", U32), ("kernels/order/locality.cu", U32)
    if asked.method != "rcm":
        return renumbering
    rcm = (("kernels/order/rcm.cu", U32), ("kernels/order/rcm_wide.cu", U32))
    ends = ("kernels/order/rcm_ends.cu", U32), ("kernels/components/cuda/afforest.cu", U32)
    return (*rcm, *ends, *renumbering, *named(RCM))


def _partition(asked: Any, made_by: MadeBy) -> tuple[Kernel, ...]:
    split = ("kernels/partition/split.cu", U32)
    if asked.scheme == "striped":
        return (split,)
    return split, ("kernels/partition/distributor/distributor.cu", U32)


def _compress(asked: Any, made_by: MadeBy) -> tuple[Kernel, ...]:
    return () if asked.codec == "auto" else layout_of(asked.codec).encoding_kernels


def _subgraph(asked: Any, made_by: MadeBy) -> tuple[Kernel, ...]:
    layout = next((each.codec for stage, each in made_by if stage == "compress"), "csr")
    return () if layout == "auto" else (("kernels/subgraph.cu", {**U32, "LAYOUT": layout}),)


def _centrality(asked: Any, made_by: MadeBy) -> tuple[Kernel, ...]:
    if asked.weighted_paths or asked.backend == "cpu":
        return ()
    if asked.measure == "pagerank":
        columns = (
            "kernels/pagerank/columns.cu",
            {**U32, "WEIGHT": "u8"},
        )  # whether there are weights is not known
        return columns, ("kernels/pagerank/commit.cu", {})
    if asked.of_paths:
        words = min(MAX_WORDS, -(-_searched_from(asked.sources) // LANES))
        arcs = str(int(asked.measure == "edge_betweenness"))
        rows = "kernels/betweenness/rows.cu", {**U32, "WORDS": str(words), "ARCS": arcs}
        # Whether searches go far is seen by one.
        return rows, ("kernels/distances/independent.cu", {"LAYOUT": "csr", **U32, "SHARED": "1"})
    words = row_words(_searched_from(asked.sources if asked.estimated else asked.vertices))
    macros = {"LAYOUT": "csr", **U32, "WORDS": str(words)}
    together: Kernel = ("kernels/distances/bit_parallel.cu", macros)
    if asked.vertices != "all" or asked.estimated:
        return (together,)
    bounds: tuple[Kernel, ...] = (
        (("kernels/distances/bounds.cu", {}),) if asked.measure == "eccentricity" else ()
    )
    # Whether searches go far is seen by one from a vertex of high degree.
    return (together, *columns_searched("distance"), *bounds)


def _searched_from(chosen: Any) -> int:
    """Count the vertices that are searched from, as far as it matters for how many are searched at once."""
    if chosen == "all":
        return BATCH
    return BATCH if hasattr(chosen, "file") else count_chosen(chosen)


def _verify(asked: Any, made_by: MadeBy) -> tuple[Kernel, ...]:
    if getattr(asked, "on", None) == "cpu":
        return ()
    algorithms = {each.algorithm for stage, each in made_by if stage == "traverse"}
    if "strong_components" in algorithms:
        return (("kernels/verify/cuda/strong_components.cu", U32),)
    if "components" in algorithms:
        return (("kernels/verify/cuda/components.cu", U32),)
    rows = ("kernels/verify/cuda/rows.cu", LABEL)
    if "shortest_paths" in algorithms:
        rows = ("kernels/verify/cuda/paths.cu", {**U32, "DISTANCE": "i32", "WEIGHT": "u32"})
    return rows, ("kernels/verify/cuda/vertices.cu", {})


def _traverse(asked: Any, made_by: MadeBy) -> tuple[Kernel, ...]:
    if asked.backend == "cpu":
        return ()
    if asked.algorithm == "shortest_paths":
        known = asked.strategy in ("auto", "delta_stepping")
        paths: tuple[Kernel, ...] = tuple(
            (f"kernels/sssp/cuda/{name}.cu", PATHS) for name in ("delta_stepping", "by_weight")
        )
        return (*paths, WAKE) if known else ()
    stages = dict(reversed(list(made_by)))
    layout = stages["compress"].codec if made_by and made_by[0][0] == "compress" else "csr"
    reading = {"LAYOUT": layout, **U32} if layout in encoded_layouts() else None
    if made_by and "partition" in [stage for stage, _ in made_by[: 2 if reading else 1]]:
        return _of_ranks(asked, stages["partition"], reading)
    around = (*(layout_of(layout).reading_kernels if reading else ()), WAKE)
    if asked.algorithm != "bfs":
        back = (("kernels/components/cuda/relabel.cu", U32),) if "reorder" in stages else ()
        found = _of_components(asked, reading)
        return (*found, *around, *back) if found else ()
    labels: list[Kernel] = [("kernels/level_statistics.cu", U32)]
    if "reorder" in stages:
        labels.append(("kernels/relabel.cu", {**U32, "TREE": "i32"}))
    deep = asked.strategy == "auto" and _may_be_deep(stages)
    at_once, in_case = _of_encoded(asked, reading) if reading else _of_columns(asked)
    if deep:
        in_case = (*in_case, *_persistent(layout, asked.output))
    if reading and deep:
        in_case = (("kernels/bfs/cuda/shape.cu", reading), *in_case)
    return (*at_once, *around, *labels, *in_case) if at_once else ()


def _may_be_deep(stages: Mapping[str, Any]) -> bool:
    """Tell whether a search in hops may be chosen, which is none for graphs made at random."""
    source = getattr(stages.get("ingest"), "source", None)
    return source is None or source.rmat is None


def _persistent(layout: str, output: str) -> tuple[Kernel, ...]:
    macros = {"LAYOUT": layout, **U32, **tree_of(output)}
    return tuple(("kernels/bfs/cuda/persistent.cu", {**macros, "WIDTH": width}) for width in ("4", "8"))


def _of_components(asked: Any, reading: dict[str, str] | None) -> tuple[Kernel, ...]:
    if asked.strategy not in ("auto", "direction_optimizing"):
        return ()
    if asked.algorithm == "strong_components":
        return (("kernels/strong_components/cuda/forward_backward.cu", U32),)
    if reading:
        return (("kernels/components/cuda/afforest_rows.cu", {"BLOCK": "512", **reading}),)
    return (("kernels/components/cuda/afforest.cu", U32),)


Both = tuple[tuple[Kernel, ...], tuple[Kernel, ...]]
"""Kernels that a search is likely to load, and those that some graphs need."""


def _of_columns(asked: Any) -> Both:
    if asked.strategy == "multi_source":
        return (("kernels/bfs/cuda/multi_source.cu", {"LAYOUT": "csr", **U32, **tree_of(asked.output)}),), ()
    if asked.strategy == "persistent":
        return _persistent("csr", asked.output), ()
    if asked.strategy not in ("auto", "direction_optimizing", "top_down"):
        return (), ()
    first, *others, last = columns_searched(asked.output)
    shape: tuple[Kernel, ...] = ()
    if asked.strategy == "auto":
        shape = (("kernels/bfs/cuda/shape.cu", {"LAYOUT": "csr", **U32}),)
    return (first, *shape, *others), (last, *named(SHAPE))


def _of_encoded(asked: Any, reading: dict[str, str]) -> Both:
    tree, measured = tree_of(asked.output), ("kernels/bfs/cuda/measure_rows.cu", reading)
    if asked.strategy == "multi_source":
        return (("kernels/bfs/cuda/multi_source.cu", {**reading, **tree}), measured), ()
    if asked.strategy == "persistent":
        return _persistent(reading["LAYOUT"], asked.output), ()
    if asked.strategy not in ("auto", "direction_optimizing", "top_down"):
        return (), ()
    file = "kernels/bfs/cuda/direction_optimizing_encoded.cu"
    return ((file, {**reading, **tree}), measured), ()


def _of_ranks(asked: Any, partition: Any, reading: dict[str, str] | None) -> tuple[Kernel, ...]:
    if asked.algorithm == "components" and partition.scheme == "delegates" and not reading:
        return (("kernels/partition/cuda/components.cu", OF_RANKS),)
    if asked.algorithm != "bfs":
        return ()
    smallest = asked.tuning.get("predecessors", "any") == "smallest"
    tree = 0 if asked.output == "distance" else SMALLEST if smallest else ANY
    macros = {**OF_RANKS, "TREE": str(tree)}
    if reading:
        return (("kernels/partition/cuda/ranks_encoded.cu", {**macros, **reading, "OFFSET": "u64"}),)
    file = "ranks"
    if any(name in asked.tuning for name in CULLING):
        file, macros["OFFSET"] = "ranks_culled", "u64"
    return (f"kernels/partition/cuda/{file}.cu", macros), ("kernels/partition/cuda/compact_ids.cu", U32)
