"""Every real file beside the checkout: its counts as published, or its fault by line."""

import gzip

import numpy
import pytest

from gravel.stages.errors import StageError
from gravel.stages.ingest import read_edges
from tests.stages.ingest_files import read
from tests.zoo import DATA, needs_data

pytestmark = needs_data

# vertices, edges, loops, undirected, first id
COUNTS = {
    "USA-road-NE.pace.gr.xz": (1_524_453, 1_934_010, 0, True, 1),
    "USA-road-FLA.pace.gr.xz": (1_070_376, 1_343_951, 0, True, 1),
    "USA-road-NY.pace.gr.xz": (264_346, 365_050, 0, True, 1),
    "luxembourg_osm.edges.xz": (114_599, 119_666, 0, False, 1),
    "ego-Twitter.undirected.jlg.gz": (81_306, 1_342_310, 14, True, 1),
    "ego-Twitter.directed-weighted.csv.xz": (81_306, 1_768_135, 0, False, 1),
    "soc-Slashdot0902.directed.jlg.gz": (82_168, 948_464, 78_303, False, 1),
    "facebook_combined.txt.xz": (4_039, 88_234, 0, False, 0),
    "cnr-2000.graph-txt.gz": (325_557, 3_216_152, 87_442, False, 0),
    "cit-HepTh.directed.jlg.gz": (27_770, 352_807, 39, False, 1),
    "ca-CondMat.lcc.jlg.gz": (21_363, 91_342, 56, True, 1),
    "astro-ph.graph.xz": (16_706, 121_251, 0, True, 1),
    "delaunay_n16.edges.xz": (65_536, 196_575, 0, False, 1),
    "fe_body.graph.xz": (45_087, 163_734, 0, True, 1),
    "rgg_n_2_15_s0.graph.xz": (32_768, 160_240, 0, True, 1),
    "t60k.graph.xz": (60_005, 89_440, 0, True, 1),
    "p2p-Gnutella31.e.xz": (62_586, 147_892, 0, False, 1),
    "tiny/karate.mtx": (34, 78, 0, True, 1),
    "tiny/karate-disjoint.csv": (68, 312, 0, False, 0),
    "tiny/karate_s_loop.csv": (34, 160, 4, False, 0),
    "tiny/dolphins.mtx": (62, 159, 0, True, 1),
    "tiny/netscience.mtx": (1_589, 2_742, 0, True, 1),
    "tiny/chesapeake.mtx": (39, 170, 0, True, 1),
    "tiny/jazz.graph": (198, 2_742, 0, True, 1),
    "tiny/power.graph": (4_941, 6_594, 0, True, 1),
    "tiny/grid-5x5-dist-arch.graph": (25, 40, 0, True, 1),
    "tiny/jagmesh7.mtx": (1_138, 4_294, 1_138, True, 1),
    "tiny/ldbc-directed-example.mtx": (10, 17, 0, False, 1),
}

FAULTS = {
    "tiny/empty.mtx": (4, "4 columns"),
    "malformed/mangled2.mtx": (1, "'mangled'"),
    "malformed/mangled4.mtx": (1, "'mangled'"),
    "malformed/mangled5.mtx": (1, "hermitian"),
    "malformed/mangled7.mtx": (5, "too few columns"),
    "malformed/mangled8.mtx": (4, "size line"),
    "malformed/mangled10.mtx": (4, "3 rows and 4 columns"),
    "malformed/mangled11.mtx": (4, "3 rows and 4 columns"),
    "malformed/mangled13.mtx": (4, "3 rows and 4 columns"),
    "malformed/mangled14.mtx": (5, "3 rows and 4 columns"),
    "malformed/mangled16.mtx": (1, "dense"),
    "malformed/mangled_format.mtx": (1, "dense"),
    "malformed/mangled_skew.mtx": (1, "skew-symmetric"),
}


@pytest.mark.parametrize("name", list(COUNTS))
def test_counts(name):
    vertices, listed, loops, undirected, first = COUNTS[name]
    edges, ids = read_edges(DATA / name)
    source, target = numpy.asarray(edges.source), numpy.asarray(edges.target)
    assert (edges.vertex_count, len(source)) == (vertices, listed)
    assert int((source == target).sum()) == loops
    assert edges.undirected == undirected
    assert (ids.first if ids.ids is None else int(ids.ids[0])) == first
    assert max(int(source.max()), int(target.max())) < vertices


def test_a_gap_in_the_ids_is_kept():
    got = read(DATA / "tiny" / "karate-disjoint.csv")
    assert got.vertex_ids.ids is not None
    assert len(got.ids) == 68
    assert got.ids[-1] > 67


def test_pairs_are_those_of_the_file():
    with gzip.open(DATA / "cit-HepTh.directed.jlg.gz", "rt") as file:
        next(file)
        expected = [tuple(map(int, line.split(","))) for line in file]
    assert read(DATA / "cit-HepTh.directed.jlg.gz").pairs == expected
    with gzip.open(DATA / "cnr-2000.graph-txt.gz", "rt") as file:
        next(file)
        rows = [line for _, line in zip(range(20_000), file, strict=False)]
    arcs = [(row, int(field)) for row, line in enumerate(rows) for field in line.split()]
    edges, _ = read_edges(DATA / "cnr-2000.graph-txt.gz")
    assert edges.source[: len(arcs)].tolist() == [source for source, _ in arcs]
    assert edges.target[: len(arcs)].tolist() == [target for _, target in arcs]


@pytest.mark.parametrize("name", list(FAULTS))
def test_faults(name):
    line, words = FAULTS[name]
    with pytest.raises(StageError, match=words) as caught:
        read(DATA / name)
    assert (caught.value.file, caught.value.line) == (str(DATA / name), line)


def test_no_file_is_left_out():
    names = {
        str(path.relative_to(DATA)) for path in DATA.rglob("*") if path.is_file() and path.suffix != ".md"
    }
    assert names == set(COUNTS) | set(FAULTS)
