"""Generators: parts agree with the whole, labels are a bijection, RMAT is Graph500's."""

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gravel.kernels.generate import GENERATORS, generate, size
from gravel.kernels.generate.counter import draw, mix_integer
from gravel.kernels.generate.draws import mix
from gravel.kernels.generate.rmat import edge_constants
from gravel.kernels.generate.rmat_cpu import relabelled
from gravel.kernels.ids.distinct import distinct
from gravel.kernels.threads import set_threads, thread_count

EXAMPLES = {
    "rmat": {"scale": 9, "edge_factor": 7, "seed": 3},
    "uniform": {"vertices": 777, "edges": 5000, "seed": 3},
    "grid": {"dims": [7, 5, 11], "points": 27},
    "mesh": {"dims": [17, 13], "seed": 3},
    "irregular_grid": {"dims": [20, 30], "share": 0.01, "degree": 40, "seed": 3},
    "communities": {"vertices": 777, "edges": 5000, "seed": 3, "sizes": [32, 256], "mixing": [0.6, 0.3, 0.1]},
    "path": {"vertices": 300},
    "star": {"vertices": 300},
    "cycle": {"vertices": 300},
    "complete": {"vertices": 60},
    "empty": {"vertices": 5},
}


def label(vertex, scale, constants):
    return int(relabelled(numpy.uint64(vertex), scale, constants))


def pairs(name, **parameters):
    source, target = generate(name, **parameters)
    return list(zip(source.tolist(), target.tolist(), strict=True))


def test_every_generator_has_an_example():
    assert set(EXAMPLES) == set(GENERATORS)


@pytest.mark.parametrize("name", EXAMPLES)
def test_sizes_and_types(name):
    vertices, edges = size(name, **EXAMPLES[name])
    source, target = generate(name, **EXAMPLES[name])
    assert len(source) == len(target) == edges
    assert source.dtype == target.dtype == numpy.uint32
    assert not edges or max(source.max(), target.max()) < vertices


