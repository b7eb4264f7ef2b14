"""The stage as a whole: generators, detection, ids, parameters, and what it states about itself."""

import io
import subprocess
import sys
import zipfile

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from gravel.kernels.generate import generate, size
from gravel.stages.context import PlainContext
from gravel.stages.errors import StageError
from gravel.stages.ingest import STAGE, ingest, read_edges
from gravel.stages.ingest_memory import block_bytes
from gravel.stages.ingest_parameters import IngestParameters
from gravel.stages.readers import FORMATS, all_readers
from gravel.stages.stage import Machine
from tests.stages.ingest_files import PACK, complains, read, read_text, refused

MACHINE = Machine(backend="cpu", threads=2, host_memory=1 << 34)

SOURCES = [
    {"rmat": {"scale": 8, "edge_factor": 5, "seed": 3, "a": 0.5, "b": 0.2, "c": 0.2}},
    {"uniform": {"vertices": 30, "edges": 100, "seed": 2}},
    {"grid": {"dimensions": [3, 5]}},
    {"grid": {"dimensions": [2, 3, 4]}},
    {
        "communities": {
            **{
                "vertices": 5000,
                "edges": 9000,
                "seed": 2,
                "exponent": 2.2,
                "run": 3.0,
                "numbering": "random",
            },
            **{"sizes": [64, 512], "mixing": [0.5, 0.25, 0.25]},
        }
    },
    {"path": {"vertices": 7}},
    {"star": {"vertices": 7}},
    {"cycle": {"vertices": 7}},
    {"complete": {"vertices": 7}},
    {"empty": {"vertices": 7}},
    {"empty": {"vertices": 0}},
]


@pytest.mark.parametrize("source", SOURCES, ids=str)
def test_generators(source):
    parameters = IngestParameters(source=source)
    edges, ids = ingest(PlainContext(), parameters)
    ((name, arguments),) = source.items()
    arguments = {("dims" if key == "dimensions" else key): value for key, value in arguments.items()}
    expected = generate(name, **arguments)
    assert (edges.source == expected[0]).all()
    assert (edges.target == expected[1]).all()
    assert edges.undirected
    assert edges.weight is None
    assert (ids.first, ids.ids, ids.vertex_count) == (0, None, edges.vertex_count)
    vertices, count = size(name, **arguments)
    stated = STAGE.estimate(parameters, {}, MACHINE).outputs
    assert (
        (stated[0].vertices, stated[0].arcs) == (edges.vertex_count, len(edges.source)) == (vertices, count)
    )
    assert stated[0].bytes == edges.source.nbytes + edges.target.nbytes


def test_a_generator_in_parts_is_the_same_graph():
    source = {"rmat": {"scale": 15, "edge_factor": 16, "seed": 1}}
    small, _ = ingest(PlainContext(), IngestParameters(source=source, memory="16MiB"))
    large, _ = ingest(PlainContext(), IngestParameters(source=source))
    assert (small.source == large.source).all()
    assert (small.target == large.target).all()


@pytest.mark.parametrize(
    ("given_parameters", "words"),
    [
        ({}, "one of `source`, `file` and some `files`"),
        ({"file": "a", "source": {"path": {"vertices": 3}}}, "source and file"),
        ({"source": {}}, "exactly one of rmat"),
        ({"source": {"path": {"vertices": 3}, "star": {"vertices": 3}}}, "path and star"),
        ({"source": {"ring": {"vertices": 3}}}, "ring"),
        ({"source": {"rmat": {"scale": 99}}}, "48"),
        ({"source": {"rmat": {"scale": 5, "a": 0.9, "b": 0.2}}}, "sum to at most 1"),
        ({"source": {"path": {"vertices": 0}}}, "at least 1"),
        ({"source": {"grid": {"dimensions": [3]}}}, "at least 2"),
        ({"file": "a", "format": "excel"}, "unknown format 'excel'"),
        ({"file": "a", "sha256": "abc"}, "pattern"),
        ({"file": "a", "memory": "1MiB"}, "greater than or equal"),
        ({"file": "a", "memory": "lots"}, "byte"),
    ],
)
def test_wrong_parameters_are_told(given_parameters, words):
    with pytest.raises(ValidationError, match=words):
        IngestParameters.model_validate(given_parameters)


def test_parameters_survive_a_dump():
    parameters = IngestParameters(file="a.mtx.gz", format="mtx", memory="64MiB")
    assert parameters.format == "matrix_market"
    assert int(parameters.memory) == 64 << 20
    assert IngestParameters.model_validate(parameters.model_dump(mode="json")) == parameters
    assert STAGE.files(parameters)[0].location == "a.mtx.gz"
    assert STAGE.files(IngestParameters(source=SOURCES[0])) == ()


