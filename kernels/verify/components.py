"""Connected components: both ends of each arc agree, and each label is its component's smallest vertex."""

from __future__ import annotations

from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.jit import serial
from gravel.kernels.row_blocks import row_blocks, run_blocks
from gravel.kernels.verify import buffers
from gravel.kernels.verify.forest import plant, point_at_roots, unite
from gravel.kernels.verify.given import refuse_labels
from gravel.kernels.verify.result import NAMED, Check
from gravel.kernels.verify.rules import COMPONENTS


@serial
def _disagree(first, last, row_offsets, columns, labels, found):  # type: ignore[no-untyped-def]
    """Count rows with a disagreeing neighbour, and store the first of them with that neighbour."""
    count = 0
    for v in range(first, last):
        for arc in range(row_offsets[v], row_offsets[v + 1]):
            w = numpy.int64(columns[arc])
            if labels[w] != labels[v]:
                if count < len(found):
                    found[count, 0] = v
                    found[count, 1] = w
                count += 1
                break
    return count


@serial
def _join(row_offsets, columns, parents, symmetric):  # type: ignore[no-untyped-def]
    """Union the ends of all arcs, each tree under its smallest vertex, then flatten."""
    for v in range(len(parents)):
        for arc in range(row_offsets[v], row_offsets[v + 1]):
            w = numpy.int64(columns[arc])
            if symmetric and w > v:
                break
            unite(parents, v, w)
    point_at_roots(parents)


def check_components(
    row_offsets: NDArray[Any],
    column_indices: NDArray[Any],
    component: NDArray[Any],
    *,
    symmetric: bool = False,
) -> list[Check]:
    """Check component labels; arcs count in both directions.

    The last rule is proven by a union-find that no search uses, on one thread: arcs that agree show that
    no component is split, only a count of what is really connected shows that none are merged.

    Parameters
    ----------
    row_offsets, column_indices : the graph, int64 and uint32 or uint64.
    component : labels, any integer (vertices,).
    symmetric : rows ascend and every arc has its reverse, so half of the arcs suffice.

    Raises ValueError for labels of another number of vertices.

    """
    (ranges, *rest), parents = _joined(row_offsets, column_indices, component, symmetric)
    if parents is None:
        return [ranges]
    blocks = row_blocks(row_offsets)
    named = numpy.empty((len(blocks), NAMED, 2), numpy.int64)
    number = {block: place for place, block in enumerate(blocks)}
    counts = run_blocks(
        lambda a, b: _disagree(a, b, row_offsets, column_indices, component, named[number[a, b]]), blocks
    )
    pairs = [
        (int(v), int(w))
        for place, count in enumerate(counts)
        for v, w in named[place, : min(count, NAMED)].tolist()
    ][:NAMED]
    vertices = tuple(v for v, _ in pairs)
    agree = Check("edges_agree", COMPONENTS["edges_agree"], sum(counts), vertices, tuple(pairs))
    return [ranges, agree, *rest, Check.of(COMPONENTS, "connected", numpy.flatnonzero(parents != component))]


def check_parts(
    row_offsets: NDArray[Any],
    column_indices: NDArray[Any],
    component: NDArray[Any],
    *,
    symmetric: bool = False,
) -> tuple[list[Check], float]:
    """Check labels of a traversal that may have left components in parts: no two components are merged.

    Parameters as for `check_components`. Returns the checks, and the share of vertices that have the label of
    their whole component. Raises ValueError for labels of another number of vertices.
    """
    checks, parents = _joined(row_offsets, column_indices, component, symmetric)
    if parents is None:
        return checks, 0.0
    checks.append(Check.of(COMPONENTS, "not_merged", numpy.flatnonzero(parents[component] != parents)))
    n = len(component)
    return checks, float(numpy.count_nonzero(parents == component)) / n if n else 1.0


def _joined(
    row_offsets: NDArray[Any], column_indices: NDArray[Any], component: NDArray[Any], symmetric: bool
) -> tuple[list[Check], NDArray[Any] | None]:
    """Check that labels are vertices and label themselves; then label the components independently."""
    n = len(row_offsets) - 1
    refuse_labels((n,), component=component)
    strange = numpy.flatnonzero((component < 0) | (component >= n))
    if len(strange):
        return [Check.of(COMPONENTS, "ranges", strange)], None
    parents = buffers.components(n, column_indices.dtype.str[1:])[0].make(numpy)
    plant(parents)
    odd = numpy.flatnonzero((component > parents) | (component[component] != component))
    _join(row_offsets, column_indices, parents, symmetric)
    return [Check.of(COMPONENTS, "ranges", strange), Check.of(COMPONENTS, "smallest", odd)], parents
