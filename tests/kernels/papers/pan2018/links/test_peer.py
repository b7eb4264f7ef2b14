"""Messages between GPUs: one alone, and all of this host as threads, over peer memory and NCCL."""

from __future__ import annotations

from typing import Any

import pytest

from gravel.kernels.papers.pan2018.links import measure
from gravel.stages.rank_group import run_in_threads

pytestmark = pytest.mark.gpu
cupy = pytest.importorskip("cupy")

SIZES = (8, 4096, 1 << 20)


def over(name: str, group: Any) -> Any:
    with cupy.cuda.Device(group.rank):
        link: Any
        if name == "peer":
            from gravel.kernels.papers.pan2018.links.peer import PeerLink, why_no_peers

            assert why_no_peers(group) is None
            link = PeerLink(group, largest=SIZES[-1], time_limit=5.0)
        else:
            from gravel.kernels.papers.pan2018.links.nccl import NcclLink, why_not

            problem = why_not(group)
            if problem is not None:
                return problem
            link = NcclLink(group, largest=SIZES[-1], total=SIZES[-1])
        found = measure(group, link, SIZES, repeats=2, total=SIZES[-1])
        link.close()
        return found


def check(name: str, ranks: int) -> None:
    first, *others = run_in_threads(lambda group, _: over(name, group), [None] * ranks)
    if isinstance(first, str):
        pytest.skip(first)
    assert all(other == first for other in others)
    assert all(point.seconds > 0 for point in first)
    patterns = {point.pattern for point in first}
    assert patterns == {"meet", "pair", "exchange", "reduce"} | ({"cut"} if name == "nccl" else set())


@pytest.mark.parametrize("name", ["peer", "nccl"])
def test_one_gpu_alone(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # There is nobody to send to.
    monkeypatch.setattr(
        "gravel.kernels.papers.pan2018.links.peer.PeerLink.patterns", ("meet", "exchange", "reduce")
    )
    monkeypatch.setattr(
        "gravel.kernels.papers.pan2018.links.nccl.NcclLink.patterns", ("meet", "exchange", "reduce")
    )
    (found,) = run_in_threads(lambda group, _: over(name, group), [None])
    if isinstance(found, str):
        pytest.skip(found)
    assert {point.pattern for point in found} == {"meet", "exchange", "reduce"}


@pytest.mark.parametrize("name", ["peer", "nccl"])
def test_all_gpus_of_this_host(name: str) -> None:
    count = cupy.cuda.runtime.getDeviceCount()
    if count < 2:
        pytest.skip("one GPU")
    from gravel.kernels.partition.cuda.devices import make_peers

    make_peers(range(count))
    check(name, count)


def test_a_device_that_never_comes_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    from gravel.kernels.papers.pan2018.links.peer import PeerLink
    from gravel.kernels.partition.cuda.launching import DeviceBarrier

    described = DeviceBarrier.described
    alone = DeviceBarrier()

    def with_a_stranger(self: Any, pointers: Any, device: int, limit: float) -> Any:
        return described(self, [*pointers, alone.pointer], device, limit)

    monkeypatch.setattr(DeviceBarrier, "described", with_a_stranger)

    def run(group: Any, _: Any) -> None:
        link = PeerLink(group, largest=64, time_limit=0.2)
        for _ in range(2):
            with pytest.raises(RuntimeError, match="given up"):
                link.run("meet", 8, 1)

    run_in_threads(run, [None])
    assert alone.aborted
