"""Searches of encoded rows in pinned host memory, and how rows are cut into parts."""

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gravel.kernels.bfs import prepare_rows as prepare
from gravel.kernels.ids.distinct import distinct
from gravel.kernels.layouts import LAYOUTS, encode
from gravel.kernels.layouts.parts import GROUP, LINE, LONG_BYTES, cut_rows, long_rows
from tests.kernels.conformance import GRAPHS, OUTPUTS, check, csr_of, fetch, hubs, large_graph, sources_of


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.integers(0, 300) | st.integers(4000, 9000), max_size=200),
    st.sampled_from([1, 100, 1024, 20_000, 1 << 20]),
)
def test_every_part_fits_its_room(lengths, room):
    offsets = numpy.concatenate([[0], numpy.cumsum(lengths, dtype=numpy.int64)]).astype(numpy.int64)
    rows = len(lengths)
    cuts, taken = cut_rows(offsets, room)
    assert cuts.dtype == numpy.uint64
    cuts = cuts.astype(numpy.int64)
    assert cuts[0] == 0
    assert cuts[-1] == rows
    assert (numpy.diff(cuts) > 0).all() or rows == 0
    assert all(cut % GROUP == 0 for cut in cuts[:-1])
    assert taken % LINE == 0
    first, last = offsets[cuts[:-1]] // LINE, -(-offsets[cuts[1:]] // LINE)
    sizes = (last - first) * LINE
    assert (sizes <= taken).all()
    # What is larger than the room is a single group, and no two neighbours would have fitted together.
    for size, begin, end in zip(sizes, cuts, cuts[1:], strict=False):
        assert size <= room or end - begin <= GROUP
    for part in range(len(cuts) - 2):
        next_edge = min(cuts[part + 1] + GROUP, rows)
        assert -(-offsets[next_edge] // LINE) - first[part] > room // LINE
    long, before = long_rows(offsets, cuts.astype(numpy.uint64), numpy.uint32)
    assert long.tolist() == [row for row, length in enumerate(lengths) if length > LONG_BYTES]
    assert before.tolist() == [sum(row < cut for row in long) for cut in cuts]


TUNINGS = {
    "pinned": {},
    "small_parts": {"room": 256, "block": 64, "blocks_per_processor": 1},
    "pull": {"heads": 4, "alpha": 1e18},
    "split": {"heads": 3, "room": 4096, "keep": 1 << 13},
    "kept": {"keep": 1 << 40},
}


def tuning_of(name, layout):
    """Columns are kept by whole vectors of four heads."""
    constants = TUNINGS[name]
    return {**constants, "heads": 4} if layout == "csr" and "heads" in constants else constants


def pinned(layout, offsets, columns):
    """Rows that were encoded on the CPU, with all that grows with the arcs in pinned memory."""
    import cupy

    from gravel.kernels.placement.pinned import buffer, pin

    rows = encode(layout, offsets, columns)
    placed = {}
    for name, array in rows.arrays.items():
        if name in ("stream", "column_indices"):
            held = buffer(len(array), array.dtype)
            held[:] = array
            placed[name] = pin(held).view()
        else:
            placed[name] = cupy.asarray(array)
    return type(rows)(rows.layout, rows.vertex_count, rows.arc_count, rows.dtype, placed)


@pytest.mark.gpu
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("tuning", TUNINGS)
@pytest.mark.parametrize("name", GRAPHS)
def test_encoded_rows_of_the_zoo(name, tuning, layout):
    for symmetric in (True, False):
        csr = csr_of(name, symmetric)
        for output in OUTPUTS:
            search = prepare(
                pinned(layout, *csr),
                strategy="host_rows",
                symmetric=symmetric,
                output=output,
                **tuning_of(tuning, layout),
            )
            for source in sources_of(len(csr[0]) - 1):
                check(search.run(source), csr, source, output)


@pytest.mark.gpu
@pytest.mark.parametrize("index", [numpy.uint32, numpy.uint64])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("tuning", TUNINGS)
def test_encoded_rows_with_hubs(tuning, layout, index):
    csr = hubs().csr(symmetric=True, index=index)
    search = prepare(pinned(layout, *csr), strategy="host_rows", symmetric=True, **tuning_of(tuning, layout))
    for source in sources_of(len(csr[0]) - 1):
        check(search.run(source), csr, source, "both")


@pytest.mark.gpu
@pytest.mark.parametrize("layout", [layout for layout in LAYOUTS if layout != "csr"])
def test_lines_of_streams_are_counted(layout):
    csr = large_graph(6)
    rows = encode(layout, *csr)
    begins = numpy.asarray(rows.arrays["byte_offsets"])
    search = prepare(pinned(layout, *csr), strategy="host_rows", symmetric=True)
    result = search.run(7)
    distance = fetch(result.distance)
    lines = 0
    for level in range(int(distance.max()) + 1):
        touched = [
            numpy.arange(begins[v] // LINE, (begins[v + 1] - 1) // LINE + 1)
            for v in numpy.flatnonzero(distance == level)
            if begins[v + 1] > begins[v]
        ]
        lines += len(distinct(numpy.concatenate(touched))) if touched else 0
    assert result.link_bytes == lines * LINE
    fewer = prepare(pinned(layout, *csr), strategy="host_rows", symmetric=True, heads=8).run(7)
    assert fewer.link_bytes < result.link_bytes
    assert "pull" in fewer.directions
    whole = prepare(pinned(layout, *csr), strategy="host_rows", symmetric=True, keep=1 << 40)
    assert whole.run(7).link_bytes < result.link_bytes // 20
    half = len(rows.arrays["stream"]) // 2
    part = prepare(pinned(layout, *csr), strategy="host_rows", symmetric=True, keep=half)
    assert 0 < part.kept_bytes < half + LINE
    assert 0 < part.run(7).link_bytes < result.link_bytes
