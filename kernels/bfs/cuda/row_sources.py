"""What a search by `direction_optimizing.cuh` asks of rows: one class for columns, one for encoded rows.

Each has the kernel's file and the arguments by which it reads rows, measures them, and fills in the first
neighbours of every vertex, which bottom-up levels look at before any row.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gravel.kernels.bfs.buffers import CHUNK, IN_PLANE
from gravel.kernels.bfs.cuda.by_degree import choose_by_degree, degree_classes
from gravel.kernels.bfs.cuda.deferred_rows import find_deferred_rows
from gravel.kernels.bfs.cuda.kernel_rows import DecodedRows, Measured
from gravel.kernels.cuda import load, run_over, vertex_macro

if TYPE_CHECKING:
    from gravel.kernels.layouts import EncodedRows

UNEVEN = 1024  # arcs by which a block of the team may be behind the others


class ColumnSource:
    """Columns; `notes` says how long rows are read, where that is found out."""

    SOURCE = "kernels/bfs/cuda/direction_optimizing.cu"
    ENCODED = False  # whether weights are others than arcs, and entries fewer than they weigh

    def __init__(self, rows: EncodedRows, *, tree: int, deferred_rows: bool | None) -> None:
        import cupy

        self._offsets = cupy.ascontiguousarray(rows.arrays["row_offsets"])
        self._columns = cupy.ascontiguousarray(rows.arrays["column_indices"])
        self._vertices, self._arcs, self._tree = rows.vertex_count, rows.arc_count, tree
        self._deferred_rows = deferred_rows
        self.dtype = self._columns.dtype
        self.arguments = self._offsets, self._columns
        self.entry_bytes = 8 + (self.dtype.itemsize if tree else 0)
        self._classes: Any = None
        self.notes: list[str] = []

    def measure(self) -> Measured:
        """Sum up rows."""
        import cupy

        degrees = cupy.diff(self._offsets)
        # The first `count_nonzero` of a process compiles for 12 s; `flatnonzero` takes a fraction of one.
        self._hubs = cupy.flatnonzero(degrees > CHUNK)
        linked = cupy.flatnonzero(degrees)
        last = int(linked[-1]) + 1 if len(linked) else 0
        entries = int((-(-degrees // CHUNK)).sum())
        return Measured(entries, self._arcs, len(self._hubs), last, len(linked))

    def load(self, *, pull: bool, planes: int) -> Any:
        """Load the search's kernel, which defers long rows in bottom-up levels where that is worthwhile."""
        far = self._deferred_rows
        if far is None:
            far = pull and self._has_deferred_rows(planes)
        macros = {"VERTEX": vertex_macro(self.dtype), "TREE": self._tree, "DEFER_ROWS": int(far)}
        self._module = load(self.SOURCE, **macros)
        return self._module.get_function("search")

    def find_degrees(self) -> bool:
        """Have `first_neighbours` take those of high degree; False where the graph has no hubs."""
        self._classes = degree_classes(self._offsets)
        if self._classes is not None:
            self.notes.append("bottom-up levels look first at neighbours of high degree")
        return self._classes is not None

    def _has_deferred_rows(self, planes: int) -> bool:
        """Whether bottom-up levels read long rows far, all of which are hubs; says so in `notes`."""
        found = find_deferred_rows(self._offsets, self._columns, self._hubs, kept=2 + planes * IN_PLANE)
        way = "by whole blocks" if found.far else "as all others"
        self.notes.append(f"bottom-up levels read the longest rows {way}: {found.reason()}")
        return found.far > 0

    def lists(self, block: int) -> int:
        """Bytes in which a block lists decoded neighbours: columns are claimed where they lie."""
        return 0

    def first_neighbours(self, places: int, planes: int, first: Any, behind: Any, closed: Any) -> None:
        """Fill in the first two neighbours of each vertex, and `planes` of them; mark who has none."""
        import numpy

        if self._classes is not None:
            choose_by_degree(*self.arguments, self._classes, first, behind, closed, planes=planes)
            self._classes = None
            return
        sizes = numpy.uint64(self._vertices), numpy.uint64(places), numpy.uint64(planes)
        kernel = self._module.get_function("find_first_neighbours")
        run_over(kernel, places, *self.arguments, *sizes, first, behind, closed, most=512)


class EncodedSource(DecodedRows):
    """Encoded rows."""

    SOURCE = "kernels/bfs/cuda/direction_optimizing_encoded.cu"
    ENCODED = True

    CUT = True  # whether long rows are cut into units

    def __init__(self, rows: EncodedRows, *, tree: int, deferred_rows: bool | None) -> None:
        if deferred_rows is not None:
            raise ValueError(
                f"deferred_rows is {deferred_rows}; it is for columns, and these rows are {rows.layout}"
            )
        super().__init__(rows, cut=self.CUT)
        self._tree = tree
        self.entry_bytes = 8
        self.notes: list[str] = []

    def load(self, *, pull: bool, planes: int) -> Any:
        """Load the search's kernel."""
        return load(self.SOURCE, **self.macros, TREE=self._tree).get_function("search")

    def find_degrees(self) -> bool:
        """Leave first neighbours as they are: their degrees would have to be decoded."""
        return False

    def first_neighbours(self, places: int, planes: int, first: Any, behind: Any, closed: Any) -> None:
        """Fill in the first two neighbours of each vertex, and `planes` of them; mark who has none."""
        self._measure(places, planes, first, behind, closed)
