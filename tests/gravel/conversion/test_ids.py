"""Dates, times and durations as ids are compared as moments: in tables, in files and in every look-up."""

from __future__ import annotations

import datetime
import random
from itertools import pairwise
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import numpy
import pandas
import pyarrow
import pytest
from pyarrow import parquet

import gravel

UTC = datetime.UTC
BERLIN = ZoneInfo("Europe/Berlin")
DAY = datetime.date(2024, 1, 1)
NOON = datetime.datetime(2024, 1, 1, 12)
UNITS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}


def path_of(values: Any) -> gravel.Graph:
    """Make a path through an array of ids."""
    return gravel.graph((values[:-1], values[1:]))


def test_nanoseconds_are_looked_up_exactly() -> None:
    graph = path_of(pyarrow.array([0, 1, 2, 3], pyarrow.timestamp("ns")))
    moments = [pandas.Timestamp(each, unit="ns") for each in range(4)]
    assert graph.distance(moments[1], moments[3]) == 2
    assert graph.path(moments[0], moments[2]) == moments[:3]
    assert graph.bfs(moments[3]).distance.to_numpy().tolist() == [3, 2, 1, 0]
    assert graph.harmonic([moments[1]]).to_pandas().vertex.tolist() == [moments[1]]
    assert graph.distances(moments[:2], moments[2:]).array.tolist() == [[2, 3], [1, 2]]
    assert moments[2] in graph
    assert pandas.Timestamp(4, unit="ns") not in graph
    with pytest.raises(gravel.UnknownVertex, match=r"nearest is Timestamp.*000003"):
        graph.bfs(pandas.Timestamp(7, unit="ns"))
    longer = path_of(pyarrow.array(range(100), pyarrow.timestamp("ns")))
    many = [pandas.Timestamp(each, unit="ns") for each in range(100)]
    assert longer.distances(many, [many[0]]).array.ravel().tolist() == list(range(100))


@pytest.mark.parametrize(
    ("kind", "amount", "found", "unknown"),
    [
        (
            pyarrow.timestamp("us"),
            1,
            [
                datetime.datetime(1970, 1, 1, 0, 0, 0, 1),
                pandas.Timestamp(1000, unit="ns"),
                numpy.datetime64(1, "us"),
                pyarrow.scalar(1000, pyarrow.timestamp("ns")),
            ],
            [
                pandas.Timestamp(1500, unit="ns"),
                numpy.datetime64(1500, "ns"),
                datetime.datetime(1970, 1, 1, 0, 0, 0, 1, UTC),
                pyarrow.scalar(1, pyarrow.timestamp("us", "UTC")),
                1,
                "1970-01-01 00:00:00.000001",
                pandas.NaT,
                numpy.datetime64("NaT", "s"),
                pandas.Timedelta(1, "us"),
            ],
        ),
        (
            pyarrow.timestamp("s", "Europe/Berlin"),
            1_704_110_400,
            [
                NOON.replace(tzinfo=UTC),
                datetime.datetime(2024, 1, 1, 13, tzinfo=BERLIN),
                pandas.Timestamp("2024-01-01 07:00", tz="America/New_York"),
                pyarrow.scalar(1_704_110_400_000, pyarrow.timestamp("ms", "Asia/Tokyo")),
            ],
            [NOON, pandas.Timestamp(NOON), numpy.datetime64(NOON), pandas.Timestamp(NOON, tz=BERLIN)],
        ),
        (
            pyarrow.date32(),
            19_723,
            [DAY, numpy.datetime64("2024-01-01"), pyarrow.scalar(DAY, pyarrow.date64())],
            [
                datetime.datetime(2024, 1, 1, 15, 30),
                datetime.datetime(2024, 1, 1),
                pandas.Timestamp("2024-01-01"),
                numpy.datetime64("2024-01-02"),
                numpy.datetime64("2024-01-01", "h"),
                19_723,
            ],
        ),
        (
            pyarrow.time64("us"),
            1_000_000,
            [datetime.time(0, 0, 1), pyarrow.scalar(1, pyarrow.time32("s"))],
            [datetime.time(0, 0, 1, 1), datetime.time(0, 0, 1, tzinfo=UTC), pandas.Timedelta(1, "s")],
        ),
        (
            pyarrow.duration("ns"),
            1000,
            [datetime.timedelta(microseconds=1), pandas.Timedelta(1000, "ns"), numpy.timedelta64(1, "us")],
            [pandas.Timedelta(1001, "ns"), numpy.timedelta64(1001, "ns"), pandas.Timestamp(1000, unit="ns")],
        ),
    ],
)
def test_look_ups_by_every_kind_of_value(
    kind: Any, amount: int, found: list[Any], unknown: list[Any]
) -> None:
    width = pyarrow.int32() if kind.bit_width == 32 else pyarrow.int64()
    values = pyarrow.array([amount - 5, amount, amount + 5], width).view(kind)
    graph = path_of(values)
    for value in found:
        assert graph.bfs(value).distance.to_numpy().tolist() == [1, 0, 1], value
        assert value in graph
    for value in unknown:
        assert value not in graph, value
    assert graph.distances(values, values).array.tolist() == [[0, 1, 2], [1, 0, 1], [2, 1, 0]]


