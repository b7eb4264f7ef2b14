"""Labels of a renumbered graph, brought back on the GPU; the kernels are `relabel.cu`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gravel.kernels.buffers import Table, make, table, vertex_type
from gravel.kernels.cuda import blocks_for, event_milliseconds, load, vertex_macro

if TYPE_CHECKING:
    import numpy

SOURCE = "kernels/relabel.cu"
MAX_BLOCKS = 1 << 16


def back_table(vertices: int, tree: str, *, distance: bool, predecessor: bool, item: int = 0) -> Table:
    """Arrays of `LabelsBack`; `item` are bytes of a vertex, 0 for those that so many vertices need."""
    vertex = f"u{item}" if item else vertex_type(vertices)
    order = table(permutation=(vertex, vertices), inverse=(vertex, vertices * predecessor))
    hops = table(distance=("i4", vertices)) if distance else ()
    return order + hops + (table(predecessor=(tree, vertices)) if predecessor else ())


class LabelsBack:
    """The permutation and its inverse on the device, and arrays for the labels of one search at a time.

    Parameters
    ----------
    permutation : (vertices,) vertex index, NumPy or CuPy, `permutation[old] = new`.
    distance, predecessor : which labels are brought back.
    tree : dtype of predecessors, int32 or int64.
    block : threads of a block.

    """

    def __init__(
        self, permutation: Any, *, distance: bool, predecessor: bool, tree: Any, block: int = 256
    ) -> None:
        import cupy
        import numpy

        self._permutation = cupy.asarray(permutation)
        vertices = len(self._permutation)
        self._tree = numpy.dtype(tree)
        names = {"int32": "i32", "int64": "i64"}
        module = load(SOURCE, VERTEX=vertex_macro(self._permutation.dtype), TREE=names[self._tree.name])
        self._kernel = module.get_function("labels_back")
        self._launch = (blocks_for(vertices, block, most=MAX_BLOCKS),), (block,)
        self._vertices = numpy.uint64(vertices)
        _, inverse, *self._labels = back_table(
            vertices,
            f"i{self._tree.itemsize}",
            distance=distance,
            predecessor=predecessor,
            item=self._permutation.dtype.itemsize,
        )
        self._inverse = inverse.make(cupy)
        if predecessor:
            arguments = self._permutation, self._vertices, self._inverse
            module.get_function("invert")(*self._launch, arguments)
        self._allocate()

    def _allocate(self) -> None:
        import cupy

        made = make(self._labels, cupy)
        self._distance, self._predecessor = made.get("distance"), made.get("predecessor")
        self._is_mine = True

    def hand_over(self) -> None:
        """Leave the latest labels to whoever has them: the next call makes arrays of its own."""
        self._is_mine = False
        self._distance = self._predecessor = None

    def run(self, distance: Any | None, predecessor: Any | None) -> tuple[Any | None, Any | None, float]:
        """Return both labels under the old numbers, valid until the next call, and the milliseconds taken.

        `distance` and `predecessor` are device arrays (vertices,) of any stride, None where left out.
        """
        import numpy

        if not self._is_mine:
            self._allocate()
        arguments = (
            self._permutation,
            self._inverse,
            self._vertices,
            *_strided(distance, numpy.int32),
            *_strided(predecessor, self._tree),
            *(numpy.uint64(0) if each is None else each for each in (self._distance, self._predecessor)),
        )
        milliseconds = event_milliseconds(lambda: self._kernel(*self._launch, arguments))
        return self._distance, self._predecessor, milliseconds


def _strided(labels: Any | None, dtype: Any) -> tuple[numpy.uint64, numpy.int64]:
    """Address and stride, in elements, of labels."""
    import numpy

    if labels is None:
        return numpy.uint64(0), numpy.int64(0)
    if labels.dtype != dtype:
        raise ValueError(f"labels are {numpy.dtype(dtype)}; found {labels.dtype}")
    return numpy.uint64(labels.data.ptr), numpy.int64(labels.strides[0] // labels.itemsize)


def row_offsets_back(permutation: Any, row_offsets: Any) -> Any:
    """Make the row offsets under the old numbers from those under the new ones; arrays are CuPy's.

    See `gravel.kernels.relabel.row_offsets_back`.
    """
    import cupy

    found = cupy.zeros(len(row_offsets), cupy.int64)
    cupy.cumsum(cupy.diff(row_offsets)[permutation], out=found[1:])
    return found
