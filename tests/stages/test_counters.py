"""Counters of searches: what ncu writes, where it is refused or missing, and what the report says of it."""

from __future__ import annotations

import dataclasses
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy
import pytest
from pydantic import ValidationError

from gravel.stages.artifacts import Counters, Graph, Ordering
from gravel.stages.context import PlainContext
from gravel.stages.counters import STAGE, counters
from gravel.stages.counting import read_counters
from gravel.stages.counting.ncu import (
    DRAM_READ,
    HOST_SECTORS,
    INSTRUCTIONS,
    L2_SECTORS,
    METRICS,
    NVLINK_SENT,
    NoCounters,
    ToolOutput,
    fault_of,
    find_tool,
    unknown_metrics,
)
from gravel.stages.counting.parameters import CountersParameters
from gravel.stages.counting.under_tool import read_stored, write_stored
from gravel.stages.errors import StageError
from gravel.stages.report import ReportParameters, report
from gravel.stages.stage import Extent, Machine
from tests.stages.counting.ncu_case import SAMPLE
from tests.stages.traverse_case import GRAPHS, plain
from tests.zoo import scipy_distances

REFUSED = (
    "==PROF== Connected to process 77 (/usr/bin/python3.12)\n"
    "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access NVIDIA GPU Performance "
    "Counters on the target device 0. For instructions on enabling permissions and to get more information "
    "see "
    "https://developer.nvidia.com/ERR_NVGPUCTRPERM\n"
)


def run(graph: Graph, **parameters: Any) -> Counters:
    return counters(PlainContext(), CountersParameters(**parameters), input=graph)


def table_of(*members: tuple[str, Counters]) -> dict[str, Any]:
    labels, inputs = zip(*members, strict=True)
    made = report(PlainContext(), ReportParameters(labels=labels), inputs=inputs)
    return {section["title"]: section for section in made.sections}


# What the tool writes where it reads nothing


@pytest.mark.parametrize(
    ("output", "why"),
    [
        (ToolOutput(1, REFUSED, ""), "ERR_NVGPUCTRPERM"),
        (
            ToolOutput(9, "", "==ERROR== Failed to initialize the profiler: LibraryNotLoaded\n"),
            "LibraryNotLoaded",
        ),
        (ToolOutput(0, "==WARNING== No kernels were profiled.\n", ""), "no kernels"),
        (ToolOutput(1, "", "Traceback\ncupy.OutOfMemoryError: 3 bytes\n"), "status 1: cupy.OutOfMemoryError"),
        (ToolOutput(0, SAMPLE, ""), ""),
    ],
)
def test_why_there_are_no_counters_is_what_the_tool_says(output: ToolOutput, why: str) -> None:
    assert why in fault_of(output)
    assert bool(fault_of(output)) == bool(why)


def test_metrics_that_the_tool_does_not_know_are_found_in_its_message() -> None:
    output = ToolOutput(1, "", f"==ERROR== Failed to find metric {NVLINK_SENT}\n")
    assert unknown_metrics(output, METRICS) == [NVLINK_SENT]
    # Of a name without a suffix it prints the pattern that it looked for; others begin like this one.
    pattern = ToolOutput(
        1, "==ERROR== Failed to find metric regex:^lts__t_sectors\\.(sum|min|max|avg)$\n", ""
    )
    assert unknown_metrics(pattern, METRICS) == [L2_SECTORS]
    assert unknown_metrics(ToolOutput(1, REFUSED, ""), METRICS) == []


# The tool itself, played by a program that writes what it would


def read(graph: Graph, starts: tuple[int, ...] = (0,), **parameters: Any) -> dict[str, Any]:
    context = PlainContext(Machine(backend="cpu", threads=1, host_memory=1 << 32))
    return read_counters(context, CountersParameters(**parameters), graph, starts, 0)


def test_a_search_under_the_tool_is_checked_and_its_counters_are_added_up(ncu: Any) -> None:
    ncu("search(); write(sample())")
    found = read(plain(GRAPHS["grid_13x17"]), (0, 5))
    assert found["totals"][DRAM_READ] == 4000
    assert [(each["name"], each["launches"]) for each in found["kernels"]] == [("expand", 2), ("commit", 1)]
    assert found["tool"]["version"] == "2025.3.1.0"
    assert found["tool"]["metrics"] == list(METRICS)
    assert found["tool"]["unknown"] == []
    assert found["tool"]["passes"] == 2


