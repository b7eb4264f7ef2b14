"""Results that cross from one host to another: once, and by the faster way."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gravel.pipeline.scheduler import residency
from gravel.pipeline.scheduler.execution import execute
from gravel.pipeline.scheduler.options import RunOptions, RunOutcome
from gravel.pipeline.store.cache import Cache
from gravel.pipeline.workers import hand_over
from tests.pipeline.memory_stages import FILL, LOOK, sized
from tests.pipeline.tiny_stages import plan_of
from tests.pipeline.workers.dask_processes import OWN_HOST, DaskProcesses

MIB = 1 << 17


def hosts_can_be_made() -> bool:
    if os.geteuid():
        return False
    try:
        return not subprocess.run([*OWN_HOST, "other", "true"], capture_output=True).returncode
    except OSError:
        return False


pytestmark = pytest.mark.skipif(not hosts_can_be_made(), reason="asks for root and unshare")


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaskProcesses]:
    """Two hosts with one worker each."""
    with DaskProcesses(tmp_path_factory.mktemp("hosts")) as found:
        found.worker("one", host="one")
        found.worker("two", host="two")
        found.connected(2)
        yield found


def run(hosts: DaskProcesses, root: Path, size: int) -> tuple[RunOutcome, list[dict[str, Any]], str]:
    """A result that is read three times on each host, by stages that run at the same time."""
    plan = plan_of(
        sized("a", FILL, count=size),
        *(sized(f"l{place}", LOOK, "a", value=place, sleep=0.5) for place in range(6)),
    )
    options = RunOptions(cache_root=root, cluster=hosts.address, backend="cpu", host_memory="2GiB")
    outcome = execute(plan, options)
    assert outcome.exit_code == 0
    seen = [
        Cache(root).describe(outcome.outputs(f"l{place}")[0]).attributes["searches"][0] for place in range(6)
    ]
    assert len({each["sum"] for each in seen}) == 1
    logs = "".join(path.read_text() for path in root.glob("runs/*/logs/l*"))
    return outcome, seen, logs


def test_a_small_result_is_sent_once(
    hosts: DaskProcesses, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(residency, "MIN_BYTES", 1)
    _, seen, logs = run(hosts, tmp_path, 2 * MIB)
    assert {each["host"] for each in seen} == {"one", "two"}
    assert {each["type"] for each in seen} == {"ndarray"}
    assert logs.count("comes over the network") == 1
    assert not Cache(tmp_path).verify().damaged


def test_a_large_result_comes_by_the_faster_way(hosts: DaskProcesses, tmp_path: Path) -> None:
    size = 3 * hand_over.SAMPLE_BYTES // 8
    _, seen, logs = run(hosts, tmp_path, size)
    assert {each["host"] for each in seen} == {"one", "two"}
    ways = [line for line in logs.splitlines() if " comes " in line]
    assert ways
    for line in ways:
        if "from the store" in line and "over the network" in line:
            assert ("comes from the store" in line) == (rate(line, "store") > rate(line, "network"))
    assert len(ways) == 1 or all("comes from the store" in line for line in ways)


def rate(line: str, way: str) -> float:
    from gravel.pipeline.core.memory import parse_bytes

    words = line.split()
    at = next(
        place for place, word in enumerate(words) if word.startswith(way) and words[place + 1] == "gives"
    )
    return parse_bytes(f"{words[at + 2]} {words[at + 3].split('/')[0]}")
