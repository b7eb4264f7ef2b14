"""Counters of gathers: a second process sweeps them under the tool, and figures 5b and 5c show them."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import pytest
from pydantic import ValidationError

from gravel.stages.artifacts import Probe
from gravel.stages.context import PlainContext
from gravel.stages.errors import StageError
from gravel.stages.papers.merrill2012.gather_counters import METRICS, with_counters
from gravel.stages.papers.merrill2012.probe import ProbeParameters, probe
from gravel.stages.report import ReportParameters, report
from gravel.stages.stage import Machine
from tests.stages.traverse_case import GRAPHS, plain

GRAPH = plain(GRAPHS["skewed_random"])
MACHINE = Machine(backend="cpu", threads=1, host_memory=1 << 32)
NAMES = ("serial", "scan_warp_cta")


def table(*kernels: str) -> str:
    """Of the n-th launch: a nanosecond, and n times 64 bytes read, 32 written and 960 instructions."""
    head = [["ID", "Kernel Name", *METRICS], ["", "", "ns", "byte", "byte", "inst"]]
    rows = [
        [str(at), name, "1", *(str((at + 1) * each) for each in (64, 32, 960))]
        for at, name in enumerate(kernels)
    ]
    return "\n".join(",".join(f'"{cell}"' for cell in row) for row in [*head, *rows])


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> Probe:
    """A probe as of a GPU, with a CuPy in this process that says which device it is on."""
    pool = SimpleNamespace(free_all_blocks=lambda: None)
    device = SimpleNamespace(Device=lambda: SimpleNamespace(id=0))
    fake = SimpleNamespace(get_default_memory_pool=lambda: pool, cuda=device, ndarray=type("ndarray", (), {}))
    parameters = ProbeParameters(methods=NAMES, repeats=1)
    found = probe(PlainContext(MACHINE), parameters, input=GRAPH)
    monkeypatch.setitem(sys.modules, "cupy", fake)
    return Probe(**{**vars(found), "backend": "cuda"})


def counted(probed: Probe, **parameters: Any) -> Probe:
    asked = ProbeParameters(methods=NAMES, repeats=1, **{"tool": "auto", **parameters})
    return with_counters(PlainContext(MACHINE), asked, GRAPH, probed)


def test_both_sweeps_of_each_gather_are_read_and_drawn(ncu: Any, measured: Probe) -> None:
    ncu(f"search(); write({table('wake', 'serial', 'serial', 'scan_warp_cta(int)', 'scan_warp_cta(int)')!r})")
    found = counted(measured)
    assert found.notes[-1] == "ncu 2025.3.1.0"
    # Launches 2 and 3 of the table are those of serial, 4 and 5 the others; a sweep is half of both.
    assert found.counted["serial"]["dram_bytes"] == (2 + 3) * 96 / 2
    assert found.counted["scan_warp_cta"]["thread_instructions"] == (4 + 5) * 960 / 2
    assert found.counted["serial"]["bytes"] == measured.counted["serial"]["bytes"]
    made = report(PlainContext(), ReportParameters(labels=("one",)), inputs=(found,)).sections
    sections = {section["title"]: section for section in made}
    arcs = sum(found.levels["arcs"])
    drawn = sections["DRAM bytes of gathers, per arc"]
    assert drawn["data"]["serial"] == [pytest.approx(240 / arcs)]
    assert "ncu 2025.3.1.0" in drawn["about"]
    assert sections["Thread instructions for each DRAM byte"]["data"]["serial"] == [pytest.approx(10)]


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (f"search(); write({table('serial', 'serial')!r})", "no value for the gather scan_warp_cta"),
        ("sys.exit(3)", "status 3"),
        ("time.sleep(60)", "longer than"),
    ],
)
def test_the_probe_stands_without_counters(ncu: Any, measured: Probe, body: str, why: str) -> None:
    ncu(body)
    seconds = 1.0 if "sleep" in body else 60.0
    found = counted(measured, seconds=seconds)
    assert found.counted == measured.counted
    assert why in found.notes[-1]
    with pytest.raises(StageError, match=why):
        counted(measured, tool="ncu", seconds=seconds)


def test_counters_are_of_gathers_on_a_gpu() -> None:
    with pytest.raises(ValidationError, match="tool auto counts gathers, and lookup is measured"):
        ProbeParameters(measure="lookup", tool="auto")
    found = probe(PlainContext(MACHINE), ProbeParameters(tool="auto", repeats=1), input=GRAPH)
    assert "ran on the CPU" in found.notes[-1]
