"""traverse with `backend: cuda` over stripes: all ranks on one emulated GPU, or one on each worker's."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

from gravel.stages.artifacts import Partition
from gravel.stages.context import PlainContext
from gravel.stages.errors import StageError
from gravel.stages.partition import PartitionParameters, partition
from gravel.stages.rank_group import RankGroupBroken
from gravel.stages.ranks import rank
from gravel.stages.stage import Extent, Machine
from gravel.stages.traversal.parameters import TraverseParameters
from gravel.stages.traverse import STAGE
from gravel.stages.verify import VerifyParameters, verify
from tests.emulation.test_gpu_ranks import GPU, Workers
from tests.stages.ranks.test_searches import graph_of, search

pytestmark = pytest.mark.usefixtures("cupy_on_cpu")


def stripes(name: str, ranks: int) -> Partition:
    asked = PartitionParameters(ranks=ranks, scheme="striped")
    return partition(PlainContext(), asked, input=graph_of(name))


@pytest.mark.slow
@pytest.mark.parametrize("ranks", [1, 2])
def test_gpus_find_what_the_cpu_does(ranks: int) -> None:
    stored = stripes("tail_on_clique", ranks)
    wanted, told = search(PlainContext(), stored)
    for context in (PlainContext(GPU), Workers(ranks)):
        found, measured = search(context, stored, backend="cuda")
        assert numpy.array_equal(found.distance, wanted.distance)
        assert verify(
            PlainContext(), VerifyParameters(), graph=graph_of("tail_on_clique"), traversal=found
        ).checks
        assert (measured.strategy, measured.backend) == ("striped", "cuda")
        assert not any("on the CPU" in note for note in measured.notes)
        for mine, theirs in zip(measured.searches, told.searches, strict=True):
            assert mine["levels"] == theirs["levels"]
            for key in ("frontier", "arcs", "vertices", "bytes", "between"):
                assert mine["stripes"][key] == theirs["stripes"][key]
            assert set(mine["stripes"]["exchange"]) == {0.0}
    if ranks > 1:
        assert context.calls == 3
        assert "each of 2 ranks on its own worker" in measured.reason
    assert not rank.RESIDENT


@pytest.mark.slow
def test_options_and_outputs() -> None:
    stored = stripes("skewed_random", 2)
    wanted, _ = search(PlainContext(), stored)
    tuning = {"bitmask": False, "warp_duplicates": False, "gather": "scan"}
    for output in ("distance", "predecessor"):
        found, _ = search(PlainContext(GPU), stored, backend="cuda", output=output, tuning=tuning)
        assert numpy.array_equal(getattr(found, output), getattr(wanted, output))
        found, _ = search(Workers(2), stored, backend="cuda", output=output, tuning=tuning)
        assert numpy.array_equal(getattr(found, output), getattr(wanted, output))


def test_what_gpus_cannot_do_is_said() -> None:
    stored = stripes("path_33", 2)
    with pytest.raises(StageError, match="at most 1024 entries"):
        search(Workers(2), stored, backend="cuda", tuning={"history": 4096})
    with pytest.raises(StageError, match="gather is 'block'"):
        search(PlainContext(GPU), stored, backend="cuda", tuning={"gather": "block"})
    small = Machine(backend="cuda", threads=2, host_memory=1 << 32, device_memory=1000)
    with pytest.raises(StageError, match="this GPU has 1,000"):
        search(PlainContext(small), stored, backend="cuda")


def test_gpus_that_wait_in_vain_break_the_rank_group(monkeypatch: pytest.MonkeyPatch) -> None:
    def given_up(self: Any, source: int) -> Any:
        raise RuntimeError("the search was given up")

    monkeypatch.setattr("gravel.kernels.striped.cuda.search.PeerStripe.run", given_up)
    with pytest.raises(RankGroupBroken, match="given up"):
        search(Workers(2), stripes("path_33", 2), backend="cuda")
    assert not rank.RESIDENT


def test_the_need_is_that_of_each_gpu() -> None:
    facts = {"vertices": 1000, "arcs": 100_000, "bytes": 408_000, "normal_arcs": 100_000, "striped": True}
    asked = TraverseParameters(backend="cuda")

    def stated(ranks: int) -> int:
        extent = Extent(kind="Partition", ranks=ranks, **facts)
        return STAGE.estimate(asked, {"input": (extent,)}, GPU).device_bytes

    assert 408_000 < stated(1) < 500_000
    assert stated(4) < 0.3 * stated(1)
    extent = Extent(kind="Partition", ranks=4, **facts)
    assert STAGE.estimate(TraverseParameters(), {"input": (extent,)}, GPU).device_bytes == 0
