"""The CUDA kernels that a stage nearly always loads, for whoever compiles them before it runs.

NVRTC takes 0.1 to 2.5 s for a file, and works at several at a time. What is not here is compiled when it is
loaded. Vertices are taken to be 32 bits wide, as those of all graphs below 2^32 vertices are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gravel.stages.stage import Parameters

Kernel = tuple[str, "Mapping[str, str]"]

U32 = {"VERTEX": "u32"}


def kernels_ahead(stage: str, parameters: Parameters) -> tuple[Kernel, ...]:
    """Return kernel files and their macros, those first that take longest or are most likely."""
    find = {"ingest": _ingest, "symmetrize": _symmetrize, "traverse": _traverse, "verify": _verify}.get(stage)
    return () if find is None else find(parameters)


def _ingest(asked: Any) -> tuple[Kernel, ...]:
    if asked.source is not None:
        return (("kernels/generate/rmat.cu", U32),) if asked.source.rmat is not None else ()
    return ("kernels/text/pairs.cu", {"ID": "u32"}), ("kernels/ids/bitmap.cu", {"ID": "u32", **U32})


def _symmetrize(asked: Any) -> tuple[Kernel, ...]:
    return (("kernels/csr/build.cu", U32),)


def _traverse(asked: Any) -> tuple[Kernel, ...]:
    if asked.backend == "cpu":
        return ()
    if asked.algorithm != "bfs" or asked.strategy not in ("auto", "direction_optimizing"):
        return ()
    # With predecessors a label is a key of 64 bits, 32 of them the predecessor's.
    tree = {"TREE": "0" if asked.output == "distance" else "32"}
    search = "kernels/bfs/direction_optimizing.cu"
    # The graph decides: large ones with hubs have far rows, small ones have none.
    far, none = ((search, {**U32, **tree, "DEFER_ROWS": each}) for each in ("1", "0"))
    shape = (("kernels/bfs/shape.cu", U32),) if asked.strategy == "auto" else ()
    return (far, *shape, ("kernels/bfs/far_rows.cu", U32), none)


def _verify(asked: Any) -> tuple[Kernel, ...]:
    if getattr(asked, "on", None) == "cpu":
        return ()
    return ("kernels/verify/cuda/rows.cu", {**U32, "LABEL": "u8"}), ("kernels/verify/cuda/vertices.cu", {})
