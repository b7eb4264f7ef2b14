"""Afforest by tiles on CUDA, in one cooperative launch; see `afforest_tiles.cu`."""

from __future__ import annotations

from typing import Any, Literal

import numpy

from gravel.kernels.buffers import make
from gravel.kernels.components import ComponentsResult, refuse_giant
from gravel.kernels.components.buffers import tiles
from gravel.kernels.cuda import event_milliseconds, load, resident_blocks, vertex_macro

SOURCE = "kernels/components/cuda/afforest_tiles.cu"
MAX_TRACED, ROUNDS = 16, 4  # as in afforest_tiles.cu and tile.cuh
PHASES = ("tiles", "barrier", "roots", "probes", "barrier", "vote", "join", "barrier", "hubs", "labels")
"""What lies between the clocks of a trace; the last one is missing where no tree changed late."""

BLOCKS = (512, 1024)
GIANTS = {"sampled": 1, "first": 2}


def components(
    row_offsets: Any,
    column_indices: Any,
    *,
    symmetric: bool,
    rounds: int = ROUNDS,
    probes: int = 2,
    giant: Literal["sampled", "first"] = "sampled",
    prune: bool = True,
    block: int = 512,
    trace: Any = None,
) -> ComponentsResult:
    """Label every vertex with the smallest of its component; see `gravel.kernels.components.components`.

    Parameters
    ----------
    rounds : neighbours of each vertex that are looked at within its tile where rows are short, 1 to 4.
    probes : arcs of each sampled vertex that are joined before the largest component is sought; 0 for none.
        Sampled are 64 vertices of each block: two arcs of each leave 3 % of Kronecker 20 outside the largest
        component. Twenty times as many leave 1 %, and their threads wait for each other.
    giant : which component is taken for the largest: the most frequent one of a sample, or that of vertex 0.
    prune : whether the largest component's vertices are skipped. Only a symmetric graph's are.
    block : threads of a block, 512 or 1024.
    trace : uint64 (16,) of zeros on the device, to get the processor's clock at the end of each phase.

    """
    import cupy

    if block not in BLOCKS:
        raise ValueError(f"block is {block}; it must be 512 or 1024")
    if not 1 <= rounds <= ROUNDS or probes < 0:
        raise ValueError(
            f"rounds is {rounds} and probes {probes}; they must be 1 to {ROUNDS}, and at least 0"
        )
    refuse_giant(giant)
    vertices, arcs = len(row_offsets) - 1, len(column_indices)
    dtype = column_indices.dtype
    made = make(tiles(f"u{dtype.itemsize}", vertices, arcs), cupy)
    component = made["component"]
    if vertices == 0:
        return ComponentsResult(component, 0.0, "afforest_tiles")
    kernel = load(SOURCE, VERTEX=vertex_macro(dtype), BLOCK=block).get_function("afforest_tiles")
    grid = (resident_blocks(kernel, block),), (block,)
    arguments = (
        cupy.ascontiguousarray(row_offsets),
        cupy.ascontiguousarray(column_indices),
        numpy.uint64(vertices),
        numpy.uint64(symmetric),
        numpy.uint64(rounds),
        numpy.uint64(probes),
        numpy.uint64(GIANTS[giant] if prune else 0),
        *made.values(),
        cupy.zeros(MAX_TRACED, cupy.uint64) if trace is None else trace,
    )
    milliseconds = event_milliseconds(lambda: kernel(*grid, arguments))
    return ComponentsResult(component, milliseconds, "afforest_tiles")
