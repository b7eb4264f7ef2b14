"""Edges in GPU memory, whose ids are numbered there."""

from __future__ import annotations

from typing import Any

from gravel.conversion.converted import Edges
from gravel.conversion.ids import Integers

SPARSE = 64
"""Bits per end of an edge up to which a bitmap is used, and not a table."""


def from_device(source: Any, target: Any) -> Edges:
    """Number the ids of CuPy arrays, ascending; raises TypeError for other types than integers.

    The ids themselves are copied to the host where they are not consecutive.
    """
    import numpy

    from gravel.kernels.arrays import backend_of, index_dtype
    from gravel.kernels.ids.cuda import BITS, Bitmap, Table, shifted

    for name, each in (("sources", source), ("targets", target)):
        if backend_of(each) != "cuda":
            raise ValueError(f"the {name} are not on the GPU, and the others are: bring both to one side")
        if each.dtype.kind not in "iu":
            raise TypeError(f"the {name} are {each.dtype}; vertex ids on a GPU are integers")
        if each.ndim != 1:
            raise ValueError(f"the {name} are an array of {each.ndim} dimensions; 1 is expected")
    if not len(source):
        return Edges(source.astype(numpy.uint32), target.astype(numpy.uint32), Integers(0))
    low = int(min(source.min(), target.min()))
    high = int(max(source.max(), target.max()))
    if low < 0:
        raise ValueError(f"vertex id {low} is negative; on a GPU ids are 0 to 2^63 - 1")
    # The kernels write over what they are given.
    ends = [_unsigned_copy(each, high) for each in (source, target)]
    span = high - low + 1
    found: Any = Bitmap(low, high) if span <= min(BITS, SPARSE * len(source)) else Table()
    for each in ends:
        found.add(each)
    found.finish()
    dtype = numpy.dtype(index_dtype(found.count))
    if found.count == span:
        first, second = (shifted(each, low, dtype) for each in ends)
        return Edges(first, second, Integers(span, low))
    ranks = [found.ranks(each, dtype) for each in ends]
    return Edges(ranks[0], ranks[1], Integers(found.count, values=found.ids().get()))


def _unsigned_copy(each: Any, high: int) -> Any:
    import numpy

    return each.astype(numpy.uint32 if high < 1 << 32 else numpy.uint64)
