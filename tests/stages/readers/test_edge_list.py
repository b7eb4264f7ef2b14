"""Edge lists as people write them: separators, comments, headers, weights, ids, and what can be wrong."""

import pytest

from tests.stages.ingest_files import complains, read_text, refused

SNAP = """# Directed graph (each unordered pair of nodes is saved once): web.txt
# Nodes: 4 Edges: 4
# FromNodeId\tToNodeId
0\t11
0\t7
7\t0
11\t11
"""


def test_snap_text(tmp_path):
    got = read_text(tmp_path, "web.txt", SNAP)
    assert got.pairs == [(0, 11), (0, 7), (7, 0), (11, 11)]
    assert got.ids == [0, 7, 11]
    assert not got.undirected
    assert got.weights is None
    assert any("edge list" in line for line in got.log)


def test_a_comment_declares_the_list_undirected(tmp_path):
    assert read_text(tmp_path, "a.txt", "# Undirected graph: a\n1 2\n").undirected
    assert read_text(tmp_path, "out.txt", "% sym unweighted\n1 2\n").undirected
    assert not read_text(tmp_path, "out.txt", "% asym unweighted\n1 2\n").undirected


@pytest.mark.parametrize(
    ("lines", "line", "words"),
    [
        ("1 2\n", 2, ["9 edges", "1 were found"]),
        ("1 2\n3 4", 3, ["9 edges", "1 were found", "in the middle of a line"]),
        ("1 2\n3", 3, ["9 edges", "1 were found", "in the middle of a line"]),
    ],
)
def test_fewer_edges_than_a_comment_states_are_refused(tmp_path, lines, line, words):
    error = refused(tmp_path, "a.txt", f"# Nodes: 2 Edges: 9\n{lines}")
    complains(error, line, *words)
    assert "allow_short: true" in (error.hint or "")


def test_fewer_edges_are_taken_on_request_without_the_line_that_is_cut(tmp_path):
    with pytest.warns(UserWarning, match=r"9 edges; 1 were found.*left out.*allow_short is true"):
        got = read_text(tmp_path, "a.txt", "# Nodes: 2 Edges: 9\n1 2\n3 4", allow_short=True)
    assert got.pairs == [(1, 2)]


@pytest.mark.parametrize("allow_short", [False, True])
def test_a_last_line_without_its_end_is_an_edge_of_a_whole_file(tmp_path, allow_short):
    text = "# Nodes: 4 Edges: 2\n1 2\n3 4"
    assert read_text(tmp_path, "a.txt", text, allow_short=allow_short).pairs == [(1, 2), (3, 4)]


def test_more_edges_than_a_comment_states_are_told(tmp_path):
    with pytest.warns(UserWarning, match="1 edges; the file has 2"):
        got = read_text(tmp_path, "a.txt", "# Nodes: 4 Edges: 1\n1 2\n3 4\n")
    assert got.pairs == [(1, 2), (3, 4)]


@pytest.mark.parametrize(
    "text",
    [
        "1 2\n3 4\n",
        "1\t2\n3\t4\n",
        "  1   2  \n\n3 \t 4",
        "1,2\n3,4\n",
        "1 , 2\r\n3,4\r\n",
        "1;2\n3;4\n",
        "1 2\r\n3 4\r\n",
        "\ufeff1 2\n3 4\n",
        "# c\n1 2\n# c\n% c\n\n3 4\n# end",
        "source,target\n1,2\n3,4\n",
        "src dst\n1 2\n3 4\n",
        '"from","to"\n1,2\n3,4\n',
        "target,source\n2,1\n4,3\n",
        "name,dst,src\nx,2,1\ny,4,3\n",
        "a\tb\n1\t2\n3\t4\n",
    ],
)
def test_spellings_of_one_graph(tmp_path, text):
    got = read_text(tmp_path, "g.csv", text)
    assert got.pairs == [(1, 2), (3, 4)]
    assert got.ids == [1, 2, 3, 4]


def test_weights(tmp_path):
    text = "source,target,weight\n1,2,0.5\n2,3,-1e-3\n3,1,12345678901234567890\n3,2,0.1234567890123456789\n"
    expected = [0.5, -1e-3, 12345678901234567890.0, 0.1234567890123456789]
    assert read_text(tmp_path, "g.csv", text).weights == expected
    assert read_text(tmp_path, "g.csv", text, weights=False).weights is None
    assert read_text(tmp_path, "g.txt", "1 2 .5\n2 3 7.\n").weights == [0.5, 7.0]
    assert read_text(tmp_path, "k.txt", "% asym\n1 2 3 1082040961\n").weights == [3.0]
    assert read_text(tmp_path, "s.csv", "weight,source,target\n9,1,2\n").weights == [9.0]


