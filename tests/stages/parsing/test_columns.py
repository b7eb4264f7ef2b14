"""Which columns of an edge list are its ends and its weight, what separates them, and what is said of it."""

import itertools

import pytest

from gravel.stages.context import PlainContext
from gravel.stages.errors import StageError
from gravel.stages.ingest import ingest
from gravel.stages.ingest_parameters import IngestParameters


class Told(PlainContext):
    """Keeps what is doubtful apart."""

    def __init__(self):
        super().__init__()
        self.remarks = []

    def remark(self, message):
        self.remarks.append(message)


def read(folder, text, name="g.csv", **options):
    """Return the edges under their ids with weights, what was read, and what is doubtful."""
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    context = Told()
    edges, ids = ingest(context, IngestParameters(file=str(path), **options))
    if ids.text is not None:
        data, ends = bytes(ids.text), [int(end) for end in ids.offsets]
        names = [data[a:b].decode() for a, b in itertools.pairwise(ends)]
    else:
        names = (
            [int(each) for each in ids.ids]
            if ids.ids is not None
            else range(ids.first, ids.first + ids.vertex_count)
        )
    columns = [edges.source, edges.target]
    found = [tuple(names[end] for end in row) for row in zip(*columns, strict=True)]
    if edges.weight is not None:
        found = [(*pair, float(weight)) for pair, weight in zip(found, edges.weight, strict=True)]
    taken = next(line.partition(" as: ")[2] for line in context.messages if line.startswith("read "))
    return found, taken, context.remarks


def refused(folder, text, name="g.csv", **options):
    with pytest.raises(StageError) as caught:
        read(folder, text, name, **options)
    return caught.value


@pytest.mark.parametrize(
    ("text", "options", "found", "taken"),
    [
        (",source,target\n0,50,60\n1,60,70\n", {}, [(50, 60), (60, 70)], "left out: (unnamed)"),
        (",source,target\n0,50,60\n1,60,70\n", {"header": True}, [(50, 60), (60, 70)], "left out: (unnamed)"),
        (",source,target,weight\n0,5,6,1.5\n1,6,7,2.5\n", {}, [(5, 6, 1.5), (6, 7, 2.5)], "weight weight"),
        ('"","source","target"\n"1","a","b"\n', {}, [("a", "b")], "source source, target target"),
        ('"source" "target"\n"1" 5 6\n"2" 6 7\n', {}, [(5, 6), (6, 7)], "source source, target target"),
        (",payer,payee\n0,5,6\n1,6,7\n", {}, [(5, 6), (6, 7)], "source payer, target payee"),
        ('source,target,label,weight\n1,2,"a, b",5\n', {}, [(1, 2, 5.0)], "left out: label"),
        ('source,target,label,weight\nx,y,"a, b",5\n', {}, [("x", "y", 5.0)], "left out: label"),
        ('"source","target","weight"\n"1","2","5"\n', {}, [(1, 2, 5.0)], "comma, header"),
        ("1,2,\n2,3,\n", {}, [(1, 2), (2, 3)], "source column 1, target column 2"),
        ("source,target\n1,2,\n2,3,\n", {}, [(1, 2), (2, 3)], "source source, target target"),
        ("1,2,friend\n2,3,foe\n", {"weights": False}, [(1, 2), (2, 3)], "left out: column 3"),
        ("source,destination\na,b\nb,c\n", {}, [("a", "b"), ("b", "c")], "target destination"),
        ("idx,source,destination\n90,1,2\n", {}, [(1, 2)], "left out: idx"),
        ("SRC_ID,Dst_Id\n1,2\n", {}, [(1, 2)], "source SRC_ID, target Dst_Id"),
        ("object,subject\na,b\n", {}, [("b", "a")], "source subject, target object"),
        ("col,row,w\n1,2,3\n", {}, [(2, 1, 3.0)], "source row, target col, weight w"),
        ("src,whatever\na,b\n", {}, [("a", "b")], "source src, target whatever"),
        ("target,whatever\na,b\n", {}, [("b", "a")], "source whatever, target target"),
        ("from,to,source,target\n1,2,3,4\n", {}, [(3, 4)], "source source, target target"),
        ("source,target,cost,weight\n1,2,3,4\n", {}, [(1, 2, 4.0)], "weight weight; left out: cost"),
        ("source,target,cost,length\n1,2,3,4\n", {"weights": False}, [(1, 2)], "left out: cost, length"),
        ("tail,head\n1,2\n", {}, [(1, 2)], "source tail, target head"),
        ("payer,payee\n1,2\n", {}, [(1, 2)], "source payer, target payee"),
        ("a b 2.5\nb c 3\n", {}, [("a", "b", 2.5), ("b", "c", 3.0)], "weight column 3"),
        ("1 2 7 99\n2 3 8 98\n", {}, [(1, 2, 7.0), (2, 3, 8.0)], "weight column 3; left out: column 4"),
    ],
)  # fmt: skip
def test_columns(tmp_path, text, options, found, taken):
    edges, said, _ = read(tmp_path, text, **options)
    assert edges == found
    assert taken in said


