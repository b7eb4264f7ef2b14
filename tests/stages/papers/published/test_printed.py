"""Tables shown as a paper prints them: its value, its way here, gravel's own, and what was not run."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gravel.stages.artifacts import Measurement, Verification
from gravel.stages.errors import StageError
from gravel.stages.papers.published.model import CONVENTIONS, Published, read_published
from gravel.stages.papers.published.printed import published_sections
from tests.stages.measured import searched

WAY = {"strategy": "adaptive"}


def table(**more: Any) -> dict[str, Any]:
    both = [
        {"row": row, "column": "Time", "value": value, "match": WAY | at, "ours": at}
        for row, value, at in (("plain", 12.0, {"layout": "csr"}), ("packed", 4.0, {"layout": "varint"}))
    ]
    speedup = {"row": "packed", "column": "Speedup", "value": 3.0, "convention": "speedup", "over": "plain"}
    rows = [*both, speedup]
    whole = {
        "paper": "p",
        "table": "table 1",
        "section": "4.3",
        "machine": "m",
        "convention": "milliseconds",
        "rows": rows,
    }
    return whole | {"match": {"paper": "p"}, "ours": {"asked": "auto"}} | more


def published(**more: Any) -> Published:
    return Published.model_validate({"papers": {"p": "Paper"}, "tables": [table(**more)]})


def run(milliseconds: float, layout: str, *, own: bool = False, order: str = "original") -> Measurement:
    asked = {} if own else {"paper": "p"}
    one = searched("auto" if own else "adaptive", milliseconds, asked=asked)
    rows = {"codec": layout, "stream_bytes": 5_000_000}
    return replace(one, graph=one.graph | {"rows": rows, "order": {"method": order}})


def checked(passed: bool = True, **more: Any) -> Verification:
    return Verification(algorithm="bfs", checks=[{"check": "tree", "passed": passed, "searches": 2}], **more)


MEMBERS = {
    "found[graph=g,layout=csr,search=adaptive]": run(10.0, "csr"),
    "found[graph=g,layout=varint,search=adaptive]": run(5.0, "varint"),
    "found[graph=g,layout=csr,search=bfs]": run(2.0, "csr", own=True),
    "found[graph=g,layout=varint,search=bfs]": run(4.0, "varint", own=True),
}


def lines(
    members: dict[str, Any], not_run: dict[str, str] | None = None, **more: Any
) -> list[dict[str, Any]]:
    (section,) = published_sections(published(**more), list(members.items()), not_run)
    return [dict(zip(section["columns"], row, strict=True)) for row in section["rows"]]


def test_each_printed_value_stands_beside_both_ways() -> None:
    checks = {f"check[{label.partition('[')[2]}": checked() for label in MEMBERS}
    plain, packed = lines(MEMBERS | checks)
    assert [plain[f"Time (ms), {which}"] for which in ("paper", "its way here", "gravel's")] == [
        12.0,
        10.0,
        2.0,
    ]
    assert [
        packed[f"Speedup (times as fast), {which}"] for which in ("paper", "its way here", "gravel's")
    ] == [3.0, 2.0, 0.5]
    assert (plain["graph"], plain["placement"], plain["verified"]) == ("g", "host", "passed")
    assert plain["Speedup (times as fast), paper"] is None


def test_what_needs_a_gpu_is_said_and_nothing_stands_in_for_it() -> None:
    own = {label: one for label, one in MEMBERS.items() if "search=bfs" in label}
    reason = "needs a GPU: strategy adaptive has no CPU code"
    lost = {label: reason for label in MEMBERS if label not in own}
    plain, packed = lines(own, lost)
    assert (
        plain["Time (ms), its way here"]
        == packed["Speedup (times as fast), its way here"]
        == "not run: needs a GPU"
    )
    assert plain["Time (ms), gravel's"] == 2.0
    # What was left out for another reason, or is not there at all, is no such thing.
    assert lines(own)[0]["Time (ms), its way here"] is None
    some = dict.fromkeys(lost, "it was left out")
    assert lines(own, some)[0]["Time (ms), its way here"] is None


def test_a_failed_check_and_parts_of_components_are_told() -> None:
    label = "check[graph=g,layout=csr,search=adaptive]"
    assert lines(MEMBERS | {label: checked(passed=False)})[0]["verified"] == "FAILED"
    every = {f"check[{each.partition('[')[2]}": checked() for each in MEMBERS}
    left = {"check": "edges_agree", "reason": "r", "whole": 0.9995}
    told = lines(MEMBERS | every | {label: checked(skipped=[left])})[0]["verified"]
    assert told == "passed; parts left: 99.95 % of vertices whole"
    assert lines(MEMBERS)[0]["verified"] is None


ORDERS = [
    {"row": "r", "column": name, "value": value, "match": {"order": name}, "ours": {"order": name}}
    for name, value in (("original", 12.0), ("rcm", 8.6), ("degree", None))
]


def test_the_best_column_is_told_against_the_baseline() -> None:
    members = {
        f"found[graph=g,order={order},search={own}]": run(time * (1 + own), "csr", own=bool(own), order=order)
        for order, time in (("original", 10.0), ("rcm", 11.5), ("degree", 12.0))
        for own in (0, 1)
    }
    (line,) = lines(members, rows=ORDERS, baseline="original")
    assert line["best, paper"] == "rcm (-28 %)"
    assert line["best, its way here"] == "original (+15 %)"
    assert line["degree (ms), paper"] is None
    assert line["degree (ms), gravel's"] == 24.0


@pytest.mark.parametrize(
    ("times", "told"), [((1.0,), "not ranked (-20 %)"), ((1.0, 1.6), "tied (+4 %)")], ids=["once", "tied"]
)
def test_no_best_is_named_where_runs_are_not_ranked_or_tied(times: tuple[float, ...], told: str) -> None:
    members = {}
    for place, order in enumerate(("original", "rcm")):
        one = run(10.0, "csr", order=order)
        each = zip(one.searches, times if place else (1.25,) * len(times), strict=False)
        searches = [search | {"milliseconds": 10.0 * share} for search, share in each]
        members[f"found[graph=g,order={order}]"] = replace(one, searches=searches)
    (line,) = lines(members, rows=ORDERS, baseline="original")
    assert line["best, its way here"] == told


def test_units_stand_in_the_columns_or_where_these_have_several_in_the_rows() -> None:
    (plain, _), about = lines(MEMBERS), published_sections(published(), list(MEMBERS.items()))[0]["about"]
    assert {"Time (ms), paper", "Speedup (times as fast), gravel's"} <= plain.keys()
    assert "ms" not in about
    mixed = [
        {"row": "runtime", "column": "c", "value": 1.0, "match": WAY},
        {"row": "size", "column": "c", "value": 1.0, "match": WAY, "convention": "row_bytes"},
    ]
    assert [line["row"] for line in lines(MEMBERS, rows=mixed)] == [
        "runtime (ms)",
        "size (10^9 bytes of rows)",
    ]


@pytest.mark.parametrize(
    ("convention", "expected"), [("row_bytes", 0.005), ("row_rate", 0.5), ("milliseconds", 10.0)]
)
def test_values_count_as_their_convention_says(convention: str, expected: float) -> None:
    rows = [{"row": "r", "column": "c", "value": 1.0, "match": WAY | {"layout": "csr"}}]
    (line,) = lines(MEMBERS, rows=rows, convention=convention)
    assert line[f"c ({CONVENTIONS[convention]}), its way here"] == pytest.approx(expected)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("[{row: r, column: c, value: 1}, {row: s, value: 1}]", "either all rows"),
        ("[{row: r}]", "without a column needs a value"),
        ("[{row: r, column: c, value: 1, convention: speedup}]", "needs `over`"),
        ("[{row: r, column: c, value: 1, convention: speedup, over: s}]", "needs `over`"),
        ("[{row: r, column: c, value: 1}], baseline: d", "no column|not a column"),
    ],
)
def test_faults_of_printed_tables_are_named(tmp_path: Any, rows: str, message: str) -> None:
    file = tmp_path / "published.yaml"
    head = "papers: {p: P}\ntables:\n  - {paper: p, table: t, section: s, machine: m, "
    file.write_text(f"{head}convention: milliseconds, rows: {rows}}}\n")
    with pytest.raises(StageError, match=message) as raised:
        read_published(file)
    assert raised.value.line == 3


def test_a_table_without_columns_leaves_orders_that_were_not_timed_out() -> None:
    rows = [{"row": "r", "value": 2.0}]
    made = published(rows=rows, convention="order_milliseconds", match={}, ours={})
    members = {**MEMBERS, "times[graph=g]": replace(run(1.0, "csr", own=True), order_milliseconds=3.0)}
    (section,) = published_sections(made, list(members.items()))
    assert [row[:3] for row in section["rows"]] == [["r", 2.0, 3.0]]