def test_a_metric_that_this_version_does_not_know_is_left_out(ncu: Any) -> None:
    ncu(
        f"""
        for name in ({NVLINK_SENT!r}, {HOST_SECTORS!r}):  # one a call
            if name in metrics:
                write(f"==ERROR== Failed to find metric {{name}}\\n")
                sys.exit(1)
        search()
        write(sample())
        """
    )
    found = read(plain(GRAPHS["path_33"]))
    assert set(found["tool"]["unknown"]) == {NVLINK_SENT, HOST_SECTORS}
    assert NVLINK_SENT not in found["tool"]["metrics"]
    assert found["totals"][NVLINK_SENT] is None
    assert found["totals"][INSTRUCTIONS] == 10010


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (f"write({REFUSED!r}); sys.exit(1)", "may not read the GPU's counters"),
        ("searched('true'); write('==WARNING== No kernels were profiled.')", "no kernels"),
        ("searched('true'); write(sample().replace('4,000', 'many'))", "2025.3.1.0 wrote could not be read"),
        ("print('segmentation fault'); sys.exit(139)", "status 139: segmentation fault"),
        ("time.sleep(60)", "longer than"),
        ("write(sample()); searched('false')", "did not find what they found before"),
    ],
)
def test_where_the_tool_reads_nothing_it_is_said_why(ncu: Any, body: str, why: str) -> None:
    ncu(body)
    with pytest.raises(NoCounters, match=why):
        read(plain(GRAPHS["path_33"]), seconds=1.0 if "sleep" in body else 60.0)


def test_what_a_tool_started_ends_with_its_time(ncu: Any, tmp_path: Path) -> None:
    left = tmp_path / "left"
    ncu(f"subprocess.Popen(['sh', '-c', 'sleep 3; touch {left}']); time.sleep(60)")
    with pytest.raises(NoCounters, match="longer than"):
        read(plain(GRAPHS["path_33"]), seconds=1.0)
    import time

    time.sleep(2.5)
    assert not left.exists()


def test_a_tool_that_is_missing_or_cannot_start(
    monkeypatch: pytest.MonkeyPatch, ncu: Any, tmp_path: Path
) -> None:
    ncu("")
    (tmp_path / "bin" / "ncu").write_text("#!/nowhere\n")
    with pytest.raises(NoCounters, match="could not be started"):
        read(plain(GRAPHS["path_33"]))
    monkeypatch.setattr("gravel.stages.counting.ncu.PLACES", ())
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NoCounters, match="not installed"):
        find_tool()
    monkeypatch.setattr("gravel.stages.counting.ncu.PLACES", (str(tmp_path / "b*" / "ncu"),))
    assert find_tool() == tmp_path / "bin" / "ncu"


def test_a_graph_is_the_same_in_the_other_process(tmp_path: Path) -> None:
    graph = plain(GRAPHS["skewed_random"])
    order = numpy.random.default_rng(1).permutation(graph.vertex_count).astype(numpy.uint32)
    fields = {field.name: getattr(graph, field.name) for field in dataclasses.fields(graph)}
    ordered = Ordering(**fields, permutation=order, method="random")
    write_stored(tmp_path / "graph", ordered)
    found = read_stored(tmp_path / "graph")
    assert type(found) is Ordering
    assert (found.permutation == order).all()
    assert (found.column_indices == graph.column_indices).all()
    assert (found.method, found.arc_count) == ("random", graph.arc_count)
    nothing = plain(GRAPHS["all_isolated"])
    write_stored(tmp_path / "nothing", nothing)
    assert read_stored(tmp_path / "nothing").column_indices.shape == (0,)


# The stage and its report


def test_on_the_cpu_bytes_are_counted_and_the_report_says_so() -> None:
    found = run(plain(GRAPHS["grid_13x17"]), strategy="top_down")
    assert found.tool == {}
    assert found.why == "the searches ran on the CPU, whose counters are not read"
    sections = table_of(("grid", found))
    table = sections["Hardware counters of searches"]
    row = dict(zip(table["columns"], table["rows"][0], strict=True))
    assert row["bytes are"] == "counted"
    assert row["counted, B/arc"] > 4
    assert "passes" not in row
    assert "Counters were not read: the searches ran on the CPU" in table["about"]
    (answer,) = (each for each in sections.values() if each["kind"] == "answer")
    assert answer["title"] == "Bytes of 1 measurement counted; hardware counters were not read."


@pytest.mark.parametrize("name", ["skewed_random", "star_last_hub", "grid_13x17"])
def test_arcs_of_bottom_up_levels_are_counted(name: str) -> None:
    graph = plain(GRAPHS[name])
    found = run(graph, strategy="direction_optimizing", tuning={"alpha": 10000, "beta": 1000000})
    (search,) = found.searches
    levels = search["levels"]
    offsets, columns = numpy.asarray(graph.row_offsets), numpy.asarray(graph.column_indices)
    distance = scipy_distances(offsets, columns, search["source"])
    for level, read_arcs in enumerate(levels.get("expanded", [])):
        if level not in levels["pulled"]:
            assert read_arcs == levels["arcs"][level]
            continue
        expected = 0
        for v in numpy.flatnonzero((distance < 0) | (distance > level)):
            row = distance[columns[offsets[v] : offsets[v + 1]]] == level
            expected += int(row.argmax()) + 1 if row.any() else len(row)
        assert read_arcs == expected
    assert bool(levels["pulled"]) == ("expanded" in levels)
    assert ("bottom-up levels" in str(found.notes)) == bool(levels["pulled"])
    assert name == "grid_13x17" or levels["pulled"]
    table = table_of((name, found))["Hardware counters of searches"]
    assert table["rows"][0][3] == "counted"


