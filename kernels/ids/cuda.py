"""Sets of ids on the GPU and ranks in them: a bitmap where ids are near each other, else a sorted table.

Ids are uint32 or uint64 arrays on the device, below 2^63. The kernels are `bitmap.cu`.
"""

from __future__ import annotations

from typing import Any

import numpy

from gravel.kernels.cuda import blocks_for, load, vertex_macro

SOURCE = "kernels/ids/bitmap.cu"
GROUP_BITS = 256  # ids that share one count, as in bitmap.cu
BITS = (1 << 32) - GROUP_BITS
"""Ids that a bitmap covers at most: ranks in it are counted in 32 bits."""

MOST_BLOCKS = 1 << 14
BLOCK = 256


def bitmap_bytes(span: int) -> int:
    """Bytes of a bitmap over so many ids, its counts included, while they are summed."""
    return span // 8 + 3 * 4 * (span // GROUP_BITS + 1)


def _vertices(ids: Any, dtype: Any) -> Any:
    """Return where the vertices of these ids go: over them, where they take as many bytes."""
    import cupy

    return ids if ids.dtype == dtype else cupy.empty(len(ids), dtype)


def shifted(ids: Any, first: int, dtype: Any) -> Any:
    """Return `ids - first` as vertices of uint32 or uint64; `ids` is used up."""
    out = _vertices(ids, dtype)
    if len(ids):
        _launch("shift_ids", len(ids), ids.dtype, dtype, (ids, len(ids), first, out))
    return out


class Bitmap:
    """The ids `least` to `most`, each of them in it or not."""

    def __init__(self, least: int, most: int) -> None:
        import cupy

        self._base = least // 32 * 32
        self._groups = (most - self._base) // GROUP_BITS + 1
        self._words = cupy.zeros(self._groups * (GROUP_BITS // 32), numpy.uint32)
        self._before: Any = None
        self.count = 0

    def add(self, ids: Any) -> None:
        """Add ids in any order."""
        if len(ids):
            _launch("mark_ids", len(ids), ids.dtype, "uint32", (ids, len(ids), self._base, self._words))

    def finish(self) -> None:
        """Count the ids; none may be added after this."""
        import cupy

        counts = cupy.empty(self._groups, numpy.uint32)
        _launch("count_groups", self._groups, "uint32", "uint32", (self._words, self._groups, counts))
        self._before = cupy.zeros(self._groups + 1, numpy.uint32)
        cupy.cumsum(counts, dtype=numpy.uint32, out=self._before[1:])
        self.count = int(self._before[-1:].get()[0])

    def ranks(self, ids: Any, dtype: Any) -> Any:
        """Return how many ids of the set are smaller than each of these, which are in it and are used up."""
        out = _vertices(ids, dtype)
        if len(ids):
            arguments = ids, len(ids), self._base, self._words, self._before, out
            _launch("rank_ids", len(ids), ids.dtype, dtype, arguments)
        return out

    def ids(self) -> Any:
        """Return all ids, ascending, int64."""
        import cupy

        out = cupy.empty(self.count, numpy.int64)
        arguments = self._words, self._groups, self._before, self._base, out
        _launch("list_ids", self._groups, "uint32", "uint32", arguments)
        return out


class Table:
    """Any ids, sorted; `add` costs a sort, and memory for all distinct ids twice over."""

    def __init__(self) -> None:
        self._parts: list[Any] = []
        self._merged = 0
        self._held = 0
        self.count = 0

    def add(self, ids: Any) -> None:
        """Add ids in any order."""
        import cupy

        part = cupy.unique(ids).astype(numpy.int64)
        self._parts.append(part)
        self._held += len(part)
        if self._held > 2 * self._merged + (1 << 20):
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
        self._merged = self._held = sum(map(len, self._parts))

    def ranks(self, ids: Any, dtype: Any) -> Any:
        """Return how many ids of the set are smaller than each of these, which are in it."""
        import cupy

        return cupy.searchsorted(self.ids(), ids.astype(numpy.int64)).astype(dtype)

    def ids(self) -> Any:
        """Return all ids, ascending, int64."""
        import cupy

        return self._parts[0] if self._parts else cupy.empty(0, numpy.int64)


def _launch(name: str, items: int, ids: Any, dtype: Any, arguments: tuple[Any, ...]) -> None:
    macros = {"ID": vertex_macro(numpy.dtype(ids)), "VERTEX": vertex_macro(numpy.dtype(dtype))}
    kernel = load(SOURCE, **macros).get_function(name)
    given = tuple(numpy.uint64(each) if isinstance(each, int) else each for each in arguments)
    kernel((blocks_for(items, BLOCK, most=MOST_BLOCKS),), (BLOCK,), given)
