"""The CUDA kernels that a stage nearly always loads, CuPy's among them, for whoever compiles them ahead.

NVRTC takes 0.1 to 2.5 s for a file, and works at several at a time. What is not here is compiled when it is
loaded. Vertices are taken to be 32 bits wide, as those of all graphs below 2^32 vertices are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gravel.kernels.layouts.registry import layout_of
from gravel.stages.kernel_names import OF_STAGES, RCM, U32, Kernel, MadeBy, named
from gravel.stages.measuring import ahead as measuring
from gravel.stages.traversal import ahead as traversal

if TYPE_CHECKING:
    from gravel.stages.stage import Parameters

LABEL = {**U32, "LABEL": "u8"}
"""Levels that verification compares with are bytes, in searches of fewer than 255."""


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
        "traverse": traversal.kernels_of,
        "centrality": measuring.kernels_of,
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


def _subgraph(asked: Any, made_by: MadeBy) -> tuple[Kernel, ...]:
    layout = next((each.codec for stage, each in made_by if stage == "compress"), "csr")
    return () if layout == "auto" else (("kernels/subgraph.cu", {**U32, "LAYOUT": layout}),)


def _verify(asked: Any, made_by: MadeBy) -> tuple[Kernel, ...]:
    if getattr(asked, "on", None) == "cpu":
        return ()
    algorithms = {each.algorithm for stage, each in made_by if stage == "traverse"}
    if "strong_components" in algorithms:
        return (("kernels/verify/cuda/strong_components.cu", U32),)
    if "components" in algorithms:
        return (("kernels/verify/cuda/components.cu", U32),)
    rows = ("kernels/verify/cuda/rows.cu", LABEL)
    if "sssp" in algorithms:
        rows = ("kernels/verify/cuda/paths.cu", {**U32, "DISTANCE": "i32", "WEIGHT": "u32"})
    return rows, ("kernels/verify/cuda/vertices.cu", {})
