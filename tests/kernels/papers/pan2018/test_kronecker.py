"""Divisions of Kronecker graphs of any size follow the generator's own distribution."""

from __future__ import annotations

import numpy
import pytest

from gravel.kernels.papers.pan2018.kronecker import kronecker_divisions
from gravel.kernels.partition import take_census
from tests.kernels.cuda_case import rmat


def test_divisions_of_kronecker_graphs_follow_the_generator() -> None:
    scale = 16
    graph = rmat(scale, edge_factor=16)
    tails = numpy.concatenate((graph.source, graph.target))
    order = numpy.argsort(tails, kind="stable")
    offsets = numpy.zeros(graph.vertex_count + 1, numpy.int64)
    numpy.cumsum(numpy.bincount(tails, minlength=graph.vertex_count), out=offsets[1:])
    # Duplicates and loops are in.
    census = take_census(offsets, numpy.concatenate((graph.target, graph.source))[order])
    for told in kronecker_divisions(scale):
        counted = census.at(told.threshold)
        assert told.arcs == pytest.approx(32 << scale, rel=1e-6)
        assert told.delegates == pytest.approx(counted.delegates, rel=0.05, abs=30)
        for name in ("nn", "mixed", "dd"):
            assert getattr(told, name) == pytest.approx(getattr(counted, name), abs=0.01 * told.arcs)


def test_larger_kronecker_graphs_are_more_skewed() -> None:
    """So the shares of a small one are not those of a large one, at any threshold with as many delegates."""
    shares = []
    for scale in (16, 26, 33):
        few = [each for each in kronecker_divisions(scale) if each.delegates <= 0.018 * 2**scale]
        shares.append(min(each.nn / each.arcs for each in few))
    assert shares[0] > 2 * shares[1] > 2 * shares[2]
    # The paper: 1.75 % of the vertices are delegates at scale 33.
    scale_33 = {each.threshold: each.delegates / 2**33 for each in kronecker_divisions(33)}
    assert scale_33[181] == pytest.approx(0.0175, abs=0.0005)