def test_ids_of_63_bits(tmp_path):
    high = (1 << 63) - 1
    got = read_text(tmp_path, "g.txt", f"{high} 0\n{1 << 40} {high}\n")
    assert got.pairs == [(high, 0), (1 << 40, high)]
    assert got.ids == [0, 1 << 40, high]


def test_ids_in_a_row_are_kept_as_their_first(tmp_path):
    got = read_text(tmp_path, "g.txt", "5000000001 5000000000\n5000000002 5000000001\n")
    assert got.vertex_ids.ids is None
    assert got.vertex_ids.first == 5_000_000_000
    assert got.ids == [5_000_000_000, 5_000_000_001, 5_000_000_002]


def test_a_vertex_with_only_a_loop_counts(tmp_path):
    assert read_text(tmp_path, "g.txt", "1 2\n9 9\n").ids == [1, 2, 9]


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("1 2\n3 x\n", 2, ["'x'", "whole number"]),
        ("1 2\n# c\n\n-3 4\n", 4, ["negative", "'-3'"]),
        ("1 2\n3 9223372036854775808\n", 2, ["9223372036854775808", "too large"]),
        ("1 2\n3 99999999999999999999999\n", 2, ["too large"]),
        ("1 2\n3\n", 2, ["too few"]),
        ("1 2\n3 4 5\n", 2, ["too many"]),
        ("1 2 1.0\n3 4\n", 2, ["too few"]),
        ("1 2 1.0\n3 4 heavy\n", 2, ["'heavy'", "weight"]),
        ("1 2 1.0\n3 4 nan\n", 2, ["weight"]),
        ("1 2 1.0\n3 4 1e999\n", 2, ["weight"]),
        ("1 2\n1.5 2\n", 2, ["'1.5'"]),
        ("1 2\n1e3 2\n", 2, ["'1e3'"]),
        ("1 2\n+1 2\n", 2, ["'+1'"]),
        ("1 2\n1,2\n", 2, ["'1,2'"]),
        ("1,2\n1 2\n", 2, ["whole number"]),
        ("1,2\n1,\n", 2, ["too few"]),
        ("1,2\n,1\n", 2, ["empty"]),
        ("1,2\n1,2,\n", 2, ["too many"]),
        ("source,target\n1,2\nthree,4\n", 3, ["'three'"]),
        ("1 2\n3 4 # five\n", 2, ["too many"]),
        ("1\n2\n", 1, ["one column"]),
        ("1 2 3 4 5\n", 1, ["5 columns"]),
        ("# nothing\n\n", 2, ["no edge"]),
        ("source,target\n", 1, ["source,target"]),
        ("-1 2\n", 1, ["negative"]),
    ],
)
def test_what_is_wrong_is_said_with_its_line(tmp_path, text, line, words):
    complains(refused(tmp_path, "g.csv", text), line, *words)


def test_the_line_is_right_far_into_a_file(tmp_path):
    lines = ["# head"] + [f"{i} {i + 1}" for i in range(300_000)]
    lines[222_222] = "1 zwei"
    error = refused(tmp_path, "g.txt", "\n".join(lines), memory="16MiB")
    complains(error, 222_223, "'zwei'")


def test_a_line_without_end_is_no_edge(tmp_path):
    complains(refused(tmp_path, "g.csv", "1 2\n" + "7" * 3_000_000), 2, "line of more than")


def test_many_blocks_keep_the_order(tmp_path):
    pairs = [(i * 7919 % 100_003, i) for i in range(100_000)]
    text = "".join(f"{u} {v}\n" for u, v in pairs)
    assert read_text(tmp_path, "g.txt", text, memory="16MiB").pairs == pairs


@pytest.mark.parametrize("text", ["1 2\r2 3\r", "1 2\r2 3\r3 4\r4 5\r", "# a\r1 2\r"])
def test_lines_that_end_in_a_carriage_return_alone_are_not_taken_for_one(tmp_path, text):
    complains(refused(tmp_path, "mac.txt", text), 1, "carriage return", "newline")
    complains(refused(tmp_path, "mac.txt", text, format="edge_list"), 1, "carriage return")


def test_one_carriage_return_among_newlines_is_found_on_its_line(tmp_path):
    complains(refused(tmp_path, "mixed.txt", "1 2\r\n2 3\n3 4\r4 5\n"), 3, "carriage return")
