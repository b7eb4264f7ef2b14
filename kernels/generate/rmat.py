"""Graph500's Kronecker edges (RMAT), each from its number alone, bit for bit the same on CPU and GPU.

The recursion is Chakrabarti, Zhan, Faloutsos, R-MAT, SDM 2004, section 3.1, with Graph500's defaults: per
level one of four quadrants with the chances a, b, c, d. The chances are integer thresholds on 32 random
bits, so nothing rounds. Two levels share one 64-bit draw, whose counter is the edge's number times the
draws per edge. Graph500 permutes the labels with a table; here a bijection on `scale` bits does it, so
that any worker makes any part.
"""

from __future__ import annotations

from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.generate.counter import draw
from gravel.kernels.generate.shapes import RMAT

EDGE_STREAM = 1
LABEL_STREAM = 2
ROUNDS = 4  # of the label bijection: each moves half of the bits, so two rounds mix, and two more to be sure


def rmat(shape: RMAT, first: int, count: int, *, backend: str = "cpu") -> tuple[Any, Any]:
    """Make edges `first` to `first + count` with NumPy, or with CuPy for the backend "cuda"."""
    scale = shape.scale
    constants = edge_constants(scale, shape.seed, shape.a, shape.b, shape.c, shape.scramble)
    if backend == "cuda":
        from gravel.kernels.generate import on_device

        file = "kernels/generate/rmat.cu"
        return on_device.make_edges(file, "rmat_edges", 1 << scale, first, count, scale, constants)
    from gravel.kernels.generate import on_threads
    from gravel.kernels.generate.rmat_cpu import rmat_edges

    return on_threads.make_edges(rmat_edges, 1 << scale, first, count, scale, constants)


def edge_constants(scale: int, seed: int, a: float, b: float, c: float, scramble: bool) -> NDArray[Any]:
    """Everything the kernels need beside the edge's number: uint64 (5 + 2 * ROUNDS,).

    The start of the counter; the thresholds a, a+b, a+b+c in units of 2^-32; the rounds of the bijection;
    a factor (odd) and a summand for each round.
    """
    thresholds = [min(round(chance * (1 << 32)), 1 << 32) for chance in (a, a + b, a + b + c)]
    numbers = [draw(seed, EDGE_STREAM), *thresholds, ROUNDS if scramble else 0]
    for index in range(ROUNDS):
        numbers += [draw(seed, LABEL_STREAM, 2 * index) | 1, draw(seed, LABEL_STREAM, 2 * index + 1)]
    return numpy.array(numbers, numpy.uint64)
