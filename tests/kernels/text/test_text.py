"""Numbers from bytes: what the kernels read is what Python reads, and faults stop them in their place."""

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gravel.kernels import text
from gravel.kernels.text.kinds import byte_kinds
from gravel.kernels.text.lists import LINE, ROW, add_imbalance, new_state, parse_lists
from gravel.kernels.text.pairs import parse_pairs


def pairs(data, *, delimiter="", prefix=-1, columns=2, weight_column=-1, low=0, high=(1 << 63) - 1):
    most = data.count(b"\n") + 1
    source, target, weight = numpy.empty(most, int), numpy.empty(most, int), numpy.empty(most)
    rows, lines, code, place = parse_pairs(
        numpy.frombuffer(data, numpy.uint8),
        byte_kinds(delimiter, "#"),
        prefix,
        columns,
        0,
        1,
        weight_column,
        low,
        high,
        source,
        target,
        weight,
    )
    found = list(zip(source[:rows].tolist(), target[:rows].tolist(), strict=True))
    return found, weight[:rows].tolist(), lines, code, place


ids = st.integers(0, (1 << 63) - 1)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(ids, ids)), st.sampled_from([" ", "\t", "  ", ","]), st.sampled_from(["\n", "\r\n"])
)
def test_pairs_come_back(edges, between, end):
    data = "".join(f"{u}{between}{v}{end}" for u, v in edges).encode()
    found, _, lines, code, place = pairs(data, delimiter="," if between == "," else "")
    assert (found, lines, code, place) == (edges, len(edges), text.FINE, len(data))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1), st.integers(1, 20))
def test_decimals_are_exact(numbers, digits):
    spelled = [f"{number:.{digits}e}" for number in numbers] + [repr(number) for number in numbers]
    data = "".join(f"1 2 {number}\n" for number in spelled).encode()
    _, weights, _, code, _ = pairs(data, columns=3, weight_column=2)
    expected = [float(number) for number in spelled]
    if all(numpy.isfinite(expected)):
        assert code == text.FINE
        assert weights == expected
    else:
        assert code == text.BAD_WEIGHT


@pytest.mark.parametrize(
    ("data", "options", "code", "lines", "place"),
    [
        (b"1 2\n3 x\n", {}, text.NOT_INTEGER, 1, 6),
        (b"1 2\n3 -4\n", {}, text.NEGATIVE, 1, 6),
        (b"1 9223372036854775808\n", {}, text.TOO_LARGE, 0, None),
        (b"1 2\n\n#\n3\n", {}, text.TOO_FEW, 3, None),
        (b"1 2 3\n", {}, text.TOO_MANY, 0, 4),
        (b"1 2\n", {"high": 1}, text.OUT_OF_RANGE, 0, 2),
        (b"0 2\n", {"low": 1}, text.OUT_OF_RANGE, 0, 0),
        (b"a 1 2\nb 1 2\n", {"prefix": ord("a")}, text.BAD_START, 1, 6),
        (b"1 2 x\n", {"columns": 3, "weight_column": 2}, text.BAD_WEIGHT, 0, 4),
    ],
)
def test_faults_stop_in_their_place(data, options, code, lines, place):
    _, _, found_lines, found, found_place = pairs(data, **options)
    assert (found, found_lines) == (code, lines)
    assert place is None or found_place == place


@settings(max_examples=40, deadline=None)
@given(st.lists(st.lists(st.integers(1, 9)), min_size=9, max_size=9), st.lists(st.integers(1, 60)))
def test_lists_may_be_cut_anywhere_between_numbers(rows, cuts):
    data = "".join(" ".join(map(str, row)) + "\n" for row in rows).encode()
    state = new_state()
    source, target, weight = numpy.empty(200, int), numpy.empty(200, int), numpy.empty(0)
    found, begin = [], 0
    for cut in [*sorted(cuts), len(data)]:
        end = min(cut, len(data))
        while end > begin and data[end - 1] not in b" \n":
            end -= 1
        if end <= begin:
            continue
        piece = numpy.frombuffer(data[begin:end], numpy.uint8)
        begin = end
        arcs, code, _ = parse_lists(
            piece, byte_kinds("", "%"), 9, 1, 9, 0, False, state, source, target, weight
        )
        assert code == text.FINE
        found += zip(source[:arcs].tolist(), target[:arcs].tolist(), strict=True)
    assert found == [(vertex + 1, other) for vertex, row in enumerate(rows) for other in row]
    assert state[ROW] == state[LINE] == 9


NONE = numpy.empty(0, numpy.uint64)


def test_imbalance_is_zero_for_symmetric_arcs_alone():
    rng = numpy.random.default_rng(3)
    source, target = rng.integers(0, 50, 400), rng.integers(0, 50, 400)
    imbalance = numpy.zeros(50, numpy.uint64)
    add_imbalance(source, target, NONE, 0, imbalance)
    assert imbalance.any()
    add_imbalance(target, source, NONE, 0, imbalance)
    assert not imbalance.any()
    add_imbalance(numpy.array([7]), numpy.array([9]), NONE, 0, imbalance)
    assert numpy.flatnonzero(imbalance).tolist() == [7, 9]


def test_imbalance_tells_weights_apart():
    imbalance = numpy.zeros(9, numpy.uint64)
    one, other = numpy.array([1, 1]), numpy.array([2, 2])
    add_imbalance(one, other, numpy.array([7.0, 9.0]).view(numpy.uint64), 0, imbalance)
    add_imbalance(other, one, numpy.array([9.0, 7.0]).view(numpy.uint64), 0, imbalance)
    assert not imbalance.any()
    add_imbalance(one, other, numpy.array([7.0, 9.0]).view(numpy.uint64), 0, imbalance)
    add_imbalance(other, one, numpy.array([7.0, 8.0]).view(numpy.uint64), 0, imbalance)
    assert numpy.flatnonzero(imbalance).tolist() == [1, 2]


def test_imbalance_is_kept_from_the_first_vertex_on():
    imbalance = numpy.zeros(50, numpy.uint64)
    add_imbalance(numpy.array([27]), numpy.array([29]), NONE, 20, imbalance)
    assert numpy.flatnonzero(imbalance).tolist() == [7, 9]
