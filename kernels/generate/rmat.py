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

from gravel.kernels.generate.counter import STEP, draw, mix
from gravel.kernels.generate.sizes import size
from gravel.kernels.index import index_dtype
from gravel.kernels.jit import serial
from gravel.kernels.row_blocks import even_blocks, run_blocks

EDGE_STREAM = 1
LABEL_STREAM = 2
ROUNDS = 4  # of the label bijection: each moves half of the bits, so two rounds mix, and two more to be sure

_ZERO = numpy.uint64(0)
_ONE = numpy.uint64(1)
_HALF = numpy.uint64(32)
_LOW = numpy.uint64(0xFFFFFFFF)
_STEP = numpy.uint64(STEP)


def rmat(
    scale: int,
    edge_factor: int,
    seed: int,
    a: float = 0.57,
    b: float = 0.19,
    c: float = 0.19,
    *,
    first: int = 0,
    count: int | None = None,
    scramble: bool = True,
    backend: str = "cpu",
) -> tuple[Any, Any]:
    """Make edges `first` to `first + count` (all by default) of an RMAT graph.

    Parameters
    ----------
    scale : 2^scale vertices, 0 to 48.
    edge_factor : edges per vertex.
    seed : 0 or more.
    a, b, c : chances of the quadrants (0,0), (0,1), (1,0); the rest is (1,1)'s.
    scramble : relabel the vertices; without it, vertex 0 tends to have the highest degree.
    backend : "cpu" (NumPy arrays) or "cuda" (CuPy arrays).

    Returns source and target (count,), uint32 below 2^32 vertices, else uint64. Raises ValueError for
    parameters that cannot be.

    """
    total = size("rmat", scale=scale, edge_factor=edge_factor, seed=seed, a=a, b=b, c=c).edges
    count = total - first if count is None else count
    if first < 0 or count < 0 or first + count > total:
        raise ValueError(f"edges {first} to {first + count} were asked for; there are {total}")
    constants = edge_constants(scale, seed, a, b, c, scramble)
    if backend == "cuda":
        from gravel.kernels.generate.rmat_cuda import make_edges

        edges: tuple[Any, Any] = make_edges(scale, first, count, constants)
        return edges
    dtype = index_dtype(1 << scale)
    source, target = numpy.empty(count, dtype), numpy.empty(count, dtype)

    def make(low: int, high: int) -> None:
        _edges(source[low:high], target[low:high], numpy.uint64(first + low), scale, constants)

    run_blocks(make, even_blocks(count))
    return source, target


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


def label(vertex: int, scale: int, constants: NDArray[Any]) -> int:
    """Relabel one vertex as the kernels do: a bijection on 0..2^scale-1."""
    return int(relabelled(numpy.uint64(vertex), scale, constants))


@serial
def relabelled(vertex: numpy.uint64, scale: int, constants: NDArray[Any]) -> numpy.uint64:
    """`label` inside kernels."""
    mask = (_ONE << numpy.uint64(scale)) - _ONE
    shift = numpy.uint64(max(1, (scale + 1) // 2))
    for index in range(constants[4]):
        vertex = (vertex * constants[5 + 2 * index] + constants[6 + 2 * index]) & mask
        vertex ^= vertex >> shift
    return vertex


@serial
def _edges(
    source: NDArray[Any], target: NDArray[Any], first: numpy.uint64, scale: int, constants: NDArray[Any]
) -> None:
    start, a, ab, abc = constants[0], constants[1], constants[2], constants[3]
    draws = numpy.uint64((scale + 1) // 2)
    for i in range(len(source)):
        counter = start + (first + numpy.uint64(i)) * draws * _STEP
        row, column, bits = _ZERO, _ZERO, _ZERO
        for level in range(scale):
            if level & 1:
                bits >>= _HALF
            else:
                bits = mix(counter)
                counter += _STEP
            chance = bits & _LOW
            down = numpy.uint64(chance >= ab)
            right = numpy.uint64(chance >= a) ^ down ^ numpy.uint64(chance >= abc)
            row = (row << _ONE) | down
            column = (column << _ONE) | right
        source[i] = relabelled(row, scale, constants)
        target[i] = relabelled(column, scale, constants)
