"""Published figures: what a file may say, ratios within one convention, claims as the papers compute them."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy
import pytest

from gravel.stages.artifacts import EdgeList
from gravel.stages.errors import StageError
from gravel.stages.papers.published.model import CONVENTIONS, Published, read_published
from gravel.stages.papers.published.printed import published_sections
from tests.stages.measured import searched

FILE = Path(__file__).resolve().parents[4] / "workflows" / "papers" / "published.yaml"


def test_every_printed_row_has_a_paper_a_machine_and_a_convention() -> None:
    published = read_published(FILE)
    assert len(published.tables) >= 9
    assert len(published.claims) >= 9
    for table in published.tables:
        assert published.papers[table.paper]
        assert table.machine
        assert table.convention in CONVENTIONS
        assert table.rows


HEAD = "papers: {p: P}\n"
TABLE = HEAD + "tables:\n  - {paper: p, table: t, section: s, machine: m, rows: [{row: r, value: 1}]%s}\n"
CLAIM = HEAD + "claims:\n  - {paper: p, section: s, claim: c, value: 2, compute: %s}\n"


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        (TABLE % "", 3, "convention"),
        (TABLE % ", convention: teps", 3, "arcs"),
        (TABLE.replace("paper: p", "paper: q") % ", convention: arcs", None, "'q'"),
        (
            TABLE.replace("[{row", "[\n{row").replace("value: 1", "value: -1") % ", convention: arcs",
            4,
            "than 0",
        ),
        ("papers: [\n", 2, "expected the node content"),
        ("- 1\n", None, "mapping"),
        (CLAIM % "change", 3, "`from` and `to`"),
        (CLAIM % "none", 3, "`because` says why"),
        (CLAIM.replace("section: s, ", "") % "weak_slope", 3, "section"),
        (TABLE.replace("section: s, ", "") % ", convention: arcs", 3, "section"),
    ],
)
def test_faults_are_named_with_their_line(tmp_path: Path, text: str, line: int | None, message: str) -> None:
    file = tmp_path / "published.yaml"
    file.write_text(text)
    with pytest.raises(StageError, match=message) as raised:
        read_published(file)
    assert raised.value.file == str(file)
    assert raised.value.line == line


def published(convention: str, value: float = 2.0, **row: Any) -> Published:
    return Published.model_validate(
        {
            "papers": {"p": "Paper"},
            "tables": [
                {
                    "paper": "p",
                    "table": "t",
                    "section": "s",
                    "machine": "m",
                    "convention": convention,
                    "match": {"strategy": "hybrid"},
                    "rows": [{"row": "r", "value": value, "match": {"graph": ["kron", "other"]}, **row}],
                }
            ],
        }
    )


def cell(convention: str, column: str, extra: dict[str, Any] | None = None, **row: Any) -> Any:
    inputs: dict[str, Any] = {
        "bfs[graph=kron,search=hybrid]": searched("hybrid", 1e-3),
        "bfs[graph=kron,search=serial]": searched("serial", 1e-6),
        "bfs[graph=road,search=hybrid]": searched("hybrid", 1e-6),
        **(extra or {}),
    }
    (section,) = published_sections(published(convention, **row), list(inputs.items()))
    (found,) = section["rows"]
    return found[next(place for place, name in enumerate(section["columns"]) if name.startswith(column))]


@pytest.mark.parametrize(
    ("convention", "expected"), [("arcs", 0.904), ("edges", 0.452), ("milliseconds", 1e-3)]
)
def test_values_of_one_convention_stand_side_by_side_and_are_not_divided(
    convention: str, expected: float
) -> None:
    """Another machine's rate or time is no measure of ours."""
    assert cell(convention, "here,") == pytest.approx(expected)
    assert cell(convention, "paper,") == 2.0
    assert cell(convention, "graph") == "904 arcs"
    assert CONVENTIONS[convention] in str(
        published_sections(published(convention), [("bfs[graph=kron]", searched("hybrid", 1.0))])[0][
            "columns"
        ]
    )


