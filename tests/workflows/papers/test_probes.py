"""The workflows that time parts of a search alone, small and on the CPU."""

from __future__ import annotations

from pathlib import Path

import pytest
from ruamel.yaml import YAML

from gravel.pipeline.cli import main
from tests.benchmarks.figures.reports import Report, axes_of, read_reports

WORKFLOWS = Path(__file__).resolve().parents[3] / "workflows"

SMALL = ("side=8", "cube=4", "scale=5", "vertices=60", "sources=1", "repeats=1")

GRAPHS = ["grid5", "mesh", "grid7", "grid27", "kron", "rmat", "uniform"]


def report(name: str, cache: Path) -> Report:
    words = [
        str(WORKFLOWS / f"{name}.yaml"),
        "--cache",
        str(cache),
        "--cluster",
        "inline",
        "--backend",
        "cpu",
    ]
    known = YAML(typ="safe").load(WORKFLOWS / f"{name}.yaml")["parameters"]
    small = [value for value in SMALL if value.partition("=")[0] in known]
    with pytest.raises(SystemExit) as stop:
        main.main(["run", *words, *(word for value in small for word in ("--set", value))])
    assert not stop.value.code
    latest = max(cache.glob("runs/*/report.json"), key=lambda path: path.stat().st_mtime)
    return read_reports(latest)["summary"]


def test_gathers_are_timed_alone_and_with_look_up(tmp_path: Path) -> None:
    found = report("papers/merrill_gather", tmp_path)
    rates = found.data("Rate of gathering neighbours")
    assert [axes_of(run)["graph"] for run in rates["run"]] == GRAPHS
    assert all(rate > 0 for name in ("serial", "warp", "scan", "scan_warp_cta") for rate in rates[name])
    bytes_asked = found.data("Bytes that gathers ask for, per arc")
    pairs = zip(bytes_asked["serial"], bytes_asked["scan_warp_cta"], strict=True)
    assert all(serial >= both for serial, both in pairs)
    assert len(found.data("Gathering and look-up, fused or apart")["run"]) == len(GRAPHS)


def test_each_look_up_lets_no_more_pass_than_the_one_before(tmp_path: Path) -> None:
    found = report("papers/merrill_lookup", tmp_path)
    passed = found.data("False negatives")
    for place in range(len(GRAPHS)):
        bitmask, label, warp = (passed[name][place] for name in ("bitmask", "label", "warp_culling"))
        assert bitmask >= label >= warp
    assert set(passed["atomic"]) == {0.0}


def test_bytes_of_searches_and_gathers_stand_beside_each_other(tmp_path: Path) -> None:
    found = report("papers/merrill_counters", tmp_path)
    rows = found.rows("Hardware counters of searches")
    assert [axes_of(row["run"])["graph"] for row in rows] == ["kron", "rmat", "uniform"]
    assert all(row["counted, B/arc"] > 4 for row in rows)
    assert len(found.data("Bytes that gathers ask for, per arc")["run"]) == 3
