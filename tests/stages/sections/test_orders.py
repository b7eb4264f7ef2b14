"""What a report says of orders and layouts: the tables of Moschou's study, bits per arc, auto, the best."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy
import pytest

from gravel.stages.artifacts import CompressedGraph, Measurement, Ordering, Verification
from gravel.stages.context import PlainContext
from gravel.stages.report import ReportParameters, report
from gravel.stages.sections.layouts import cells
from gravel.stages.sections.studies import graph_names
from gravel.stages.traversal.records import prepared
from tests.stages.measured import searched

BITS = {
    "original": {"csr": 32.0, "varint": 9.9, "blocks": 8.0},
    "rcm": {"csr": 32.0, "varint": 12.0, "blocks": 9.0},
}
TIMES = {
    ("original", "csr"): 12.0, ("original", "varint"): 6.0, ("original", "blocks"): 4.0,
    ("rcm", "csr"): 8.0, ("rcm", "varint"): 7.0, ("rcm", "blocks"): 5.0,
}  # fmt: skip


def ordering(method: str, advice: dict[str, Any] | None = None) -> Ordering:
    statistics: dict[str, Any] = {"bandwidth": 100, "mean_gap": 7.5, "bits_per_arc": BITS[method]["varint"]}
    return Ordering(
        row_offsets=numpy.array([0, 1, 2]),
        column_indices=numpy.array([1, 0], numpy.uint32),
        vertex_count=2,
        arc_count=2,
        symmetric=True,
        deduplicated=True,
        permutation=numpy.arange(2, dtype=numpy.uint32),
        method=method,
        statistics=statistics | ({"advice": advice} if advice else {}),
    )


def packed(order: str, codec: str, advice: dict[str, Any] | None = None) -> CompressedGraph:
    statistics: dict[str, Any] = {"bits_per_arc": BITS[order][codec], "stream_bytes": 5_000_000}
    return CompressedGraph(
        byte_offsets=numpy.array([0, 1, 2]),
        stream=numpy.zeros(2, numpy.uint8),
        codec=codec,
        vertex_count=2,
        arc_count=2,
        symmetric=True,
        deduplicated=True,
        statistics=statistics | ({"advice": advice} if advice else {}),
    )


def measured(
    milliseconds: float,
    order: Ordering | None,
    rows: CompressedGraph | None = None,
    *,
    algorithm: str = "bfs",
    placement: str | None = None,
    graph: str = "a",
    link: int | None = None,
) -> Measurement:
    """A measurement of rows in this order, which says so as `traverse` has it say so."""
    asked = {"placement": placement} if placement else {}
    if rows is not None and rows.codec != "csr" and algorithm == "bfs":
        asked["layout"] = rows.codec
    one = searched("auto", milliseconds, graph=graph, asked=asked, times=(1.0, 0.5, 3.0))
    searches = [search | ({"link_bytes": link} if link else {}) for search in one.searches]
    stored = order
    if order is not None and rows is not None:
        told = {"order": {"method": order.method, **order.statistics}}
        stored = replace(rows, statistics=rows.statistics | told)
    about = {} if stored is None else prepared(stored)
    return replace(one, algorithm=algorithm, searches=searches, graph=one.graph | about)


def verified(*, passed: bool = True) -> Verification:
    return Verification(algorithm="bfs", checks=[{"check": "tree", "passed": passed, "searches": 3}])


def advice(choice: str, order: str, layout: str, algorithm: str = "bfs") -> dict[str, Any]:
    record = {
        "order": order, "layout": layout, "placement": "device", "bits_per_arc": 8.5,
        "search_milliseconds": 3.5, "prepare_milliseconds": 1.0,
    }  # fmt: skip
    considered = [record, {**record, "layout": "csr"}]
    return {
        "choice": choice,
        "reason": f"{choice} is cheap",
        "for": {"algorithm": algorithm},
        "considered": considered,
    }


def study(placements: tuple[str, ...] = ("device",), graphs: tuple[str, ...] = ("crawl",)) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for graph in graphs:
        for order in BITS:
            found[f"ordered[graph={graph},order={order}]"] = ordering(order)
            for layout in BITS[order]:
                found[f"packed[graph={graph},order={order},layout={layout}]"] = packed(order, layout)
        for (order, layout), time in TIMES.items():
            for search, factor in (("bfs", 1.0), ("components", 3.0)):
                for slower, placement in enumerate(placements):
                    at = (
                        f"[graph={graph},order={order},layout={layout},search={search},placement={placement}]"
                    )
                    found[f"run{at}"] = measured(
                        time * factor * 10**slower,
                        found[f"ordered[graph={graph},order={order}]"],
                        found[f"packed[graph={graph},order={order},layout={layout}]"],
                        algorithm=search,
                        placement=placement,
                        graph=graph,
                        link=8_000_000 if placement != "device" else None,
                    )
                    found[f"check{at}"] = verified()
    return found


def made(inputs: dict[str, Any]) -> dict[str, dict[str, Any]]:
    result = report(PlainContext(), ReportParameters(labels=tuple(inputs)), inputs=tuple(inputs.values()))
    return {section["title"]: section for section in result.sections}


def test_cells_join_a_measurement_with_what_it_searched():
    found = cells(list(study(("device", "pinned")).items()))
    assert len(found) == 24
    one = next(cell for cell in found if (cell.order, cell.layout) == ("rcm", "blocks"))
    assert (one.placement, one.algorithm, one.bits) == ("device", "bfs", 9.0)
    assert one.graph == "crawl"
    elsewhere = [(label.replace("graph=", "of="), each) for label, each in study().items()]
    assert cells(elsewhere)[0].graph == "31 vertices, 904 arcs"
    assert one.milliseconds == 5.0
    assert one.verified == "passed"
    assert [cell.placement for cell in found] == ["device"] * 12 + ["pinned"] * 12


def test_rows_need_not_be_kept():
    measurements = {label: one for label, one in study().items() if isinstance(one, Measurement)}
    sections = made(measurements)
    assert len(sections["What is best for each algorithm"]["rows"]) == 2
    assert sections["Compression by order"]["rows"][0][4:7] == [32.0, 9.9, 8.0]


def test_searches_of_graphs_as_they_come_are_no_cells():
    assert cells([("run[a=1]", measured(1.0, None)), ("run[a=2]", measured(2.0, None))]) == []
    (one, two) = cells([(f"run[a={order}]", measured(1.0, ordering(order))) for order in BITS])
    assert (one.layout, one.bits, two.order) == ("csr", None, "rcm")


def test_nothing_is_told_where_orders_do_not_differ():
    one_order = {label: one for label, one in study().items() if "rcm" not in label}
    assert len(one_order) == 16
    assert cells(list(one_order.items())) == []
    assert "What is best for each algorithm" not in made(one_order)


def test_plain_and_packed_rows():
    table = made(study())["Plain and compressed rows, original order"]
    assert [row[2:] for row in table["rows"]] == [
        ["BFS", "csr", "columns", 12.0, 1.0],
        ["BFS", "varint", "as written", 6.0, 2.0],
        ["BFS", "blocks", "as written", 4.0, 3.0],
        ["components", "csr", "columns", 36.0, 1.0],
        ["components", "varint", "decoded first", 18.0, 2.0],
        ["components", "blocks", "decoded first", 12.0, 3.0],
    ]


def test_compressed_searches_in_detail():
    table = made(study(("device", "pinned")))["Compressed searches in detail"]
    rows = [row[1:] for row in table["rows"]]
    assert rows[0] == ["device", "BFS", "blocks", "as written", 4.0, 5.0, None, None, "passed"]
    assert rows[2] == ["pinned", "BFS", "blocks", "as written", 40.0, 5.0, 8.0, pytest.approx(0.2), "passed"]
    assert len(rows) == 4


def test_what_an_order_does():
    table = made(study())["What an order does to each algorithm"]
    assert table["columns"][3:5] == ["original", "rcm"]
    rows = {row[2]: row[3:] for row in table["rows"]}
    assert rows["BFS, csr"] == [12.0, 8.0, "rcm", pytest.approx(-100 / 3)]
    assert rows["BFS, varint"] == [6.0, 7.0, "original", 0.0]
    assert rows["components, blocks"] == [12.0, 15.0, "original", 0.0]


def test_what_is_best_and_whether_all_of_it_was_verified():
    inputs = study(("device", "split"), ("crawl", "road"))
    label = "check[graph=road,order=rcm,layout=csr,search=bfs,placement=split]"
    inputs[label] = verified(passed=False)
    table = made(inputs)["What is best for each algorithm"]
    places = [tuple(row[:3]) for row in table["rows"]]
    assert places == [
        (graph, placement, algorithm)
        for graph in ("crawl", "road")
        for placement in ("device", "split")
        for algorithm in ("BFS", "components")
    ]
    assert table["rows"][0][3:] == ["original", "blocks", 4.0, 8.0, 3.0, 6, 3.0, "best", "passed"]
    assert {tuple(row[:3]): row[-1] for row in table["rows"]}["road", "split", "BFS"] == "FAILED"


def test_compression_by_order():
    sections = made(study(graphs=("crawl", "road")))
    table = sections["Compression by order"]
    assert table["columns"][4:7] == ["csr, bits per arc", "varint, bits per arc", "blocks, bits per arc"]
    assert [row[:2] for row in table["rows"]] == [
        ["crawl", "original"], ["crawl", "rcm"], ["road", "original"], ["road", "rcm"],
    ]  # fmt: skip
    assert table["rows"][0][2:] == [100, 7.5, 32.0, 9.9, 8.0, "blocks", 4.0]
    figure = sections["Bits per arc by order and layout"]
    assert figure["data"]["road"] == {
        "orders": ["original", "rcm"], "layouts": ["varint", "blocks"], "bits": [[9.9, 8.0], [12.0, 9.0]],
    }  # fmt: skip
    assert [panel["values"] for panel in figure["chart"]["panels"]] == [
        [[9.9, 8.0], [12.0, 9.0]], [[9.9, 8.0], [12.0, 9.0]],
    ]  # fmt: skip


def test_times_are_drawn_for_each_place():
    figure = made(study(("device", "pinned")))["Times by order and layout"]
    assert len(figure["data"]) == 4
    (first, *_) = figure["data"].values()
    assert first["milliseconds"] == [[12.0, 6.0, 4.0], [8.0, 7.0, 5.0]]


def with_auto(order: str = "rcm", layout: str = "blocks") -> dict[str, Any]:
    """The sweep, and beside it entries of their own for what `auto` chooses."""
    found = study()
    at = "[graph=crawl,search=bfs,placement=device]"
    found[f"chosen{at}"] = ordering(order, advice(order, order, layout))
    found[f"chosen_rows{at}"] = packed(order, layout, advice(layout, "original", layout))
    searched_rows = found[f"chosen{at}"], found[f"chosen_rows{at}"]
    found[f"chosen_run{at}"] = measured(5.2, *searched_rows, placement="device", graph="crawl")
    found[f"chosen_check{at}"] = verified()
    return {label: found[label] for label in sorted(found)}


def test_auto_against_the_best():
    sections = made(with_auto())
    (row,) = sections["auto against the best order and layout"]["rows"]
    assert row[2:9] == ["BFS", "rcm, blocks", 5.2, "original, blocks", 4.0, pytest.approx(30.0), 6]
    assert row[9] == "rcm is cheap"
    # What was swept is told without it.
    assert "bfs: median ms" not in sections["Experiments"]["columns"]
    assert len(sections["Experiments"]["rows"]) == 12
    assert [row[8] for row in sections["What is best for each algorithm"]["rows"]] == [6, 6]
    (row,) = sections["What auto expected"]["rows"]
    assert row[2:] == ["BFS", "rcm, blocks", 8.5, 9.0, 3.5, 5.2, 1]


def test_auto_may_be_a_value_of_an_axis():
    found = {label: one for label, one in study().items() if "components" not in label}
    found["ordered[graph=crawl,order=auto]"] = ordering("rcm", advice("rcm", "rcm", "csr"))
    found["packed[graph=crawl,order=auto,layout=csr]"] = packed("rcm", "csr")
    at = "[graph=crawl,order=auto,layout=csr,search=bfs,placement=device]"
    rows = found["ordered[graph=crawl,order=auto]"], found["packed[graph=crawl,order=auto,layout=csr]"]
    found[f"run{at}"] = measured(8.4, *rows, placement="device", graph="crawl")
    (row,) = made(found)["auto against the best order and layout"]["rows"]
    # The layout was given, so only cells of this layout compare.
    assert row[3:9] == ["rcm, csr", 8.4, "rcm, csr", 8.0, pytest.approx(5.0), 2]


def test_entries_of_a_workflow_that_is_used_have_short_names():
    inputs = {
        f"study.cells.{entry}[order={order}]": measured(time, ordering(order), algorithm=entry)
        for order, time in (("original", 1.0), ("rcm", 2.0))
        for entry in ("bfs", "components")
    }
    columns = made(inputs)["Experiments"]["columns"]
    assert {"bfs: median ms", "components: median ms"} <= set(columns)
    inputs |= {label.replace("cells", "others"): one for label, one in inputs.items()}
    assert "study.others.bfs: median ms" in made(inputs)["Experiments"]["columns"]


def test_advice_is_no_column_of_other_tables():
    sections = made(with_auto())
    assert "advice" not in sections["Vertex orders"]["columns"]
    assert "advice" not in sections["Layouts"]["columns"]


def test_graphs_are_named_by_what_is_theirs_alone():
    def group(graph: str, *placements: str) -> list[tuple[str, Measurement]]:
        return [(f"run[graph={graph},placement={each}]", measured(1.0, None)) for each in placements]

    assert graph_names([group("kron", "device"), group("road", "device"), group("big", "split")]) == [
        "kron",
        "road",
        "big, split",
    ]
    assert graph_names([group("kron", "device"), group("big", "split", "pinned")]) == ["kron, device", "big"]