def test_a_rate_per_generated_edge_needs_the_edge_list_and_counts_its_duplicates() -> None:
    assert cell("generated", "here,") is None
    ends = numpy.zeros(700, numpy.uint32)
    edges = EdgeList(source=ends, target=ends, vertex_count=31, undirected=True)
    short = EdgeList(source=ends[:9], target=ends[:9], vertex_count=31, undirected=True)
    lists = {"edges[graph=kron]": edges, "edges[graph=road]": short}
    # Searches of one level do not count, as in the 2018 paper; the second has two.
    assert cell("generated", "here,", lists) == pytest.approx(0.7)


def test_a_graph_of_another_size_is_said_to_be_one() -> None:
    assert cell("arcs", "graph", arcs=904) == "the paper's size"
    assert cell("arcs", "graph", arcs=1808) == "same kind, 0.5 of its arcs"


def claims(members: dict[str, Any], *claims: dict[str, Any]) -> list[list[Any]]:
    tables = [table.model_dump(by_alias=True) for table in published("arcs").tables]
    made = Published.model_validate({"papers": {"p": "P"}, "tables": tables, "claims": list(claims)})
    sections = published_sections(made, list(members.items()))
    return [
        row[2:] for section in sections if section["title"].startswith("Claims") for row in section["rows"]
    ]


def on(graph: str, milliseconds: float, **changed: Any) -> Any:
    one = searched("hybrid", milliseconds, graph=graph)
    return replace(one, graph=one.graph | changed)


def test_claims_are_computed_as_the_papers_compute_them() -> None:
    claim = {"paper": "p", "section": "s", "claim": "c", "value": 4.2}
    ratio = claim | {"compute": "speedup", "from": {"mapping": "warp"}, "to": {"strategy": "hybrid"}}
    quadratic = searched("quadratic", 3e-3, graph="a")
    by_warp, by_thread = (
        replace(quadratic, ran={"options": {"mapping": mapping}}) for mapping in ("warp", "thread")
    )
    searches = {"bfs[search=hybrid]": on("a", 1e-3), "bfs[search=warp]": by_warp, "bfs[search=q]": by_thread}
    assert claims(searches, ratio) == [[4.2, pytest.approx(3.0), None, "1 graphs"]]
    del searches["bfs[search=warp]"]
    assert claims(searches, ratio) == []  # by thread is another search
    elsewhere = {"bfs[search=warp]": replace(by_warp, hardware="another GPU")}
    assert claims(searches | elsewhere, ratio) == []
    change = claim | {"compute": "change", "from": {"order": "original"}, "to": {"order": "rcm"}}
    orders = {
        "bfs[graph=kron,order=original]": on("a", 10.0),
        "bfs[graph=kron,order=rcm]": on("a", 7.2, order={"method": "rcm"}),
    }
    # The label's axis differs as the order does, and nothing else.
    assert claims(orders, change) == [[4.2, pytest.approx(-28.0), None, "kron"]]
    rows = {"codec": "varint", "bits_per_arc": 21.6}
    size = claim | {"compute": "compression", "match": {"layout": "varint"}}
    assert claims({"bfs[graph=kron]": on("a", 1.0, rows=rows)}, size) == [
        [4.2, pytest.approx(32 / 21.6), None, "kron"]
    ]


def test_a_claim_that_cannot_be_computed_says_why_beside_others_of_its_paper() -> None:
    claim = {"paper": "p", "section": "s", "claim": "c", "value": 8.1, "compute": "none", "because": "no CPU"}
    size = claim | {"compute": "compression", "because": "", "match": {"layout": "varint"}}
    rows = {"codec": "varint", "bits_per_arc": 16.0}
    found = claims({"bfs[graph=kron]": on("a", 1.0, rows=rows)}, claim, size)
    assert found[0] == [8.1, None, None, "not computed: no CPU"]
    assert claims({"bfs[graph=kron]": on("a", 1.0)}, claim, size) == []