@pytest.mark.parametrize("make", [pyarrow.timestamp, pyarrow.duration])
@pytest.mark.parametrize("one", UNITS)
@pytest.mark.parametrize("other", UNITS)
def test_units_are_merged(make: Any, one: str, other: str) -> None:
    chance = random.Random(f"{one}{other}")
    step = max(UNITS[one], UNITS[other])
    nanoseconds = [
        [chance.randrange(-40, 40) * (step if chance.random() < 0.7 else UNITS[each]) for _ in range(60)]
        for each in (one, other)
    ]
    columns = [
        pyarrow.array([value // UNITS[unit] for value in values], make(unit))
        for unit, values in zip((one, other), nanoseconds, strict=True)
    ]
    graph = gravel.graph((columns[0], columns[1]), directed=True)
    expected = sorted(
        {value // UNITS[u] * UNITS[u] for u, v in zip((one, other), nanoseconds, strict=True) for value in v}
    )
    wide = [pandas.Timestamp(each, unit="ns") for each in expected]
    if make is pyarrow.duration:
        wide = [pandas.Timedelta(each, "ns") for each in expected]
    assert [
        pandas.Timestamp(each) if make is pyarrow.timestamp else pandas.Timedelta(each)
        for each in graph.vertices.to_pylist()
    ] == wide
    for place, value in enumerate(wide):
        assert graph.bfs(value).distance.to_numpy().tolist()[place] == 0
    turned = gravel.graph((columns[1], columns[0]), directed=True)
    assert turned.vertices.to_pylist() == graph.vertices.to_pylist()


def test_steps_of_several_units(tmp_path: Path) -> None:
    steps = numpy.array([0, 1, 2], "datetime64[10us]")
    graph = path_of(steps)
    assert graph.vertices.to_pylist() == [
        datetime.datetime(1970, 1, 1, 0, 0, 0, each) for each in (0, 10, 20)
    ]
    assert graph.distance(steps[0], steps[2]) == 2
    assert graph.distance(steps[0], numpy.datetime64(20_000, "ns")) == 2
    numpy.savez(tmp_path / "g.npz", source=steps[:-1], target=steps[1:])
    file = gravel.graph(tmp_path / "g.npz", cache=False)
    assert file.vertices.to_pylist()[1:] == ["1970-01-01 00:00:00.00001", "1970-01-01 00:00:00.00002"]


def test_moments_that_no_unit_holds() -> None:
    years = pyarrow.array([253_402_300_799], pyarrow.timestamp("s"))
    whole = gravel.graph((years, pyarrow.array([10**9], pyarrow.timestamp("ns"))))
    assert len(whole.vertices) == 2
    with pytest.raises(ValueError, match="no unit of 64 bits holds"):
        gravel.graph((years, pyarrow.array([1], pyarrow.timestamp("ns"))))


MIXED = {
    "zone": (pyarrow.array([0], pyarrow.timestamp("us", "UTC")), pyarrow.array([0], pyarrow.timestamp("us"))),
    "zone, ns": (
        pyarrow.array([0], pyarrow.timestamp("s")),
        pyarrow.array([0], pyarrow.timestamp("ns", "UTC")),
    ),
    "date": (pyarrow.array([DAY]), pyarrow.array([NOON])),
    "date64": (pyarrow.array([NOON]), pyarrow.array([DAY], pyarrow.date64())),
    "time": (pyarrow.array([datetime.time(12)]), pyarrow.array([NOON])),
}


@pytest.mark.parametrize("case", MIXED)
@pytest.mark.parametrize("suffix", ["parquet", "npz"])
def test_other_kinds_are_refused_in_files_and_in_memory(tmp_path: Path, case: str, suffix: str) -> None:
    table = pyarrow.table(dict(zip(("source", "target"), MIXED[case], strict=True)))
    with pytest.raises(TypeError, match=r"column 'source' has .* and column 'target' has"):
        gravel.graph(table)
    path = tmp_path / f"t.{suffix}"
    if suffix == "parquet":
        parquet.write_table(table, path)
    elif case == "date":
        numpy.savez(
            path, source=numpy.array([DAY], "datetime64[D]"), target=numpy.array([NOON], "datetime64[us]")
        )
    else:
        return
    with pytest.raises(ValueError, match=r"column 'source' has .* and column 'target' has .*[Cc]onvert one"):
        gravel.graph(path, cache=False)


@pytest.mark.parametrize(
    ("source", "target", "texts"),
    [
        (
            ("ns", [0, 1000, 1]),
            ("us", [1, 2, 0]),
            ["00:00:00", "00:00:00.000000001", "00:00:00.000001", "00:00:00.000002"],
        ),
        (
            ("s", [1, 10, 0]),
            ("ns", [10**9, 10**10, 10**8]),
            ["00:00:00", "00:00:00.1", "00:00:01", "00:00:10"],
        ),
        (("ms", [0, 1000, 1500]), ("s", [0, 1, 1]), ["00:00:00", "00:00:01", "00:00:01.5"]),
    ],
)
@pytest.mark.parametrize("zone", [None, "UTC", "Europe/Berlin"])
def test_files_have_one_text_for_a_moment(
    tmp_path: Path, source: Any, target: Any, texts: list[str], zone: str | None
) -> None:
    columns = [pyarrow.array(values, pyarrow.timestamp(unit, zone)) for unit, values in (source, target)]
    table = pyarrow.table(dict(zip(("source", "target"), columns, strict=True)))
    parquet.write_table(table, tmp_path / "t.parquet")
    graph = gravel.graph(tmp_path / "t.parquet", cache=False)
    shown = [f"1970-01-01 {each}" if zone is None else f"1970-01-01T{each}Z" for each in texts]
    assert sorted(graph.vertices.to_pylist()) == sorted(shown)
    memory = gravel.graph(table)
    assert len(memory.vertices) == len(shown)


def test_times_of_day_of_different_units_in_a_file(tmp_path: Path) -> None:
    columns = {
        "source": pyarrow.array([1, 2], pyarrow.time32("s")),
        "target": pyarrow.array([10**6, 2_500_000], pyarrow.time64("us")),
    }
    parquet.write_table(pyarrow.table(columns), tmp_path / "t.parquet")
    found = gravel.graph(tmp_path / "t.parquet", cache=False).vertices.to_pylist()
    assert found == ["00:00:01", "00:00:02", "00:00:02.5"]
    assert len(gravel.graph(pyarrow.table(columns)).vertices) == 3


@pytest.mark.parametrize(
    "make",
    [
        lambda values: (values[:-1], values[1:]),
        lambda values: list(pairwise(values)),
        lambda values: pandas.DataFrame({"source": values[:-1], "target": values[1:]}),
        lambda values: pandas.DataFrame({"source": values[:-1], "target": values[1:]}, dtype=object),
    ],
)
@pytest.mark.parametrize("zone", [None, "Europe/Berlin"])
def test_nanoseconds_of_python_objects_are_kept(make: Any, zone: str | None) -> None:
    values = [pandas.Timestamp(each, unit="ns", tz=zone) for each in range(4)]
    graph = gravel.graph(make(values))
    assert graph.vertices.to_pylist() == values
    assert graph.distance(values[0], values[3]) == 3
    spans = [pandas.Timedelta(each, "ns") for each in range(4)]
    assert gravel.graph(make(spans)).distance(spans[0], spans[3]) == 3


@pytest.mark.parametrize(
    "values",
    [
        [NOON, NOON.replace(tzinfo=UTC)],
        [datetime.time(1), datetime.time(1, tzinfo=UTC)],
        [datetime.time(1, tzinfo=BERLIN), datetime.time(1, tzinfo=BERLIN)],
        [pandas.Timestamp(NOON), pandas.Timestamp(NOON, tz="UTC")],
    ],
)
def test_lists_with_zones_and_without_are_refused(values: list[Any]) -> None:
    with pytest.raises(
        TypeError, match=r"column 'source' (mixes times with a zone|has times of day with zones)"
    ):
        gravel.graph((values, values[::-1]))


def test_a_saved_graph_is_looked_up_exactly(tmp_path: Path) -> None:
    path_of(pyarrow.array([0, 1, 2], pyarrow.timestamp("us"))).save(tmp_path / "saved")
    loaded = gravel.graph(tmp_path / "saved")
    assert loaded.distance(pandas.Timestamp(0), pandas.Timestamp(2000, unit="ns")) == 2
