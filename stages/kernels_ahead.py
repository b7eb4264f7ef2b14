"""The CUDA kernels that a stage nearly always loads, for whoever compiles them before it runs.

NVRTC takes 0.1 to 4 s for a file, and works at several at a time. What is not here is compiled when it is
loaded. Vertices are taken to be 32 bits wide, as those of all graphs below 2^32 vertices are. What CuPy
compiles of its own is in `gravel.stages.operations_ahead`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gravel.stages.stage import Parameters

Kernel = tuple[str, "Mapping[str, str]"]

U32 = {"VERTEX": "u32"}

SLOW = ("kernels/bfs/rows/search.cu", "kernels/bfs/direction_optimizing.cu")
"""What takes longest: the first was measured at 4 s on a machine with one H100, others take 1 s or less."""

LAYOUTS = ("csr", "varint", "blocks", "elias_fano")

RCM = ("kernels/order/rcm_ends.cu", "kernels/order/rcm.cu", "kernels/order/rcm_wide.cu")

FINDING: Mapping[str, tuple[str, ...]] = {"rcm": RCM, "rcm_by_degree": RCM}
"""Files of orders that `reorder` finds on a GPU with more than what applies them all."""


@dataclass(frozen=True)
class Made:
    """A stage with its parameters, and what makes the first artifact of each of its inputs."""

    stage: str
    parameters: Parameters
    inputs: Mapping[str, Made] = field(default_factory=dict)

    def lineage(self) -> Iterator[Made]:
        """Yield what a graph was made by, from here to its edges."""
        yield self
        if "input" in self.inputs:
            yield from self.inputs["input"].lineage()


def kernels_ahead(made: Made) -> tuple[Kernel, ...]:
    """Return kernel files and their macros, in the order in which a stage loads them."""
    find = {
        "ingest": _ingest,
        "symmetrize": _symmetrize,
        "reorder": _reorder,
        "partition": _partition,
        "compress": _compress,
        "traverse": _traverse,
        "verify": _verify,
    }.get(made.stage)
    return () if find is None else find(made, made.parameters)


def layout_of(graph: Made | None) -> str | None:
    """Tell the layout of a graph's rows; None where the stage finds it out."""
    if graph is None or graph.stage != "compress":
        return "csr"
    codec = getattr(graph.parameters, "codec", None)
    return codec if codec in LAYOUTS else None


def _ingest(made: Made, asked: Any) -> tuple[Kernel, ...]:
    if asked.source is not None:
        return (("kernels/generate/rmat.cu", U32),) if asked.source.rmat is not None else ()
    return ("kernels/text/pairs.cu", {"ID": "u32"}), ("kernels/ids/bitmap.cu", {"ID": "u32", **U32})


def _symmetrize(made: Made, asked: Any) -> tuple[Kernel, ...]:
    return (("kernels/csr/build.cu", U32),)


def _reorder(made: Made, asked: Any) -> tuple[Kernel, ...]:
    if asked.method == "original":
        return ()
    components = ("kernels/components/afforest.cu",) if asked.method == "rcm" else ()
    finding = FINDING.get(asked.method, ())
    applying = "kernels/order/renumber.cu", "kernels/order/locality.cu"
    return tuple((path, U32) for path in (*finding, *components, *applying))


def _partition(made: Made, asked: Any) -> tuple[Kernel, ...]:
    split = ("kernels/partition/split.cu", U32)
    if asked.scheme == "striped":
        return (split,)
    return ("kernels/partition/distributor/distributor.cu", U32), split


def _compress(made: Made, asked: Any) -> tuple[Kernel, ...]:
    writes = {
        "varint": "kernels/varint/varint.cu",
        "blocks": "kernels/layouts/blocks.cu",
        "elias_fano": "kernels/layouts/elias_fano.cu",
    }
    return ((writes[asked.codec], U32),) if asked.codec in writes else ()


def _traverse(made: Made, asked: Any) -> tuple[Kernel, ...]:
    if asked.backend == "cpu":
        return ()
    if asked.algorithm != "bfs" or asked.strategy not in ("auto", "direction_optimizing"):
        return ()
    graph = made.inputs.get("input")
    lineage = {each.stage for each in graph.lineage()} if graph is not None else set()
    layout = layout_of(graph)
    if layout is None or "partition" in lineage:
        return ()
    # With predecessors a label is a key of 64 bits, 32 of them the predecessor's.
    tree = {"TREE": "0" if asked.output == "distance" else "32"}
    searching = _plain_rows(asked, tree) if layout == "csr" else _encoded_rows(layout, tree)
    relabelling = (("kernels/relabel.cu", {**U32, "TREE": "i32"}),) if "reorder" in lineage else ()
    return (*searching, *relabelling, ("kernels/cuda/wake.cu", {}), ("kernels/level_statistics.cu", U32))


def _plain_rows(asked: Any, tree: Mapping[str, str]) -> tuple[Kernel, ...]:
    search = "kernels/bfs/direction_optimizing.cu"
    # The graph decides: large ones with hubs have far rows, small ones have none.
    far, none = ((search, {**U32, **tree, "FAR_ROWS": each}) for each in ("1", "0"))
    shape = (("kernels/bfs/shape.cu", U32),) if asked.strategy == "auto" else ()
    return (far, *shape, ("kernels/bfs/far_rows.cu", U32), none)


def _encoded_rows(layout: str, tree: Mapping[str, str]) -> tuple[Kernel, ...]:
    search = ("kernels/bfs/rows/search.cu", {"LAYOUT": layout, **U32, **tree, "ONE_LANE": "0"})
    # Lengths of rows are counted in their bytes, and long ones are cut.
    if layout == "varint":
        return search, ("kernels/layouts/checkpoints.cu", U32), ("kernels/varint/varint.cu", U32)
    return search, ("kernels/layouts/read.cu", {"LAYOUT": layout, **U32})


def _verify(made: Made, asked: Any) -> tuple[Kernel, ...]:
    if getattr(asked, "on", None) == "cpu":
        return ()
    return ("kernels/verify/cuda/rows.cu", {**U32, "LABEL": "u8"}), ("kernels/verify/cuda/vertices.cu", {})
