"""traverse over a partition whose columns do not all lie on the emulated GPUs."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

from gravel.stages.context import PlainContext
from gravel.stages.errors import StageError
from gravel.stages.ranks import rank
from gravel.stages.sections.page import Findings, make_sections
from gravel.stages.sections.ranks import host_column_sections
from gravel.stages.stage import Extent, Machine
from gravel.stages.traversal.parameters import TraverseParameters
from gravel.stages.traverse import STAGE
from tests.emulation.test_gpu_ranks import GPU, Workers
from tests.emulation.test_placed import Pinned
from tests.stages.ranks.test_searches import search, split

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("pinned_on_cpu")]

NAME = "star_300"


@pytest.fixture
def pinned_on_cpu(cupy_on_cpu: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gravel.kernels.placement.pinned.pin", Pinned)


def read(measured: Any) -> int:
    return sum(record["link_bytes"] for record in measured.searches)


@pytest.mark.slow
def test_pinned_and_split_on_one_gpu_and_by_a_rank_group() -> None:
    stored = split(NAME, 2)
    wanted, _ = search(PlainContext(), stored)
    for contexts in (lambda: PlainContext(GPU), lambda: Workers(2)):
        asked = {"backend": "cuda", "tuning": {"predecessors": "smallest"}}
        whole, told = search(contexts(), stored, placement="device", **asked)
        assert "link_bytes" not in told.searches[0]
        pinned, over = search(contexts(), stored, placement="pinned", **asked)
        for found in (whole, pinned):
            assert numpy.array_equal(found.distance, wanted.distance)
            assert numpy.array_equal(found.predecessor, wanted.predecessor)
        assert over.asked["placement"] == "pinned"
        assert any("columns are pinned in host memory; asked for" in note for note in over.notes)
        for record in over.searches:
            assert record["link_gigabytes_per_second"] == pytest.approx(
                record["link_bytes"] / record["milliseconds"] / 1e6
            )
        assert read(over) > 0
    for record in over.searches:
        assert sum(record["ranks"]["link_bytes"]) == record["link_bytes"]
    assert not rank.RESIDENT


def least(stored: Any) -> int:
    """Find what the ranks of one GPU take beside their columns, as the refusal tells it."""
    with pytest.raises(StageError, match="beside their columns") as refused:
        search(PlainContext(GPU), stored, backend="cuda", device_memory=1000)
    words = str(refused.value).replace(",", "").split()
    return int(words[words.index("bytes") - 1])


def test_what_does_not_fit_is_split() -> None:
    stored = split("skewed_random", 2)
    base = least(stored)
    wanted, _ = search(PlainContext(), stored)
    measured = {}
    for more in (200, 2000, 1 << 20):
        limits = {"backend": "cuda", "device_memory": base + more, "tuning": {"predecessors": "smallest"}}
        found, measured[more] = search(PlainContext(GPU), stored, **limits)
        assert numpy.array_equal(found.predecessor, wanted.predecessor)
    assert [measured[more].asked["placement"] for more in measured] == ["split", "split", "device"]
    assert read(measured[200]) > read(measured[2000]) > 0
    assert any("all take" in note and "2,000 bytes" in note for note in measured[2000].notes)


def test_what_cannot_be_is_said() -> None:
    stored = split(NAME, 2)
    with pytest.raises(StageError, match="none are streamed"):
        search(PlainContext(GPU), stored, backend="cuda", placement="streamed")
    with pytest.raises(StageError, match=r"take about [\d,]+ bytes, and this GPU has 5,000"):
        search(PlainContext(GPU), stored, backend="cuda", placement="device", device_memory=5000)
    limits = {"placement": "pinned", "host_memory": 100}
    with pytest.raises(StageError, match="there is room for 100 in host memory"):
        search(Workers(2), stored, backend="cuda", **limits)


def test_the_need_counts_columns_where_they_lie() -> None:
    facts = {"vertices": 1000, "arcs": 100_000, "bytes": 420_000, "normal_arcs": 10_000, "ranks": 4}
    extent = Extent(kind="Partition", **facts)

    def stated(**asked: Any) -> Any:
        parameters = TraverseParameters(backend="cuda", **asked)
        return STAGE.estimate(parameters, {"input": (extent,)}, GPU)

    device, pinned = stated(), stated(placement="pinned")
    assert device.device_bytes - pinned.device_bytes == 100_000
    assert pinned.host_bytes - device.host_bytes == 4 * 100_000
    capped = stated(device_memory=pinned.device_bytes + 30_000)
    assert capped.device_bytes == pinned.device_bytes + 30_000
    assert capped.host_bytes == pinned.host_bytes
    assert "and this GPU has 1,000" in stated(device_memory=1000).refusal
    small = Machine(backend="cuda", threads=2, host_memory=1 << 32, device_memory=1000)
    parameters = TraverseParameters(backend="cuda")
    need = STAGE.estimate(parameters, {"input": (extent,)}, small)
    assert need.device_bytes == device.device_bytes


def test_a_report_tells_what_was_read() -> None:
    stored = split(NAME, 2)
    members = []
    for placement in ("device", "pinned"):
        _, measured = search(PlainContext(GPU), stored, backend="cuda", placement=placement)
        members.append((f"bfs[placement={placement}]", measured))
    (section,) = host_column_sections(members)
    ((label, ranks, placement, taken, rate, size, speed),) = section["rows"]
    assert (label, ranks, placement) == ("bfs[placement=pinned]", 2, "pinned")
    assert size == read(measured) / len(measured.searches)
    assert speed == pytest.approx(size / taken / 1e6)
    assert rate > 0
    assert section in make_sections(Findings(members))
    assert host_column_sections(members[:1]) == []
