"""Probes that were repeated: every time of each part, with median and spread."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gravel.stages.artifacts import Probe
from gravel.stages.papers.merrill2012.probes import probe_sections


def probe(*milliseconds: float) -> Probe:
    parts = [{"part": "gather", "method": name, "schedule": "stealing"} for name in ("serial", "scan")]
    return Probe(
        measure="gather",
        backend="cpu",
        hardware="a test",
        block=256,
        repeats=5,
        floor_milliseconds=0.0,
        parts=parts,
        searches=[
            {
                "source": 1,
                "depth": 3,
                "vertices": 10,
                "arcs": 1000,
                "distinct": 9,
                "fresh": 9,
                "milliseconds": list(milliseconds),
                "passed": [None, None],
            }
        ],
        levels={"arcs": [1000], "milliseconds": [[time] for time in milliseconds]},
    )


@pytest.mark.parametrize(
    ("backend", "told"), [("cpu", "one pass is faster than two"), ("cuda", "one launch is faster than two")]
)
def test_a_page_of_a_cpu_names_no_kernels(backend: str, told: str) -> None:
    one = probe(1.0, 2.0, 2.0)
    parts = [
        {"part": "gather", "method": "scan_warp_cta", "schedule": "oversubscribed"},
        {"part": "lookup", "method": "label", "schedule": None},
        {"part": "coupled", "method": "label", "schedule": "oversubscribed"},
    ]
    searches = [one.searches[0] | {"passed": [None, 9, 9]}]
    both = replace(one, measure="gather_and_lookup", backend=backend, parts=parts, searches=searches)
    found = {section["title"]: section["about"] for section in probe_sections([("p", both)])}
    assert found["Fused or apart by the size of a level"].endswith(f"Below 1, {told}.")
    assert backend == "cuda" or not any("kernel" in about for about in found.values())


def test_repeated_probes_show_every_time_of_each_part() -> None:
    times = [(1.0, 4.0), (2.0, 5.0), (4.0, 8.0)]
    members = [("p" if at == 0 else f"p[repeat={at + 1}]", probe(*each)) for at, each in enumerate(times)]
    found = {section["title"]: section for section in probe_sections(members)}
    rows = found["Repeated probes"]["rows"]
    assert rows[0] == ["p", "gather", "serial, stealing", 2.0, 1.0, 4.0, 150.0, "1  2  4"]
    assert rows[1][3:7] == [5.0, 4.0, 8.0, pytest.approx(80.0)]
    assert [row[5] for row in found["Parts of a search alone"]["rows"]] == [2.0, 5.0]
    assert "Repeated probes" not in {section["title"] for section in probe_sections(members[:1])}
