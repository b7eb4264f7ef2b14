"""Capacity, refusal, admission, and the measured peak."""

from __future__ import annotations

import time
from pathlib import Path

import numpy
import pytest

from gravel.pipeline.core.errors import RequestError
from gravel.pipeline.core.memory import (
    Admission,
    Capacity,
    format_bytes,
    host_capacity,
    memory_limit,
    parse_bytes,
    refuse_what_cannot_fit,
)
from gravel.pipeline.workers.peak import Peak
from gravel.stages.stage import Need


def test_sizes_are_read() -> None:
    sizes = {"16GiB": 16 << 30, "500MB": 500_000_000, "1.5 GiB": 3 << 29, "1024": 1024, "2k": 2000, "3g": 3e9}
    assert {text: parse_bytes(text) for text in sizes} == sizes
    for text in ("", "GiB", "12 bananas", "-5MB", "5iB", "1e9"):
        with pytest.raises(RequestError, match="not a size"):
            parse_bytes(text)


def test_sizes_are_written_short() -> None:
    told = [format_bytes(size) for size in (0, 1023, 1536, 5 << 20, 999 << 30, 3 << 40)]
    assert told == ["0 B", "1023 B", "1.5 KiB", "5 MiB", "999 GiB", "3 TiB"]


def machine(tmp_path: Path, group: str, total_kb: int = 8_000_000) -> tuple[Path, Path]:
    process = tmp_path / "proc"
    (process / "self").mkdir(parents=True)
    (process / "self" / "cgroup").write_text(group)
    (process / "meminfo").write_text(f"MemTotal:       {total_kb} kB\nMemFree: 1 kB\n")
    cgroups = tmp_path / "cgroup"
    cgroups.mkdir()
    return cgroups, process


def test_the_smallest_limit_around_the_process_counts(tmp_path: Path) -> None:
    cgroups, process = machine(tmp_path, "0::/outer/inner\n")
    (cgroups / "outer" / "inner").mkdir(parents=True)
    (cgroups / "outer" / "inner" / "memory.max").write_text("max\n")
    (cgroups / "outer" / "memory.max").write_text("4000000000\n")
    assert memory_limit(cgroups, process) == (4_000_000_000, "the control group's limit")


def test_the_older_control_groups_are_read_too(tmp_path: Path) -> None:
    cgroups, process = machine(tmp_path, "5:cpu:/x\n4:memory:/docker/abc\n")
    (cgroups / "memory" / "docker" / "abc").mkdir(parents=True)
    (cgroups / "memory" / "memory.limit_in_bytes").write_text("9223372036854771712\n")
    (cgroups / "memory" / "docker" / "abc" / "memory.limit_in_bytes").write_text("123456789\n")
    assert memory_limit(cgroups, process)[0] == 123456789


def test_without_a_limit_the_machine_counts(tmp_path: Path) -> None:
    assert memory_limit(*machine(tmp_path, "0::/\n")) == (8_192_000_000, "the machine's memory")
    assert host_capacity("2GiB") == (2 << 30, "--host-memory")
    assert 0 < host_capacity()[0] < memory_limit()[0]


def test_a_refusal_names_each_stage_and_the_cures() -> None:
    needs = {"small": Need(1, 1, ()), "wide": Need(5 << 30, 0, ()), "deep": Need(0, 9 << 30, ())}
    capacity = Capacity(2 << 30, "--host-memory", lambda: (8 << 30, "free"))
    with pytest.raises(RequestError) as caught:
        refuse_what_cannot_fit(needs, capacity)
    message, hint = str(caught.value), str(caught.value.problems[0].hint)
    assert "wide needs 5 GiB of host memory; deep needs 9 GiB of GPU memory" in message
    assert "2 GiB of host memory (--host-memory) and 8 GiB on each GPU" in message
    assert "at least 5 GiB" in hint
    assert "--backend cpu" in hint
    assert "small" not in message
    refuse_what_cannot_fit({"small": Need(1, 1, ())}, capacity)


def test_admission_adds_up_and_lets_a_lone_run_in() -> None:
    admission = Admission(100)
    assert admission.fits(60)
    admission.take("a", 60)
    assert not admission.fits(41)
    assert admission.fits(40)
    admission.release("a")
    assert admission.free == 100
    assert admission.fits(500)  # nothing else runs, so waiting would not help


def test_the_peak_is_what_was_held_above_the_start() -> None:
    elsewhere = 8 << 20  # what earlier tests left behind may be freed, or taken, meanwhile
    with Peak() as peak:
        block = numpy.ones(64 << 20, dtype=numpy.uint8)
        time.sleep(0.1)
        block = numpy.ones(32 << 20, dtype=numpy.uint8)
        time.sleep(0.05)
        del block
    assert (64 << 20) - elsewhere <= peak.host_bytes <= (96 << 20) + elsewhere
    assert peak.device_bytes == 0