@pytest.mark.parametrize(
    ("text", "options", "words", "hint"),
    [
        ("when,payer,payee\n1,2,3\n", {}, "the columns are when, payer, payee", "--columns source=NAME"),
        ("when,payer,payee\n1,2,3\n", {}, "the first row is 1, 2, 3", "columns: {source: NAME"),
        ("source,kind,amount\n1,2,3\n", {}, "no column is known as the target", "say which"),
        ("src,dst,from,to\n1,2,3,4\n", {}, "src and dst or src and to", "say which"),
        ("source,target,cost,length\n1,2,3,4\n", {}, "may be column cost or length", "weights: false"),
        ("a,b,NA\nb,c,1.5\nc,d,2\n", {}, "the columns are a, b, NA", "say which"),
        ("1,2,3,4,5\n", {}, "5 columns and no header", "--columns source=1,target=2"),
        ("a,b,x,y\n", {}, "4 columns and no header", "source=1,target=2"),
        ("source,target\n1,2\n", {"columns": {"source": "payer"}}, "no column payer", "name one"),
        ("1,2\n", {"columns": {"source": 1, "target": 3}}, "no column 3: there are 2", "from 1"),
        ("source,target\n1,2\n", {"columns": {"source": 1, "target": 1}}, "cannot be two of", "say which"),
        ("source,source,target\n1,2,3\n", {}, "2 columns are called source", "rename"),
        ("1,2\n", {"delimiter": ";"}, "one column with the delimiter 'semicolon'", "another one"),
        ("Smith, J;Doe, J\nDoe, J;Roe, R\n", {}, "comma (3 columns) or semicolon", "`delimiter: comma`"),
        ("New York,Boston\n1\n", {"columns": {"source": "x", "target": "y"}}, "no column x", "name one"),
    ],
)  # fmt: skip
def test_columns_that_are_not_clear(tmp_path, text, options, words, hint):
    error = refused(tmp_path, text, **options)
    assert error.line == 1
    assert words in error.message
    assert hint in error.hint


@pytest.mark.parametrize(
    ("text", "name", "found"),
    [
        ("0 1 {'weight': 2.5, 'k': 1}\n1 2 {'weight': 3, 'k': 1}\n", "g.txt", [(0, 1, 2.5), (1, 2, 3.0)]),
        ("0 1 {}\n1 2 {}\n", "g.edgelist", [(0, 1), (1, 2)]),
        ("a,b,{'weight': np.float64(1.5)}\n", "g.csv", [("a", "b", 1.5)]),
        ("a b {'k': \"it's, weight: 7\"}\n", "g.txt", [("a", "b")]),
        ("1 2 x,y\n2 3 z,w\n", "g.txt", [(1, 2), (2, 3)]),
        ("(1,2) (3,4)\n(3,4) (5,6)\n", "g.txt", [("(1,2)", "(3,4)"), ("(3,4)", "(5,6)")]),
        ("1, 2\n2, 3\n", "g.txt", [(1, 2), (2, 3)]),
        ("1;2;3,5\n2;3;4,25\n", "g.csv", [(1, 2, 3.5), (2, 3, 4.25)]),
        ("a|b\nb|c\n", "g.txt", [("a", "b"), ("b", "c")]),
        ("New York\tBoston\nRome\tSan Jose\n", "g.tsv", [("New York", "Boston"), ("Rome", "San Jose")]),
        ('"a;b",c\n"d;e",f\n', "g.csv", [("a;b", "c"), ("d;e", "f")]),
        ("  1   2  \n\n3 \t 4\n", "g.txt", [(1, 2), (3, 4)]),
    ],
)
def test_delimiters(tmp_path, text, name, found):
    options = {"weights": False} if len(found[0]) == 2 else {}
    assert read(tmp_path, text, name, **options)[0] == found


