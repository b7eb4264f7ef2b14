"""The CUDA kernels that a stage nearly always loads, CuPy's among them, for whoever compiles them ahead.

NVRTC takes 0.1 to 2.5 s for a file, and works at several at a time. What is not here is compiled when it is
loaded. Vertices are taken to be 32 bits wide, as those of all graphs below 2^32 vertices are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gravel.kernels.layouts.registry import encoded_layouts, layout_of
from gravel.stages.cupy_ahead import OF_STAGES, RCM, SHAPE, named

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gravel.stages.stage import Parameters

Kernel = tuple[str, "Mapping[str, str]"]
MadeBy = Sequence[tuple[str, Any]]
"""Stages that made an input and what went into it, the last first, with their parameters."""

U32 = {"VERTEX": "u32"}

LABEL = {**U32, "LABEL": "u8"}
"""Levels that verification compares with are bytes, in searches of fewer than 255."""

PATHS = {**U32, "WORD": "u32", "WEIGHT": "u32"}
"""Weights are taken to be integers, of which no path is longer than int32 holds."""


def kernels_ahead(stage: str, parameters: Parameters, made_by: MadeBy = ()) -> tuple[Kernel, ...]:
    """Return kernel files and their macros, those first that take longest or are most likely.

    Operations of CuPy's follow, named as `gravel.stages.cupy_ahead` does.
    """
    find = {
        "ingest": _ingest,
        "symmetrize": _symmetrize,
        "reorder": _reorder,
        "partition": _partition,
        "compress": _compress,
        "traverse": _traverse,
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
    ends = ("kernels/order/rcm_ends.cu", U32), ("kernels/components/afforest.cu", U32)
    return (*rcm, *ends, *renumbering, *named(RCM))


def _partition(asked: Any, made_by: MadeBy) -> tuple[Kernel, ...]:
    split = ("kernels/partition/split.cu", U32)
    if asked.scheme == "striped":
        return (split,)
    return split, ("kernels/partition/distributor/distributor.cu", U32)


def _compress(asked: Any, made_by: MadeBy) -> tuple[Kernel, ...]:
    return () if asked.codec == "auto" else layout_of(asked.codec).encoding_kernels


def _traverse(asked: Any, made_by: MadeBy) -> tuple[Kernel, ...]:
    if asked.algorithm == "sssp":
        if asked.backend == "cpu" or asked.strategy not in ("auto", "delta_stepping"):
            return ()
        return ("kernels/sssp/delta_stepping.cu", PATHS), ("kernels/cuda/wake.cu", {})
    if asked.backend == "cpu" or asked.strategy not in ("auto", "direction_optimizing"):
        return ()
    layout = made_by[0][1].codec if made_by and made_by[0][0] == "compress" else "csr"
    around: list[Kernel] = [("kernels/cuda/wake.cu", {})]
    renumbered = any(stage == "reorder" for stage, _ in made_by)
    encoded = layout in encoded_layouts()
    if encoded:
        reading = {"LAYOUT": layout, **U32}
        around += layout_of(layout).reading_kernels
    if asked.algorithm != "bfs":
        back: list[Kernel] = [("kernels/components/relabel.cu", U32)] if renumbered else []
        if asked.algorithm == "strong_components":
            return ("kernels/strong_components/forward_backward.cu", U32), *around, *back
        if encoded:
            search: Kernel = ("kernels/components/afforest_rows.cu", {"BLOCK": "512", **reading})
        else:
            search = ("kernels/components/afforest.cu", U32)
        return (search, *around, *back)
    around.append(("kernels/level_statistics.cu", U32))
    if renumbered:
        around.append(("kernels/relabel.cu", {**U32, "TREE": "i32"}))
    # With predecessors a label is a key of 64 bits, 32 of them the predecessor's.
    tree = {"TREE": "0" if asked.output == "distance" else "32"}
    shape = ("kernels/bfs/shape.cu", {"LAYOUT": layout, **U32})
    if encoded:
        file = "kernels/bfs/direction_optimizing_encoded.cu"
        search = (file, {**reading, **tree, "ONE_LANE": "0"})
        return (search, ("kernels/bfs/measure_rows.cu", reading), *around)
    file = "kernels/bfs/direction_optimizing.cu"
    # The graph decides: large ones with hubs have far rows, small ones have none.
    far, none = ((file, {**U32, **tree, "DEFER_ROWS": each}) for each in ("1", "0"))
    # First neighbours by degree, of distances in another order than by degree.
    by_degree: list[Kernel] = [("kernels/bfs/by_degree.cu", U32)] if asked.output == "distance" else []
    measured = (shape,) if asked.strategy == "auto" else ()
    return (far, *measured, ("kernels/bfs/deferred_rows.cu", U32), *by_degree, *around, none, *named(SHAPE))


def _verify(asked: Any, made_by: MadeBy) -> tuple[Kernel, ...]:
    if getattr(asked, "on", None) == "cpu":
        return ()
    algorithms = {each.algorithm for stage, each in made_by if stage == "traverse"}
    if "strong_components" in algorithms:
        return ()
    if "components" in algorithms:
        return (("kernels/verify/cuda/components.cu", U32),)
    rows = ("kernels/verify/cuda/rows.cu", LABEL)
    if "sssp" in algorithms:
        rows = ("kernels/verify/cuda/paths.cu", {**U32, "DISTANCE": "i32", "WEIGHT": "u32"})
    return rows, ("kernels/verify/cuda/vertices.cu", {})
