"""The graph with communities: what was asked of it, measured on graphs that are small but have all levels."""

import itertools
from decimal import Decimal

import numpy
import pytest

from gravel.kernels.csr import build
from gravel.kernels.generate import generate
from gravel.kernels.generate.communities_tables import BINS_PER_OCTAVE, _bins
from gravel.kernels.generate.counter import MASK
from gravel.kernels.order import apply, permutation, statistics
from gravel.kernels.threads import set_threads

SIZES, MIXING = (1 << 8, 1 << 12, 1 << 16), (0.6, 0.25, 0.1, 0.05)
VERTICES, EDGES = 5 * (1 << 16) // 2 + 77, 1_000_000


def made(**parameters):
    given = {"vertices": VERTICES, "edges": EDGES, "seed": 3, "sizes": SIZES, "mixing": MIXING}
    return generate("communities", **{**given, **parameters})


@pytest.fixture(scope="module")
def crawl():
    return made()


def test_no_loops_and_every_vertex_below_the_number(crawl):
    source, target = crawl
    assert not (source == target).any()
    assert max(source.max(), target.max()) < VERTICES


def test_edges_are_mixed_as_asked(crawl):
    source, target = crawl
    within = [float((source // size == target // size).mean()) for size in (*SIZES, 1 << 31)]
    shares = numpy.diff([0.0, *within])
    assert shares == pytest.approx(MIXING, abs=0.01)


@pytest.mark.parametrize("mixing", [(1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 0, 1), (0.25, 0.25, 0.25, 0.25)])
def test_any_mixing(mixing):
    source, target = made(mixing=mixing, edges=200_000)
    within = [float((source // size == target // size).mean()) for size in (*SIZES, 1 << 31)]
    assert numpy.diff([0.0, *within]) == pytest.approx(mixing, abs=0.01)


@pytest.mark.parametrize("exponent", [2.2, 2.5, 3.0])
def test_degrees_follow_the_power_law(exponent):
    """The slope of the share of vertices with at least so many edges, over two decades."""
    source, target = made(exponent=exponent, edges=8 * VERTICES)
    degrees = numpy.bincount(numpy.concatenate([source, target]), minlength=VERTICES)
    least = 40 * 2.0 ** numpy.arange(7)
    share = numpy.array([(degrees >= each).mean() for each in least])
    seen = share * VERTICES >= 5
    assert seen.sum() >= 5
    slope = numpy.polyfit(numpy.log(least[seen]), numpy.log(share[seen]), 1)[0]
    assert 1 - slope == pytest.approx(exponent, abs=0.4)


def test_bins_are_the_power_laws():
    upper, first = _bins(5000, 2.5)
    assert first[-1] == 5000
    assert first[: 2 * BINS_PER_OCTAVE] == list(range(2 * BINS_PER_OCTAVE))
    assert all(a < b for a, b in itertools.pairwise(first))
    assert all(a < b for a, b in itertools.pairwise(upper))
    assert abs(upper[-1] - MASK) <= 1
    exact = numpy.cumsum((numpy.arange(5000) + 1.0) ** (-1 / 1.5))
    found = numpy.array([float(Decimal(each) / MASK) for each in upper])
    assert found == pytest.approx(exact[numpy.array(first[1:]) - 1] / exact[-1], abs=0.01)


def test_targets_come_in_runs():
    """In a bundle of eight edges, as many targets follow their neighbour as the mean length of runs says."""
    for run in (1.0, 2.0, 4.0):
        _, target = made(run=run, mixing=(1, 0, 0, 0), exponent=50.0, sizes=(1 << 16, 1 << 17, 1 << 18))
        steps = numpy.diff(target.astype(numpy.int64).reshape(-1, 8), axis=1)
        assert ((steps == 1) | (steps == 2)).mean() == pytest.approx(1 - 1 / run, abs=0.02)


def test_sources_ascend_by_community(crawl):
    community = crawl[0] // SIZES[0]
    assert (numpy.diff(community.astype(numpy.int64)) >= 0).all()


def test_shuffling_only_relabels(crawl):
    shuffled = made(numbering="random")
    for one, other in ((crawl, shuffled), (shuffled, crawl)):
        pairs = set(zip(one[0].tolist(), other[0].tolist(), strict=True))
        assert len(pairs) == len({a for a, _ in pairs})
    assert abs(numpy.corrcoef(crawl[0], shuffled[0])[0, 1]) < 0.02


def test_the_seed_and_the_threads():
    one = made(edges=300_000)
    set_threads(1)
    same = made(edges=300_000)
    set_threads(2)
    assert all(numpy.array_equal(a, b) for a, b in zip(one, same, strict=True))
    other = made(edges=300_000, seed=4)
    assert (one[1] == other[1]).mean() < 0.05


def test_a_part_of_a_graph_like_friendster():
    """Edges of 1.8 billion are made alone, far into the graph."""
    size = {"vertices": 65_000_000, "edges": 1_800_000_000, "seed": 1}
    source, target = generate("communities", **size, first=1_700_000_001, count=9999)
    again, _ = generate("communities", **size, first=1_700_000_002, count=9998)
    assert numpy.array_equal(source[1:], again)
    assert abs(int(source.min()) / 65_000_000 - 17 / 18) < 1e-3
    assert (source // 1024 == target // 1024).mean() == pytest.approx(0.7, abs=0.03)


def test_the_smallest_graphs():
    for vertices in (2, 3, 255, 257):
        source, target = made(vertices=vertices, edges=1000)
        assert not (source == target).any()
        assert max(source.max(), target.max()) == vertices - 1


def test_community_order_recovers_the_crawls_compression(crawl):
    """Of what shuffling costs in bits per arc, at least four fifths come back."""
    bits = {}
    for name, edges in (("crawl", crawl), ("shuffled", made(numbering="random"))):
        rows = build(*edges, VERTICES)
        bits[name] = statistics(*rows[:2]).bits_per_arc
    assert bits["shuffled"] > bits["crawl"] + 5
    order = permutation("community", *rows[:2])
    found = statistics(*apply(*rows[:2], order)).bits_per_arc
    assert found < bits["crawl"] + 0.2 * (bits["shuffled"] - bits["crawl"])


@pytest.mark.gpu
@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"vertices": 2, "edges": 100},
        {"numbering": "random", "exponent": 2.1, "run": 5.0},
        {"vertices": 65_000_000, "edges": 1_800_000_000, "first": 1_234_567_890, "count": 100_000},
        {
            "vertices": (1 << 33) + 9,
            "edges": 1 << 36,
            "first": 1 << 35,
            "count": 50_000,
            "numbering": "random",
        },
    ],
)
def test_cuda_makes_the_same_edges(parameters):
    import cupy

    for one, other in zip(made(**parameters), made(**parameters, backend="cuda"), strict=True):
        assert one.dtype == other.dtype
        assert numpy.array_equal(one, cupy.asnumpy(other))