def test_planning_imports_nothing_heavy(tmp_path):
    path = tmp_path / "g.csv"
    path.write_text("1 2\n")
    code = f"""
import sys
from gravel.stages.ingest import STAGE
from gravel.stages.ingest_parameters import IngestParameters
from gravel.stages.stage import Machine
parameters = IngestParameters(file={str(path)!r}, format="csv")
STAGE.files(parameters), parameters.model_dump(mode="json")
STAGE.estimate(parameters, {{}}, Machine(backend="cpu", threads=2, host_memory=1 << 30))
IngestParameters(source={{"rmat": {{"scale": 9}}}})
print([name for name in ("numpy", "numba", "pyarrow", "zarr", "fsspec", "zstandard") if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_every_reader_is_listed():
    assert set(all_readers()) == set(FORMATS) == {reader.name for reader in all_readers().values()}


def test_the_readers_fit_their_names_and_nobody_elses():
    taken = [alias for reader in all_readers().values() for alias in (reader.name, *reader.aliases)]
    assert len(taken) == len(set(taken))


SAMPLES = {
    "edge_list": "5 6\n6 7\n",
    "matrix_market": "%%MatrixMarket matrix coordinate pattern general\n3 3 2\n1 2\n2 3\n",
    "dimacs": "p sp 3 2\na 1 2 1\na 2 3 1\n",
    "pace": "p tw 3 2\n1 2\n2 3\n",
    "metis": "3 2\n2\n1 3\n2\n",
    "webgraph": "3\n1\n2\n\n",
    "lightgraphs": "3,2,u,graph\n1,2\n2,3\n",
}
SUFFIX = {name: all_readers()[name].suffixes[0] for name in SAMPLES}


@pytest.mark.parametrize("pack", list(PACK))
@pytest.mark.parametrize("name", list(SAMPLES))
def test_detected_by_content_and_kept_by_name(tmp_path, name, pack):
    data = PACK[pack](SAMPLES[name].encode())
    title = all_readers()[name].title
    for file_name in (f"g{SUFFIX[name]}{pack}", f"g{pack}", f"g.txt{pack}", "g"):
        got = read_text(tmp_path, file_name, data)
        assert title in got.log[0]
        assert len(got.ids) == 3
    assert "asked for" in read_text(tmp_path, "g.bin", data, format=name).log[0]


@pytest.mark.parametrize("other", [".mtx", ".parquet", ".npy", ".jlg", ".graph", ".csv", ".gr", ".graph-txt"])
@pytest.mark.parametrize("name", list(SAMPLES))
def test_a_name_that_the_content_contradicts(tmp_path, name, other):
    if other in all_readers()[name].suffixes:
        assert read_text(tmp_path, f"g{other}", SAMPLES[name]).pairs
        return
    error = refused(tmp_path, f"g{other}", SAMPLES[name])
    assert error.line == 1
    assert all_readers()[name].title in error.message
    assert name in error.hint


def test_where_both_fit_the_name_wins(tmp_path):
    both = "2 1\n2\n1\n"
    assert "METIS" in read_text(tmp_path, "g.graph", both).log[0]
    both = "4 4\n2 4\n1 3\n2 4\n1 3\n"  # METIS, or edges of which the first could be counts
    assert "METIS" in read_text(tmp_path, "g.graph", both).log[0]
    with pytest.warns(UserWarning, match="first line states its counts"):
        assert "edge list" in read_text(tmp_path, "g.edges", both).log[0]
    with pytest.warns(UserWarning, match="first line states its counts"):
        unnamed = read_text(tmp_path, "g", both).log[0]
    assert "edge list" in unnamed
    assert "METIS" in unnamed


@pytest.mark.parametrize(
    ("name", "data", "line", "words"),
    [
        ("g.txt", b"", None, ["empty"]),
        pytest.param("g.csv.gz", PACK[".gz"](b""), None, ["empty"], id="nothing packed"),  # the time is in it
        ("g", bytes(range(256)) * 10, 1, ["binary", "position 0"]),
        ("g.mtx", b"%%Mat\nrix\0\0", 2, ["binary"]),
        ("g.csv", "1,2\n".encode("utf-16"), 1, ["UTF-16"]),
        ("g", b"<html><body>Not found</body></html>\n", 1, ["web page"]),
        ("g.csv", b"\n<!DOCTYPE html>\n<body>\n", 1, ["web page"]),
        ("g.txt", b'{"nodes": []}\n', 1, ["JSON"]),
        ("g.txt", b'[["a", "b"]]\n', 1, ["JSON"]),
        ("g.graphml", b"<?xml version='1.0'?>\n<graphml>\n", 1, ["XML"]),
        ("g.gml", b"graph [\n  node [\n", 1, ["GML"]),
        ("g.gml", b'Creator "someone"\ngraph\n[\n', 1, ["GML"]),
        ("g.dot", b"digraph g {\n a -> b;\n}\n", 1, ["Graphviz"]),
        ("g.net", b"*Vertices 2\n", 1, ["Pajek"]),
        ("g.txt", b"# only comments\n", 1, ["not recognised"]),
        ("g.txt", b"1 2\n2 3\nx y\n", 3, ["'x'"]),
        ("g.gr", b"1 2\n", 1, ["DIMACS", "PACE", "edge list"]),
    ],
)
def test_files_that_are_no_graphs(tmp_path, name, data, line, words):
    complains(refused(tmp_path, name, data), line, *words)


def test_an_archive_of_no_arrays_is_named(tmp_path):
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        archive.writestr("edges.txt", "1 2\n")
    error = refused(tmp_path, "g.zip", data.getvalue())
    complains(error, None, "zip archive of edges.txt")
    assert "unpack it" in error.hint


def test_zero_and_one_based_are_one_graph(tmp_path):
    zero = read_text(tmp_path, "a.txt", "0 1\n1 2\n2 0\n")
    one = read_text(
        tmp_path, "b.mtx", "%%MatrixMarket matrix coordinate pattern general\n3 3 3\n1 2\n2 3\n3 1\n"
    )
    assert (zero.edges.source == one.edges.source).all()
    assert (zero.edges.target == one.edges.target).all()
    assert (zero.vertex_ids.first, one.vertex_ids.first) == (0, 1)


def test_the_library_reads_a_path(tmp_path):
    path = tmp_path / "g.csv"
    path.write_text("source,target,weight\n10,20,1\n20,30,2\n")
    edges, ids = read_edges(path, weights=False)
    assert edges.source.tolist() == [0, 1]
    assert edges.weight is None
    assert numpy.asarray(ids.ids).tolist() == [10, 20, 30]
    with pytest.raises(StageError, match="no such file"):
        read_edges(tmp_path / "h.csv")


@settings(max_examples=40, deadline=None)
@given(
    edges=st.lists(
        st.tuples(*[st.one_of(st.integers(0, 20), st.integers(0, (1 << 63) - 1))] * 2),
        min_size=1,
        max_size=60,
    )
)
@pytest.mark.filterwarnings("ignore:.*first line states its counts")
def test_any_ids_come_back(tmp_path_factory, edges):
    path = tmp_path_factory.mktemp("ids") / "g.csv"
    path.write_text("".join(f"{u},{v}\n" for u, v in edges))
    got = read(path)
    assert got.pairs == edges
    assert got.ids == sorted({end for edge in edges for end in edge})


@pytest.mark.parametrize("name", list(SAMPLES))
def test_extents_of_files_are_bounds(tmp_path, name):
    path = tmp_path / f"g{SUFFIX[name]}"
    path.write_text(SAMPLES[name])
    got = read(path)
    stated, ids = STAGE.estimate(IngestParameters(file=str(path)), {}, MACHINE).outputs
    assert stated.arcs >= len(got.pairs)
    assert stated.vertices >= len(got.ids) - 1
    assert (stated.kind, ids.kind) == STAGE.outputs
    if name in ("matrix_market", "dimacs", "pace", "metis", "lightgraphs"):
        assert (stated.arcs, stated.vertices) == (len(got.pairs), len(got.ids))


def test_the_extent_of_a_large_list_is_by_its_size(tmp_path):
    path = tmp_path / "g.txt"
    path.write_text("".join(f"{i} {i * 7 % 65536}\n" for i in range(65_536)))
    stated = STAGE.estimate(IngestParameters(file=str(path)), {}, MACHINE).outputs[0]
    assert 65_536 <= stated.arcs <= 2 * 65_536
    assert STAGE.estimate(IngestParameters(file=str(tmp_path / "none")), {}, MACHINE).outputs[0].arcs == 0


def test_blocks_share_a_quarter_of_the_budget():
    for memory in (16 << 20, 512 << 20, 8 << 30):
        for threads in (1, 2, 64):
            size_of_block = block_bytes(memory, threads)
            assert size_of_block * 8 * (threads + 2) <= max(memory // 4, 8 * (threads + 2) << 16)


def test_a_header_that_the_file_cannot_hold_is_not_planned_with(tmp_path):
    path = tmp_path / "a.mtx"
    path.write_text(f"%%MatrixMarket matrix coordinate pattern general\n3 3 {1 << 60}\n1 2\n")
    stated = STAGE.estimate(IngestParameters(file=str(path)), {}, MACHINE).outputs[0]
    assert 1 <= stated.arcs < 100


@pytest.mark.parametrize("ids", ["{} {}", "{}0 {}0", "a{} b{}"])
def test_the_time_left_is_known_while_ids_are_numbered(tmp_path, ids):
    file = tmp_path / "edges.txt"
    file.write_text("".join(ids.format(n, 7 * n % 1000) + "\n" for n in range(1000)))
    seen = []
    context = PlainContext()
    context.progress = lambda *told: seen.append(told)
    context.remark = context.note = lambda *_: None
    ingest(context, IngestParameters(file=str(file)))
    assert seen[-1] == (1000, 1000, "edges numbered")
