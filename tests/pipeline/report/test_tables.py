"""The table beneath a chart has the chart's numbers, for each kind of panel."""

from __future__ import annotations

from gravel.pipeline.report.tables import MAX_CELLS, chart_table, data_set_tables, prepared_table, shown_table
from gravel.stages.charts import Axis, Chart, Curves, Line, Rule, Span
from tests.pipeline.report.chart_gallery import frontier, maps, matrix, spread, stacks, times


def test_lines_share_the_rows_of_their_x() -> None:
    columns, rows = chart_table(Chart(about="", panels=(frontier(),)))
    assert columns == ["level", "vertex frontier", "edge frontier", "logical", "level searched bottom-up"]
    assert rows[3] == [3, 1200, 10800, 7200, None]
    assert rows[5] == [5, 90000, 810000, 540000, "yes"]
    about = shown_table(Chart(about="", panels=(frontier(),)))["about"]
    assert about == "Lines across: a thousand: frontier size 1,000."


def test_an_x_that_occurs_twice_has_two_rows() -> None:
    _, rows = chart_table(Chart(about="", panels=(spread(),)))
    assert [row[0] for row in rows] == [0.8, 0.8, 0.9, 0.9, 1.3]
    assert [row[1] for row in rows] == [0, 0.25, 0.5, 0.75, 1]


def test_panels_stand_under_each_other() -> None:
    columns, rows = chart_table(Chart(about="", panels=tuple(stacks())))
    assert columns[:3] == ["part", "level", "local computation"]
    assert {row[0] for row in rows} == {"by level", "by ranks"}
    assert rows[0][2] == 2  # a part's own value, not the sum below it


def test_rows_have_the_ends_of_their_ranges() -> None:
    columns, rows = chart_table(Chart(about="", panels=(times(),)))
    assert columns == ["run", "median", "median quartile, low", "median quartile, high"]
    assert rows[0] == ["serial", 30.0, 28.0, 35.0]


def test_maps_are_tables_and_pictures_are_told_by_facts() -> None:
    columns, rows = chart_table(Chart(about="", panels=(maps()[0],)))
    assert columns == ["part", "ms", "csr", "varint"]
    assert rows == [["small", "a", 1.0, 20.0], ["small", "b", 3.5, None]]
    columns, rows = chart_table(Chart(about="", panels=(matrix(),)))
    assert (columns, rows) == (["part", "blocks a side", "arcs"], [["rcm", 96, 9]])


def test_names_that_are_alike_stay_apart() -> None:
    line = Line(name="level", x=(1, 2), y=(3, 4))
    panel = Curves(
        x=Axis(label="level"),
        lines=(line, line),
        spans=(Span(first=1, last=1, name="shaded"),),
        rules=(Rule(at=2, axis="x", name="mean"),),
    )
    columns, rows = chart_table(Chart(about="", panels=(panel,)))
    assert columns == ["level", "level (2)", "level (3)", "shaded"]
    assert rows == [[1, 3, 3, "yes"], [2, 4, 4, None]]


def test_a_long_table_is_cut_with_a_word() -> None:
    many = tuple(range(5 * MAX_CELLS))
    shown = shown_table(Chart(about="", panels=(Curves(lines=(Line(name="a", x=many, y=many),)),)))
    assert len(shown["rows"]) == MAX_CELLS // 2
    assert shown["about"] == "The first 2,000 of 20,000 rows; report.json has all."


def test_a_table_of_one_row_has_a_row_for_each_of_its_many_columns() -> None:
    columns = ["run", "ms", "rate", "depth", "verified"]
    shown = prepared_table({"columns": columns, "rows": [["bfs", 2.0, 0.5, 3, "passed"]]}, 100)
    assert shown["listed"]
    assert [(cell["name"], cell["text"]) for cell in shown["cells"][0]][:2] == [
        ("run", "bfs"),
        ("ms", "2.00"),
    ]
    assert not prepared_table({"columns": columns[:3], "rows": [["bfs", 2.0, 0.5]]}, 100)["listed"]
    assert not prepared_table({"columns": columns, "rows": [["a", 1.0, 1.0, 1, "passed"]] * 2}, 100)["listed"]


def test_times_are_written_as_everywhere_and_sorted_by_their_seconds() -> None:
    row = {"name": "a", "state": "done", "change": "new", "stages": {"done": 1}, "vertices": 2, "edges": 1}
    record = {"datasets": [{**row, "seconds": 245.0, "error": None, "location": "a.txt"}]}
    (report,) = data_set_tables(record)
    cells = {cell["name"]: cell for cell in prepared_table(report["sections"][0], 100)["cells"][0]}
    assert (cells["time"]["text"], cells["time"]["order"]) == ("4 min 05 s", 245.0)
