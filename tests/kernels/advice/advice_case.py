"""Graphs that advice is tried on."""

from __future__ import annotations

import numpy

from gravel.kernels.advice.sample import Rows
from gravel.kernels.csr import build
from gravel.kernels.generate import generate
from tests.zoo import zoo

ZOO = list(zoo())

ORDERS = ("original", "random", "degree", "rcm")


def kron(scale: int, seed: int = 1) -> Rows:
    source, target = generate("rmat", first=0, count=16 << scale, scale=scale, edge_factor=16, seed=seed)
    made = build(source, target, 1 << scale)
    return Rows(made.row_offsets, made.column_indices)


def lattice(side: int) -> Rows:
    """A grid whose vertices are numbered at random."""
    place = numpy.random.default_rng(5).permutation(side * side).astype(numpy.uint32).reshape(side, side)
    source = numpy.concatenate([place[:-1].ravel(), place[:, :-1].ravel()])
    target = numpy.concatenate([place[1:].ravel(), place[:, 1:].ravel()])
    made = build(source, target, side * side)
    return Rows(made.row_offsets, made.column_indices)


def cliques(count: int, size: int) -> Rows:
    """Cliques numbered one after the other, and each joined to the next."""
    first = numpy.arange(count) * size
    low, high = numpy.triu_indices(size, 1)
    source = numpy.concatenate([(first[:, None] + low).ravel(), first[:-1]]).astype(numpy.uint32)
    target = numpy.concatenate([(first[:, None] + high).ravel(), first[1:]]).astype(numpy.uint32)
    made = build(source, target, count * size)
    return Rows(made.row_offsets, made.column_indices)
