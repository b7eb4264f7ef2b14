"""Sets of ids on the GPU and ranks in them: a bitmap where ids are near each other, else a sorted table.

Ids are uint32 or uint64 arrays on the device, below 2^63. The kernels are `bitmap.cu`.
"""

from __future__ import annotations

from typing import Any

import numpy

from gravel.kernels.cuda import vertex_macro
from gravel.kernels.cuda.launch import Kernels
from gravel.kernels.ids.buffers import GROUP_BITS, bitmap

SOURCE = "kernels/ids/bitmap.cu"
BITS = (1 << 32) - GROUP_BITS
"""Ids that a bitmap covers at most: ranks in it are counted in 32 bits."""


def _vertices(ids: Any, dtype: Any) -> Any:
    """Return where the vertices of these ids go: over them, where they take as many bytes."""
    import cupy

    return ids if ids.dtype == dtype else cupy.empty(len(ids), dtype)


def shifted(ids: Any, first: int, dtype: Any) -> Any:
    """Return `ids - first` as vertices of uint32 or uint64; `ids` is used up."""
    out = _vertices(ids, dtype)
    _kernels(ids.dtype, dtype).run("shift_ids", len(ids), ids, len(ids), first, out)
    return out


class Bitmap:
    """The ids `least` to `most`, each of them in it or not."""

    def __init__(self, least: int, most: int) -> None:
        import cupy

        self._base = least // 32 * 32
        self._groups = (most - self._base) // GROUP_BITS + 1
        words, *self._of_groups = bitmap(most - self._base)
        self._words = words.make(cupy)
        self._before: Any = None
        self.count = 0

    def add(self, ids: Any) -> None:
        """Add ids in any order."""
        _kernels(ids.dtype).run("mark_ids", len(ids), ids, len(ids), self._base, self._words)

    def finish(self) -> None:
        """Count the ids; none may be added after this."""
        import cupy

        self._before, counts = (each.make(cupy) for each in self._of_groups[:2])
        _kernels().run("count_groups", self._groups, self._words, self._groups, counts)
        cupy.cumsum(counts, dtype=numpy.uint32, out=self._before[1:])
        self.count = int(self._before[-1:].get()[0])

    def ranks(self, ids: Any, dtype: Any) -> Any:
        """Return how many ids of the set are smaller than each of these, which are in it and are used up."""
        out = _vertices(ids, dtype)
        bitmap = self._base, self._words, self._before
        _kernels(ids.dtype, dtype).run("rank_ids", len(ids), ids, len(ids), *bitmap, out)
        return out

    def ids(self) -> Any:
        """Return all ids, ascending, int64."""
        import cupy

        out = cupy.empty(self.count, numpy.int64)
        bitmap = self._words, self._groups, self._before, self._base
        _kernels().run("list_ids", self._groups, *bitmap, out)
        return out


class Table:
    """Any ids, sorted; `add` costs a sort, and memory for all distinct ids twice over."""

    def __init__(self) -> None:
        self._parts: list[Any] = []
        self._merged = 0
        self._count = 0
        self.count = 0

    def add(self, ids: Any) -> None:
        """Add ids in any order."""
        import cupy

        part = cupy.unique(ids).astype(numpy.int64)
        self._parts.append(part)
        self._count += len(part)
        if self._count > 2 * self._merged + (1 << 20):
            self._merge()

    def finish(self) -> None:
        """Sort everything; no id may be added after this."""
        self._merge()
        self.count = self._merged

    def _merge(self) -> None:
        import cupy

        if len(self._parts) > 1:
            parts, self._parts = self._parts, []
            together = cupy.concatenate(parts)
            del parts
            self._parts = [cupy.unique(together)]
        self._merged = self._count = sum(map(len, self._parts))

    def ranks(self, ids: Any, dtype: Any) -> Any:
        """Return how many ids of the set are smaller than each of these, which are in it."""
        import cupy

        return cupy.searchsorted(self.ids(), ids.astype(numpy.int64)).astype(dtype)

    def ids(self) -> Any:
        """Return all ids, ascending, int64."""
        import cupy

        return self._parts[0] if self._parts else cupy.empty(0, numpy.int64)


def _kernels(ids: Any = numpy.uint32, vertices: Any = numpy.uint32) -> Kernels:
    return Kernels(SOURCE, ID=vertex_macro(numpy.dtype(ids)), VERTEX=vertex_macro(numpy.dtype(vertices)))
