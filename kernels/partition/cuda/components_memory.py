"""One rank's arrays on a device for `components.cu`."""

from __future__ import annotations

from typing import Any

from gravel.kernels.buffers import make
from gravel.kernels.partition.buffers import components
from gravel.kernels.partition.cuda.table import Slab, Table
from gravel.kernels.partition.layout import SUBGRAPHS, RankPart

FIELDS = (
    "values",
    "counts",
    "hook_at",
    "hook_to",
    "rank",
    *(f"{name}_offsets" for name in SUBGRAPHS),
    *(f"{name}_columns" for name in SUBGRAPHS),
    "parents",
    "labels",
    "before",
    "local",
)
"""The kernel's `Part`, field by field, 8 bytes each."""

MAX_NODES = (1 << 32) - 1
"""Delegates and own vertices of a rank, whose numbers take 32 bits."""


class ComponentsMemory(Table):
    """A rank on the current device; everything is allocated here.

    Parameters
    ----------
    offset_dtype : of all subgraphs' row offsets, numpy.uint32 or numpy.uint64.
    symmetric : whether every arc has its reverse; without it every nn arc may list a hook, two vertices.

    Raises ValueError for more vertices and delegates than the kernel numbers.

    """

    fields = FIELDS

    def __init__(
        self,
        whole: RankPart,
        *,
        offset_dtype: Any,
        symmetric: bool,
    ) -> None:
        import cupy

        part, delegates = whole.graph, whole.delegates
        self.rank, self.local = part.rank, whole.local
        self.delegate_count = len(delegates)
        nodes = self.local + self.delegate_count
        if nodes >= MAX_NODES:
            raise ValueError(
                f"rank {part.rank} has {self.local} vertices and {self.delegate_count} delegates; at most "
                f"{MAX_NODES} fit"
            )
        arrays: dict[str, Any] = {}
        for name in SUBGRAPHS:
            offsets, columns = part.subgraph(name)
            arrays[f"{name}_offsets"] = cupy.asarray(offsets).astype(offset_dtype, copy=False)
            arrays[f"{name}_columns"] = cupy.asarray(columns)
        hooks = nodes + (0 if symmetric else len(part.nn.column_indices))
        table = components(nodes, hooks, f"u{delegates.dtype.itemsize}")
        self.slab = Slab(table[:4])
        self.arrays = arrays | self.slab.arrays | make(table[4:], cupy)
        self.numbers = {"rank": part.rank, "local": self.local}

    def component(self) -> Any:
        """Give the labels of the rank's own vertices, on the device."""
        return self.arrays["values"][self.delegate_count :]