@pytest.mark.parametrize(
    ("text", "name", "words"),
    [
        ("a pp b\nb pp c\n", "a.sif", "SIF"),
        ("a -> b\nb -> c\n", "arrows.txt", "arrows"),
        ("3 2\n0 1\n1 2\n", "n_m.txt", "counts of vertices and edges"),
        ("2 3\n1 2\n2 3\n", "two.hgr", "hMETIS"),
        ("0 1 2\n1 2 0\n2 0 1\n", "g.adjlist", "adjacency lists"),
        ("alice\tknows\tbob\nbob\tknows\tcarol\n", "triples.tsv", "triples"),
        ("a,b,friend\nb,c,foe\n", "g.csv", "third column holds no numbers"),
        ("payer,payee\nalice,bob\n", "g.csv", "is read as an edge"),
        ("u,v\nu,x\n", "g.csv", "is read as an edge"),
        ("u,v\na,b\n", "g.csv", "is read as a header"),
        ("007,008\n008,009\n", "g.csv", "some begin with 0"),
    ],
)
def test_what_is_doubtful_is_said(tmp_path, text, name, words):
    _, _, doubts = read(tmp_path, text, name)
    assert any(words in doubt for doubt in doubts), doubts


def test_nothing_is_doubtful_about_plain_lists(tmp_path):
    for text in ("1 2\n2 3\n", "source,target,weight\n1,2,3\n", "a\tb\t2\nb\tc\t3\n", "1,2,3\n2,9,1\n"):
        assert read(tmp_path, text, "g.txt")[2] == []


def test_ids_stay_texts(tmp_path):
    text = "u,v\n007,NA\ntrue,2024-01-01\nnull,x7\n"
    assert read(tmp_path, text, ids="text")[0] == [("007", "NA"), ("true", "2024-01-01"), ("null", "x7")]


def test_columns_of_a_wide_file(tmp_path):
    rows = "when,payer,payee,kind,amount\n2026-01-01,a,b,paid,1.5\n"
    rows += "2026-01-02,b,c,refund,2\n2026-01-03,c,d,paid,-1\n"
    columns = {"source": "payer", "target": "payee", "weight": "amount"}
    found, taken, _ = read(tmp_path, rows, columns=columns)
    assert found == [("a", "b", 1.5), ("b", "c", 2.0), ("c", "d", -1.0)]
    assert taken == "comma, header; source payer, target payee, weight amount; left out: when, kind"
    asked = "kind == 'paid' and amount > 0 and when >= '2026-01-01'"
    assert read(tmp_path, rows, columns=columns, filter=asked)[0] == [("a", "b", 1.5)]
    assert "leaves no row" in refused(tmp_path, rows, columns=columns, filter="amount > 99").message
    assert "no column total" in refused(tmp_path, rows, columns=columns, filter="total > 99").message
    broken = rows.replace("2026-01-03,c,d,paid,-1", "2026-01-03,c,d,paid,much")
    error = refused(tmp_path, broken, columns=columns, filter="amount > 0")
    assert error.line == 4
    assert "much" in error.message


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("source,target,weight\n1,2,5,9\n2,3,6\n3,4,7\n", 2, "too many columns"),
        ('"source","target"\n"1","2"\n\n"2","x"\n', 4, "whole number"),
        ('"source","target"\n"1","2"\n"2","-3"\n', 3, "negative"),
        ('"source","target"\n"1","2"\n"2","99999999999999999999"\n', 3, "too large"),
        ('"source","target","w"\n"1","2","1"\n"2","3","much"\n', 3, "weight"),
        ('"source","target"\n"1","2"\n"2","3\n', 3, "quote does not end"),
        ("source,target,a,b,c\nx,y,1,2,3\nx,,1,2,3\n", 3, "empty id"),
        ("source,target,a,b,c\nx,y,1,2,3\nx,y,1,2\n", 3, "too few columns"),
        ("source,target,a,b,c\nx,y,1,2,3\n#x,y,1,2,3\n", 3, "comment"),
        (b"source,target,a,b,c\nx,y,1,2,3\nx,\xff,1,2,3\n", 3, "UTF-8"),
        ("0 1 {'weight': 2}\n1 2 {}\n2 3 {'weight': 1}\n", 2, "weight"),
    ],
)
def test_the_line_that_is_wrong_is_named(tmp_path, text, line, words):
    error = refused(tmp_path, text)
    assert error.line == line, error
    assert words in error.message


def test_konect_numbers_both_sides_of_a_bipartite_list(tmp_path):
    text = "% bip unweighted\n% 3 2 2\n1 1\n1 2\n2 1\n"
    found, said, _ = read(tmp_path, text, "out.txt")
    assert found == [(1, 3), (1, 4), (2, 3)]
    assert "ids of targets are numbered on their own" in said
    error = refused(tmp_path, text.replace("% 3 2 2\n", ""), "out.txt")
    assert "line of counts" in error.message
