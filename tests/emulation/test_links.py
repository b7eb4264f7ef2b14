"""Messages between emulated devices that read each other's memory, and the stage that measures them."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from gravel.kernels.papers.pan2018.links import measure, peer
from gravel.kernels.partition.cuda import mapping
from gravel.stages.errors import StageError
from gravel.stages.papers.pan2018.links import LinksParameters, links
from gravel.stages.rank_group import RankGroupBroken, run_in_threads
from tests.emulation import fake_cupy
from tests.emulation.test_gpu_ranks import Workers

pytestmark = pytest.mark.usefixtures("cupy_on_cpu")

SIZES = (8, 64, 4096)


@pytest.fixture(autouse=True)
def few_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Emulated kernels are slow."""
    monkeypatch.setattr("gravel.kernels.papers.pan2018.links.MAX_TURNS", 3)


def on_own_device(group: Any, _: Any) -> Any:
    with fake_cupy.Device(group.rank):
        assert peer.why_no_peers(group) is None
        link = peer.PeerLink(group, largest=SIZES[-1], time_limit=60.0)
        found = measure(group, link, SIZES, repeats=1, total=64)
        link.close()
        return found


@pytest.mark.parametrize("ranks", [2, 4])
def test_every_rank_reads_what_others_wrote(ranks: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mapping, "process_id", threading.get_ident)
    first, *others = run_in_threads(on_own_device, [None] * ranks)
    assert all(other == first for other in others)
    assert [point.pattern for point in first] == ["meet", *["pair"] * 3, *["exchange"] * 3, *["reduce"] * 3]
    assert all(point.seconds > 0 for point in first)


@pytest.mark.parametrize("pattern", ["pair", "exchange", "reduce"])
def test_what_was_not_written_does_not_arrive(pattern: str, monkeypatch: pytest.MonkeyPatch) -> None:
    fill = peer.PeerLink._fill

    def forgotten(self: Any, name: str, size: int) -> None:
        if name != pattern or self._group.rank != 1:
            fill(self, name, size)
        else:
            self._buffer.fill(0)

    monkeypatch.setattr(peer.PeerLink, "_fill", forgotten)
    with pytest.raises(RuntimeError, match=f"peer {pattern} of 8 bytes did not bring what was sent"):
        run_in_threads(on_own_device, [None] * 2)


def test_a_device_that_does_not_come_is_given_up() -> None:
    def one_is_late(group: Any, _: Any) -> str:
        with fake_cupy.Device(group.rank):
            link = peer.PeerLink(group, largest=64, time_limit=0.3)
            if group.rank == 1:
                link._kernel = lambda *_: None
            with pytest.raises(RuntimeError) as given_up:
                link.run("meet", 8, 1)
            return str(given_up.value)

    assert all("given up" in answer for answer in run_in_threads(one_is_late, [None] * 2))


def test_ranks_that_share_a_gpu_are_no_peers() -> None:
    assert (
        run_in_threads(lambda group, _: peer.why_no_peers(group), [None] * 2)
        == ["several ranks share a GPU"] * 2
    )


def test_the_stage_measures_all_that_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gravel.kernels.papers.pan2018.links.nccl.why_not_here", lambda: "no library here")
    asked: dict[str, Any] = {"ranks": 2, "largest": 1024, "total": 1024, "repeats": 1}
    found = links(Workers(2), LinksParameters(**asked))
    assert {curve["transport"] for curve in found.curves} == {"wire", "peer"}
    assert "nccl was not measured: no library here" in found.notes
    assert (found.backend, found.hardware, found.ranks) == ("cuda", "an emulated GPU", 2)
    with pytest.raises(StageError, match="transport nccl is not available: no library here"):
        links(Workers(2), LinksParameters(**asked, transports=["nccl"]))

    def given_up(self: Any, *_: Any) -> float:
        raise RuntimeError("the search was given up")

    monkeypatch.setattr(peer.PeerLink, "run", given_up)
    with pytest.raises(RankGroupBroken, match="given up"):
        links(Workers(2), LinksParameters(**asked, transports=["peer"]))