@pytest.mark.parametrize("name", EXAMPLES)
@given(data=st.data())
@settings(max_examples=15, deadline=None)
def test_any_part_is_part_of_the_whole(name, data):
    whole = pairs(name, **EXAMPLES[name])
    first = data.draw(st.integers(0, len(whole)))
    count = data.draw(st.integers(0, len(whole) - first))
    assert pairs(name, **EXAMPLES[name], first=first, count=count) == whole[first : first + count]


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_head_and_a_tail_are_the_whole(name):
    whole = pairs(name, **EXAMPLES[name])
    for cut in {0, len(whole) // 2, max(0, len(whole) - 2), len(whole)}:
        head = pairs(name, **EXAMPLES[name], first=0, count=cut)
        assert head + pairs(name, **EXAMPLES[name], first=cut, count=len(whole) - cut) == whole


def test_parts_are_the_same_on_any_number_of_threads():
    whole = generate("rmat", scale=14, edge_factor=20, seed=1)
    threads = thread_count()
    try:
        set_threads(1)
        alone = generate("rmat", scale=14, edge_factor=20, seed=1)
    finally:
        set_threads(threads)
    assert all(numpy.array_equal(one, other) for one, other in zip(whole, alone, strict=True))


def test_known_lattices():
    assert pairs("path", vertices=3) == [(0, 1), (1, 2)]
    assert pairs("path", vertices=1) == []
    assert pairs("star", vertices=4) == [(0, 1), (0, 2), (0, 3)]
    assert pairs("cycle", vertices=3) == [(0, 1), (1, 2), (2, 0)]
    assert pairs("complete", vertices=4) == [(0, 1), (0, 2), (1, 2), (0, 3), (1, 3), (2, 3)]
    assert pairs("grid", dims=[2, 3]) == [(0, 3), (1, 4), (2, 5), (0, 1), (1, 2), (3, 4), (4, 5)]
    assert pairs("grid", dims=[1, 1, 1]) == []


@given(dims=st.lists(st.integers(1, 6), min_size=2, max_size=3))
@settings(max_examples=30, deadline=None)
def test_a_box_stencil_joins_points_that_touch_at_corners(dims):
    edges = pairs("grid", dims=dims, points=3 ** len(dims))
    points = [numpy.array(numpy.unravel_index(vertex, dims)) for vertex in range(int(numpy.prod(dims)))]
    expected = {
        (v, w)
        for v in range(len(points))
        for w in range(v + 1, len(points))
        if abs(points[v] - points[w]).max() == 1
    }
    assert {(min(edge), max(edge)) for edge in edges} == expected
    assert len(edges) == len(expected) == size("grid", dims=dims, points=3 ** len(dims)).edges


def test_a_mesh_has_one_diagonal_in_each_cell():
    rows, columns = 9, 14
    edges = {(min(edge), max(edge)) for edge in pairs("mesh", dims=[rows, columns], seed=5)}
    assert len(edges) == size("mesh", dims=[rows, columns]).edges
    assert set(pairs("grid", dims=[rows, columns])) <= edges
    falling = 0
    for y in range(rows - 1):
        for x in range(columns - 1):
            corner = y * columns + x
            diagonals = [(corner, corner + columns + 1), (corner + 1, corner + columns)]
            assert sum(diagonal in edges for diagonal in diagonals) == 1
            falling += diagonals[0] in edges
    assert 0.35 < falling / ((rows - 1) * (columns - 1)) < 0.65
    assert edges != set(pairs("mesh", dims=[rows, columns], seed=6))


def test_an_irregular_grid_is_a_grid_and_vertices_of_high_degree():
    dims, degree = [100, 100], 700
    whole = pairs("irregular_grid", dims=dims, degree=degree, seed=2)
    regular = pairs("grid", dims=dims)
    assert whole[: len(regular)] == regular
    assert size("irregular_grid", dims=dims, degree=degree).vertices == 10_010
    hubs, joined = numpy.array(whole[len(regular) :]).T
    assert numpy.bincount(hubs).tolist() == [0] * 10_000 + [degree] * 10
    counts = numpy.bincount(joined // 1000, minlength=10)
    assert len(counts) == 10
    assert ((counts - 700) ** 2 / 700).sum() < 30
    assert len(set(joined.tolist())) > 4500  # of 7000 draws among 10000; all drawn alike would be fewer
    assert size("irregular_grid", dims=dims, share=0) == size("grid", dims=dims)
    assert size("irregular_grid", dims=[2, 2]).vertices == 5


@given(dims=st.lists(st.integers(1, 6), min_size=2, max_size=3))
@settings(max_examples=30, deadline=None)
def test_grid_joins_points_at_distance_one(dims):
    source, target = (numpy.array(numpy.unravel_index(side, dims)) for side in generate("grid", dims=dims))
    assert (abs(source - target).sum(axis=0) == 1).all()
    assert len(set(pairs("grid", dims=dims))) == size("grid", dims=dims).edges


def test_complete_has_every_pair_once_where_roots_round():
    total = size("complete", vertices=200_000_000).edges
    source, target = generate("complete", vertices=200_000_000, first=total - 1000, count=1000)
    assert (target == 199_999_999).all()
    assert source.tolist() == list(range(199_999_999 - 1000, 199_999_999))
    assert len(set(pairs("complete", vertices=150))) == 150 * 149 // 2


@pytest.mark.parametrize(
    ("scale", "seed"), [*((scale, 0) for scale in range(17)), *((scale, 2**70 + 5) for scale in range(12))]
)
def test_labels_are_a_bijection(scale, seed):
    constants = edge_constants(scale, seed, 0.57, 0.19, 0.19, True)
    assert len({label(vertex, scale, constants) for vertex in range(1 << scale)}) == 1 << scale


def test_labels_are_spread():
    constants = edge_constants(16, 5, 0.57, 0.19, 0.19, True)
    labels = numpy.array([label(vertex, 16, constants) for vertex in range(4096)])
    assert (numpy.bincount(labels >> 12, minlength=16) > 180).all()  # 256 each on average
    steps = numpy.diff(labels)
    assert len(distinct(steps)) > 3500


def test_scrambling_only_relabels():
    plain = generate("rmat", scale=8, edge_factor=16, seed=5, scramble=False)
    scrambled = generate("rmat", scale=8, edge_factor=16, seed=5)
    constants = edge_constants(8, 5, 0.57, 0.19, 0.19, True)
    table = numpy.array([label(vertex, 8, constants) for vertex in range(256)])
    assert numpy.array_equal(table[plain[0]], scrambled[0])
    assert numpy.array_equal(table[plain[1]], scrambled[1])
    assert numpy.bincount(plain[0]).argmax() == 0


def test_the_seed_and_the_chances_matter():
    one = generate("rmat", scale=10, edge_factor=8, seed=1)
    assert not numpy.array_equal(one[0], generate("rmat", scale=10, edge_factor=8, seed=2)[0])
    flat = generate("rmat", scale=10, edge_factor=8, seed=1, a=0.25, b=0.25, c=0.25)
    assert numpy.bincount(flat[0], minlength=1024).max() < numpy.bincount(one[0], minlength=1024).max()
    assert (
        generate("rmat", scale=6, edge_factor=8, seed=1, a=1.0, b=0.0, c=0.0, scramble=False)[0] == 0
    ).all()
    assert (
        generate("rmat", scale=6, edge_factor=8, seed=1, a=0.0, b=0.0, c=0.0, scramble=False)[1] == 63
    ).all()


def test_python_and_compiled_hashes_agree():
    for value in (0, 1, 2**63, 2**64 - 1, 123456789):
        assert mix_integer(value) == int(mix(numpy.uint64(value)))
    assert draw(1, 2, 3) != draw(1, 2, 4) != draw(1, 3, 3)


def test_rmat_edges_are_what_their_definition_says():
    """The kernel beside the rule, in Python integers."""
    scale, seed = 7, 11
    constants = [int(number) for number in edge_constants(scale, seed, 0.57, 0.19, 0.19, False)]
    source, target = generate("rmat", scale=scale, edge_factor=4, seed=seed, scramble=False)
    for edge in range(0, 512, 37):
        row = column = 0
        for level in range(scale):
            counter = edge * ((scale + 1) // 2) + level // 2
            bits = mix_integer((constants[0] + counter * 0x9E3779B97F4A7C15) % 2**64)
            chance = bits >> 32 if level % 2 else bits % 2**32
            quadrant = sum(chance >= threshold for threshold in constants[1:4])
            row, column = 2 * row + quadrant // 2, 2 * column + quadrant % 2
        assert (row, column) == (source[edge], target[edge])


def graph500(scale, edge_factor, random):
    """The generator of the Graph500 specification, section 3.3, without its permutations."""
    a, b, c = 0.57, 0.19, 0.19
    edges = edge_factor << scale
    ends = numpy.zeros((2, edges), numpy.int64)
    for level in range(scale):
        down = random.random(edges) > a + b
        right = random.random(edges) > numpy.where(down, c / (1 - a - b), a / (a + b))
        ends += numpy.array([down, right]) << level
    return ends


def test_degrees_are_as_skewed_as_graph500s():
    ours = numpy.array(generate("rmat", scale=14, edge_factor=16, seed=1)).astype(numpy.int64)
    theirs = graph500(14, 16, numpy.random.default_rng(1))
    degrees = [numpy.sort(numpy.bincount(ends.ravel(), minlength=1 << 14))[::-1] for ends in (ours, theirs)]
    for share in (1, 10, 100, 1000, 5000):
        one, other = (found[:share].sum() for found in degrees)
        assert one == pytest.approx(other, rel=0.06 if share == 1 else 0.03)
    isolated, expected = ((found == 0).sum() for found in degrees)
    assert isolated == pytest.approx(expected, rel=0.05)
    loops, expected = ((ends[0] == ends[1]).sum() for ends in (ours, theirs))
    assert loops == pytest.approx(expected, rel=0.25, abs=20)


def test_uniform_is_uniform():
    source, target = generate("uniform", vertices=1000, edges=200_000, seed=4)
    for ends in (source, target):
        counts = numpy.bincount(ends, minlength=1000)
        assert ((counts - 200) ** 2 / 200).sum() == pytest.approx(999, rel=0.2)
    joint = numpy.bincount((source // 100) * 10 + target // 100, minlength=100)
    assert ((joint - 2000) ** 2 / 2000).sum() < 160


def test_wide_vertices():
    source, target = generate("uniform", vertices=2**40, edges=1000, seed=4)
    assert source.dtype == numpy.uint64
    assert 2**38 < int(source.max()) < 2**40
    assert abs(float(target.mean()) / 2**39 - 1) < 0.1
    source, _ = generate("rmat", scale=33, edge_factor=1, seed=4, first=2**32, count=100)
    assert source.dtype == numpy.uint64
    assert 2**31 < int(source.max()) < 2**33


@pytest.mark.parametrize(
    ("name", "parameters", "message"),
    [
        ("rmat", {"scale": 60, "edge_factor": 1, "seed": 1}, "scale is 60"),
        ("rmat", {"scale": -1, "edge_factor": 1, "seed": 1}, "scale is -1"),
        ("rmat", {"scale": 4, "edge_factor": 1, "seed": 1, "a": 0.9}, "sum to at most 1"),
        ("rmat", {"scale": 4}, "edge_factor"),
        ("grid", {"dims": [3]}, "2 or 3 dimensions"),
        ("grid", {"dims": [3, 0]}, "every number of dims is 0"),
        ("grid", {"dims": [3, 3], "points": 7}, "points is 7; in 2 dimensions it can be 5 or 9"),
        ("mesh", {"dims": [3, 3, 3]}, "a mesh has 2 dimensions"),
        ("irregular_grid", {"dims": [3, 3], "share": 2}, "share is 2"),
        ("irregular_grid", {"dims": [3, 3], "degree": -1}, "degree is -1"),
        ("cycle", {"vertices": 2}, "at least 3"),
        ("path", {"vertices": 0}, "at least 1"),
        ("uniform", {"vertices": 0, "edges": 1}, "at least one vertex"),
        ("communities", {"vertices": 1, "edges": 1}, "vertices is 1"),
        ("communities", {"vertices": 9, "edges": 1, "exponent": 2}, "exponent is 2"),
        ("communities", {"vertices": 9, "edges": 1, "sizes": [4, 6]}, "ascending powers of two"),
        ("communities", {"vertices": 9, "edges": 1, "sizes": [4, 4]}, "ascending powers of two"),
        ("communities", {"vertices": 9, "edges": 1, "mixing": [0.5, 0.5]}, "4 shares that sum to 1"),
        ("communities", {"vertices": 9, "edges": 1, "mixing": [0.5, 0.5, 0.5, 0.5]}, "sum to 1"),
        ("communities", {"vertices": 9, "edges": 1, "run": 9}, "run is 9"),
        ("communities", {"vertices": 9, "edges": 1, "numbering": "bfs"}, "numbering is 'bfs'"),
        ("tree", {}, "unknown generator"),
        ("path", {"vertices": 3, "first": 1, "count": 5}, "edges 1 to 6"),
        ("path", {"vertices": 3, "backend": "cuda"}, "no cuda implementation"),
    ],
)
def test_wrong_parameters_are_named(name, parameters, message):
    with pytest.raises(ValueError, match=message):
        generate(name, **parameters)


@pytest.mark.gpu
@pytest.mark.parametrize("scale", [0, 1, 7, 16, 33])
@pytest.mark.parametrize("scramble", [True, False])
def test_cuda_makes_the_same_edges(scale, scramble):
    import cupy

    count = min(100_000, 16 << scale)
    options = {"first": (16 << scale) - count, "count": count, "scramble": scramble}
    here = generate("rmat", scale=scale, edge_factor=16, seed=5, **options)
    there = generate("rmat", scale=scale, edge_factor=16, seed=5, **options, backend="cuda")
    for one, other in zip(here, there, strict=True):
        assert one.dtype == other.dtype
        assert numpy.array_equal(one, cupy.asnumpy(other))