def test_the_slope_of_weak_scaling_needs_graphs_that_grow_with_the_ranks() -> None:
    slope = {"paper": "p", "section": "s", "claim": "c", "value": 1.0, "compute": "weak_slope"}
    grown = {
        f"bfs[ranks={ranks}]": on(str(ranks), 1.0, vertices=31 * ranks, partition={"ranks": ranks})
        for ranks in (1, 2, 4)
    }
    for place, one in enumerate(grown.values()):  # twice the ranks, twice the rate
        for search in one.searches:
            search["edges"] = 452 << place
    assert claims(grown, slope) == [[1.0, pytest.approx(1.0), None, "1 to 4 ranks, distinct edges"]]
    lists = {
        # The lists stay as they are, so that by the paper's convention nothing grows.
        f"edges[ranks={ranks}]": EdgeList(
            source=numpy.zeros(500), target=numpy.zeros(500), vertex_count=31 * ranks, undirected=True
        )
        for ranks in (1, 2, 4)
    }
    assert claims(grown | lists, slope) == [[1.0, pytest.approx(0.0), None, "1 to 4 ranks, generated edges"]]
    one_graph = {label: replace(one, graph=one.graph | {"vertices": 31}) for label, one in grown.items()}
    assert claims(one_graph, slope) == []


def test_the_papers_own_aggregates_follow_from_their_own_rows() -> None:
    """The transcription agrees with itself: 8.1x, 4.2x and 4.2x are harmonic means of table 2's columns."""
    tables = {table.table: table for table in read_published(FILE).tables}

    def mean(ours: str, theirs: str) -> float:
        rates = {row.row: row.value for row in tables[ours].rows}
        ratios = [rates[row.row] / row.value for row in tables[theirs].rows]
        return len(ratios) / sum(1 / ratio for ratio in ratios)

    assert mean("table 2, hybrid, distances", "table 2, Leiserson and Schardl, distances") == pytest.approx(
        8.1, abs=0.1
    )
    assert mean("table 2, hybrid, predecessors", "table 2, Agarwal et al., predecessors") == pytest.approx(
        4.2, abs=0.1
    )
    quadratic = "table 2, quadratic (Hong et al.), distances"
    assert mean("table 2, hybrid, distances", quadratic) == pytest.approx(4.2, abs=0.1)


def test_a_sentence_that_its_own_table_does_not_bear_out_stands_beside_the_table() -> None:
    """The text of pan2018 says linear; its table II gives the slope 0.50 from 1 to 124 GPUs."""
    published = read_published(FILE)
    (claim,) = [claim for claim in published.claims if claim.compute == "weak_slope"]
    assert claim.value == 1.0
    assert claim.own_table is not None
    rates = {
        row.row: row.value for table in published.tables if table.paper == "pan2018" for row in table.rows
    }
    slope = math.log(rates["scale 33"] / rates["scale 24, 1 GPU"]) / math.log(124)
    assert claim.own_table.value == pytest.approx(slope, abs=0.01)
    later = math.log(rates["scale 33"] / rates["scale 29, 8 GPUs of 2 nodes"]) / math.log(124 / 8)
    assert f"{later:.2f} from 53.13 on 8" in claim.own_table.rows
    grown = {
        f"bfs[ranks={ranks}]": on(str(ranks), 1.0, vertices=31 * ranks, partition={"ranks": ranks})
        for ranks in (1, 2, 4)
    }
    (table,) = [
        section
        for section in published_sections(published, list(grown.items()))
        if section["title"].startswith("Claims")
    ]
    (row,) = [row for row in table["rows"] if "weak scaling" in row[1]]
    told = dict(zip(table["columns"], row, strict=True))
    assert told["paper's number"] == 1.0
    assert told["by its own table"] == (
        "0.50 (table II, from 22.9 on 1 GPU to 259.8 GTEPS on 124; 0.58 from 53.13 on 8)"
    )
    assert "linear" in told["claim"]
    assert "both are shown" in table["about"]
