"""The checks of component labels on a GPU, in one pass over the rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy

from gravel.kernels.buffers import make
from gravel.kernels.cuda import vertex_macro
from gravel.kernels.cuda.launch import Kernels
from gravel.kernels.verify.cuda.blocks import RowBlocks
from gravel.kernels.verify.cuda.integers import kind_of
from gravel.kernels.verify.cuda.memory import components, graph_size, plan_components
from gravel.kernels.verify.cuda.offenders import vertex_check
from gravel.kernels.verify.cuda.resources import Resources
from gravel.kernels.verify.cuda.upload import Uploads
from gravel.kernels.verify.given import refuse_labels
from gravel.kernels.verify.result import Check
from gravel.kernels.verify.rules import COMPONENTS

RULES = ("ranges", "smallest", "edges_agree", "connected", "not_merged", "whole")
"""In the order of components.cu; the last counts vertices with the label of their whole component."""


def check_components(
    row_offsets: Any, column_indices: Any, component: Any, resources: Resources, *, symmetric: bool = False
) -> list[Check]:
    """Check component labels as `gravel.kernels.verify.check_components` does.

    Parameters as there, and those of `check_parts`. Raises ValueError for labels of another number of
    vertices, and MemoryError with the numbers where it does not fit.
    """
    checks, _ = _check(row_offsets, column_indices, component, resources, symmetric=symmetric, whole=True)
    return checks


def check_parts(
    row_offsets: Any, column_indices: Any, component: Any, resources: Resources, *, symmetric: bool = False
) -> tuple[list[Check], float]:
    """Check labels that may have left components in parts as `gravel.kernels.verify.check_parts` does.

    Parameters
    ----------
    row_offsets, column_indices, component : NumPy's, CuPy's or stored arrays.
    symmetric : rows ascend and every arc has its reverse, so half of the arcs suffice.
    resources : what this may take.

    """
    return _check(row_offsets, column_indices, component, resources, symmetric=symmetric, whole=False)


def _check(
    row_offsets: Any,
    column_indices: Any,
    component: Any,
    resources: Resources,
    *,
    symmetric: bool,
    whole: bool,
) -> tuple[list[Check], float]:
    import cupy

    n = len(row_offsets) - 1
    refuse_labels((n,), component=component)
    graph, width = graph_size(row_offsets, column_indices), component.dtype.itemsize
    planned = resources.planned(lambda room: plan_components(graph, width, room))
    vertex = vertex_macro(column_indices.dtype)
    kernels = Kernels("kernels/verify/cuda/components.cu", block=resources.block, VERTEX=vertex)
    counts = cupy.zeros(len(RULES), numpy.uint64)
    labels, parents, unlike = make(components(n, width)[:3], cupy).values()
    with Uploads(resources.threads) as uploads:
        given = uploads.brought(component)
        arguments = given, kind_of(component.dtype), n, labels, parents, counts
        kernels.run("take_labels", n, *arguments, None)
        if int(counts[:1].get()[0]):
            bits = cupy.zeros(n, numpy.uint8)
            kernels.run("take_labels", n, *arguments[:-1], cupy.zeros_like(counts), bits)
            return [_named("ranges", counts.get(), bits)], 0.0
        blocks = RowBlocks(row_offsets, column_indices, uploads, arcs=planned.arcs)
        half = numpy.uint32(symmetric), labels, parents, unlike
        for each in blocks.each(kernels):
            rows = each.as_arguments()
            kernels.run("join_rows", 32 * each.rows, *rows, *half)
            pieces = each.pieces, len(each.pieces) // 4
            kernels.run("join_long_rows", 8 * len(each.pieces), *rows[:3], *pieces, *half)
        kernels.run("flatten", n, parents, n)
        known = labels, parents, unlike, n
        kernels.run("check_labels", n, *known, counts, None)
        found = counts.get()
        rules = ("edges_agree", "smallest", "connected") if whole else ("smallest", "not_merged")
        bits = None
        if any(found[RULES.index(rule)] for rule in rules):
            bits = cupy.zeros(n, numpy.uint8)
            kernels.run("check_labels", n, *known, cupy.zeros_like(counts), bits)
        checks = [_named(rule, found, bits) for rule in ("ranges", *rules)]
        if whole and checks[1].faults:
            pairs = tuple((v, _other(blocks, labels, v)) for v in checks[1].vertices)
            checks[1] = replace(checks[1], arcs=pairs)
    return checks, int(found[RULES.index("whole")]) / n if n else 1.0


def _named(rule: str, counts: Any, bits: Any) -> Check:
    place = RULES.index(rule)
    return vertex_check(rule, COMPONENTS[rule], int(counts[place]), bits, place)


def _other(blocks: RowBlocks, labels: Any, vertex: int) -> int:
    """Find the first neighbour of a vertex that has another label."""
    import cupy

    columns = blocks.columns_of(vertex).astype(numpy.int64)
    own = int(labels[vertex : vertex + 1].get()[0])
    there = labels[cupy.asarray(columns)].get()
    return int(columns[numpy.flatnonzero(there != own)[0]])