def test_where_nothing_is_counted_the_report_does_not_say_counted() -> None:
    graph = plain(GRAPHS["skewed_random"])
    tuning = {"alpha": 10000, "beta": 1000000}
    found = run(graph, strategy="direction_optimizing", output="predecessor", tuning=tuning)
    table = table_of(("pulled", found))["Hardware counters of searches"]
    assert table["rows"][0][3:5] == ["not known", None]


def test_measured_bytes_stand_beside_counted_ones(ncu: Any) -> None:
    ncu("search(); write(sample())")
    graph = plain(GRAPHS["grid_13x17"])
    found = replace(run(graph, strategy="top_down"), why="", **read(graph))
    sections = table_of(("grid", found), ("plain", run(graph, strategy="top_down")))
    table = sections["Hardware counters of searches"]
    measured, counted = (dict(zip(table["columns"], row, strict=True)) for row in table["rows"])
    (search,) = found.searches
    arcs = search["arcs"]
    assert (measured["bytes are"], counted["bytes are"]) == ("ncu", "counted")
    assert measured["DRAM read, B/arc"] == pytest.approx(4000 / arcs)
    assert measured["warp instructions/arc"] == pytest.approx(10010 / arcs)
    assert measured["L2 hits, %"] == pytest.approx(80)
    assert measured["host memory read by L2, B/arc"] == pytest.approx(8 * 32 / arcs)
    assert measured["PCIe, B/arc"] == pytest.approx(96 / arcs)
    assert measured["DRAM over counted"] == pytest.approx(4800 / (measured["counted, B/arc"] * arcs))
    assert measured["passes"] == 2
    assert counted["DRAM read, B/arc"] is None
    assert "NVLink, B/arc" not in measured
    assert "Counters of plain were not read" in table["about"]
    assert "ncu 2025.3.1.0" in table["about"]
    assert INSTRUCTIONS in table["about"]
    assert [row[1] for row in sections["Hardware counters of kernels"]["rows"]] == ["expand", "commit"]
    (answer,) = (each for each in sections.values() if each["kind"] == "answer")
    assert answer["title"].startswith("Hardware counters of 1 measurement, read by ncu 2025.3.1.0")


def test_a_graph_without_arcs_and_a_tool_that_is_asked_for() -> None:
    nothing = run(plain(GRAPHS["all_isolated"]))
    assert nothing.searches == []
    assert table_of(("nothing", nothing))["Hardware counters of searches"]["rows"][0][3] == "not known"
    with pytest.raises(StageError, match="counters were not read: the searches ran on the CPU"):
        run(plain(GRAPHS["path_33"]), tool="ncu")
    assert "no tool was asked for" in run(plain(GRAPHS["path_33"]), tool="none").why


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"strategy": "two_fase"}, "did you mean 'two_phase'"),
        ({"strategy": "multi_source"}, "many sources at once"),
        (
            {"strategy": "two_phase", "placement": "split"},
            "placement split is for strategy auto or host_rows",
        ),
        ({"seconds": 0}, "greater than 0"),
        ({"placement": "streamed"}, "'device', 'split' or 'pinned'"),
    ],
)
def test_what_does_not_fit_is_refused(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        CountersParameters(**parameters)


def test_the_second_process_is_part_of_what_a_gpu_run_takes() -> None:
    graph = {"input": (Extent(kind="Graph", vertices=1000, arcs=10000, bytes=48008),)}
    machine = Machine(backend="cuda", threads=1, host_memory=1 << 34, device_memory=1 << 34)
    alone = STAGE.estimate(CountersParameters(tool="none"), graph, machine)
    both = STAGE.estimate(CountersParameters(), graph, machine)
    assert both.host_bytes > 2 * alone.host_bytes - 1
    assert both.device_bytes > alone.device_bytes
    assert both.outputs == (Extent(kind="Counters", bytes=0),)


def test_the_answer_has_the_bytes_of_each_arc() -> None:
    """The sentence at the top has a figure where there is one."""
    from types import SimpleNamespace

    from gravel.stages.counting.ncu import DRAM_READ, DRAM_WRITTEN
    from gravel.stages.sections.counters import _says

    def one(read: float) -> SimpleNamespace:
        totals = {DRAM_READ: read, DRAM_WRITTEN: 100.0}
        return SimpleNamespace(
            tool={"name": "ncu", "version": "2025.3"}, totals=totals, searches=[{"arcs": 100}]
        )

    told = _says([one(400.0), one(150.0)])
    assert told.endswith("measurements, read by ncu 2025.3: 2.5 to 5 bytes of DRAM an arc")
