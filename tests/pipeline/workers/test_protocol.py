"""Results that are read on another host than that which made them."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from gravel.pipeline.scheduler import placement
from gravel.pipeline.scheduler.execution import execute
from gravel.pipeline.scheduler.machine import RunOptions
from gravel.pipeline.store.cache import Cache
from tests.pipeline.memory_stages import FILL, looks_of_two
from tests.pipeline.run_case import searches
from tests.pipeline.tiny_stages import plan_of, stage_run
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


def test_a_result_is_read_on_each_host(
    hosts: DaskProcesses, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On the one that made it from memory, on the other from its files."""
    monkeypatch.setattr(placement, "MIN_BYTES", 1)
    plan = plan_of(
        stage_run("a", FILL, count=2 * MIB),
        *looks_of_two(tmp_path / "marks", 6),
    )
    options = RunOptions(cache_root=tmp_path, cluster=hosts.address, backend="cpu", host_memory="2GiB")
    outcome = execute(plan, options)
    assert outcome.exit_code == 0
    seen = [searches(tmp_path, outcome, f"l{place}")[0] for place in range(6)]
    assert len({each["sum"] for each in seen}) == 1
    ways = {(each["host"], each["type"]) for each in seen}
    assert {host for host, _ in ways} == {"one", "two"}
    assert {kind for _, kind in ways} == {"ndarray", "StoredArray"}
    assert len(ways) == 2
    assert not Cache(tmp_path).verify().damaged
