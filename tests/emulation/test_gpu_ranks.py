"""traverse with `backend: cuda` over delegates or stripes: ranks on one emulated GPU, or each on its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy
import pytest

from gravel.stages.artifacts import Partition
from gravel.stages.context import PlainContext
from gravel.stages.errors import StageError
from gravel.stages.partition import PartitionParameters, partition
from gravel.stages.rank_group import RankGroupBroken
from gravel.stages.ranks import rank
from gravel.stages.report import ReportParameters, report
from gravel.stages.stage import Extent, Machine
from gravel.stages.traversal.parameters import TraverseParameters
from gravel.stages.traverse import STAGE
from gravel.stages.verify import VerifyParameters, verify
from tests.directions import same_levels
from tests.emulation import fake_cupy
from tests.kernels.partition.culled_case import CULLING, FORWARD
from tests.stages.ranks.test_searches import graph_of, search, split

pytestmark = pytest.mark.usefixtures("cupy_on_cpu")

GPU = Machine(backend="cuda", threads=2, host_memory=1 << 32, device_memory=1 << 32)


class Workers(PlainContext):
    """Ranks as threads, each with an emulated GPU of its own."""

    def __init__(self, reserved: int) -> None:
        super().__init__(GPU)
        self.reserved = reserved
        self.calls = 0

    def rank_group(self, function: Any, ranks: Sequence[Any]) -> list[Any]:
        self.calls += 1

        def on_own_device(context: Any, item: Any) -> Any:
            with fake_cupy.Device(context.rank):
                return function(context, item)

        return super().rank_group(on_own_device, ranks)


def stripes(name: str, ranks: int) -> Partition:
    asked = PartitionParameters(ranks=ranks, scheme="striped")
    return partition(PlainContext(), asked, input=graph_of(name))


def test_options_that_peers_do_not_read_are_noted_and_not_recorded() -> None:
    tuning = {"reduction": "blocking", "message_bytes": 4096, "nn_directed": False}
    _, measured = search(PlainContext(GPU), split("tail_on_clique", 1), backend="cuda", tuning=tuning)
    told = "not used between GPUs that read each other's memory: reduction, message_bytes"
    assert told in measured.notes
    assert not {"reduction", "changed_only", "message_bytes"} & measured.ran["options"].keys()
    assert measured.ran["options"]["nn_directed"] is False


@pytest.mark.parametrize("ranks", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_gpus_find_what_the_cpu_does(ranks: int) -> None:
    stored = split("tail_on_clique", ranks)
    wanted, told = search(PlainContext(), stored)
    one, several = PlainContext(GPU), Workers(ranks)
    for context in (one, several) if ranks > 1 else (one,):
        found, measured = search(context, stored, backend="cuda", tuning={"predecessors": "smallest"})
        assert numpy.array_equal(found.distance, wanted.distance)
        assert numpy.array_equal(found.predecessor, wanted.predecessor)
        assert (measured.backend, measured.hardware) == ("cuda", "an emulated GPU")
        assert not any("on the CPU" in note for note in measured.notes)
        for mine, theirs in zip(measured.searches, told.searches, strict=True):
            assert mine["levels"] == theirs["levels"]
            assert same_levels(mine["ranks"], theirs["ranks"])
    if ranks > 1:
        assert context.calls == 3
        assert "each of 2 ranks on its own worker" in measured.reason
        mine, theirs = (each.searches[0]["ranks"] for each in (measured, told))
        sent = zip(mine["vertex_bytes"], theirs["vertex_bytes"], strict=True)
        for backward, (here, there) in zip(mine["backward"], sent, strict=True):
            assert "nn" in backward or here == there
        assert measured.searches[0]["ranks"]["normal"] == told.searches[0]["ranks"]["normal"]
    assert not rank.RESIDENT


@pytest.mark.slow
@pytest.mark.parametrize("ranks", [1, 2])
def test_gpus_find_in_stripes_what_the_cpu_does(ranks: int) -> None:
    stored = stripes("tail_on_clique", ranks)
    tuning = {**FORWARD, **CULLING["exact"], "local_duplicates": True}
    wanted, told = search(PlainContext(), stored, tuning=tuning)
    for context in (PlainContext(GPU), Workers(ranks)):
        found, measured = search(context, stored, backend="cuda", tuning=tuning)
        assert numpy.array_equal(found.distance, wanted.distance)
        assert verify(
            PlainContext(), VerifyParameters(), graph=graph_of("tail_on_clique"), traversal=found
        ).checks
        assert (measured.strategy, measured.backend) == ("partition", "cuda")
        assert measured.ran["options"]["bins"] == "prefix_sum"
        assert "bins" not in told.ran["options"]
        assert not any("on the CPU" in note for note in measured.notes)
        for mine, theirs in zip(measured.searches, told.searches, strict=True):
            assert mine["levels"] == theirs["levels"]
            for key in ("normal", "arcs", "sent", "vertex_bytes"):
                assert mine["ranks"][key] == theirs["ranks"][key]
    if ranks > 1:
        assert context.calls == 3
        assert "each of 2 ranks on its own worker" in measured.reason
    assert not rank.RESIDENT


@pytest.mark.slow
def test_options_and_outputs_of_stripes() -> None:
    stored = stripes("skewed_random", 2)
    wanted, _ = search(PlainContext(), stored)
    tuning = {"local_duplicates": True, "bins": "prefix_sum", "predecessors": "smallest"}
    for output in ("distance", "predecessor"):
        found, _ = search(PlainContext(GPU), stored, backend="cuda", output=output, tuning=tuning)
        assert numpy.array_equal(getattr(found, output), getattr(wanted, output))
        found, _ = search(Workers(2), stored, backend="cuda", output=output, tuning=tuning)
        assert numpy.array_equal(getattr(found, output), getattr(wanted, output))


def test_without_being_asked_the_cpu_searches() -> None:
    _, measured = search(PlainContext(GPU), split("path_33", 2))
    assert measured.backend == "cpu"
    assert any("asks for GPUs" in note for note in measured.notes)


def test_what_gpus_cannot_do_is_said() -> None:
    stored = split("path_33", 2)
    with pytest.raises(StageError, match="2 ranks do not make 3 equal groups"):
        search(PlainContext(GPU), stored, backend="cuda", tuning={"groups": 3})
    for cut in (stored, stripes("path_33", 2)):
        with pytest.raises(StageError, match="bins: on GPUs for columns there and neither groups nor a red"):
            search(PlainContext(GPU), cut, backend="cuda", tuning={"bins": "prefix_sum", "groups": 2})
    small = Machine(backend="cuda", threads=2, host_memory=1 << 32, device_memory=1000)
    for cut in (stored, stripes("path_33", 2)):
        with pytest.raises(StageError, match="this GPU has 1,000"):
            search(PlainContext(small), cut, backend="cuda")


@pytest.mark.parametrize("cut", [split, stripes], ids=["delegates", "stripes"])
def test_gpus_that_wait_in_vain_break_the_rank_group(monkeypatch: pytest.MonkeyPatch, cut: Any) -> None:
    def given_up(self: Any, source: int) -> Any:
        raise RuntimeError("the search was given up")

    monkeypatch.setattr("gravel.kernels.partition.cuda.peer_rank.PeerRank.run", given_up)
    with pytest.raises(RankGroupBroken, match="given up"):
        search(Workers(2), cut("path_33", 2), backend="cuda")
    assert not rank.RESIDENT


@pytest.mark.parametrize(
    ("facts", "most"),
    [
        ({"bytes": 900_000, "normal_arcs": 10_000}, 1_200_000),
        ({"bytes": 408_000, "normal_arcs": 100_000, "striped": True}, 2_500_000),
    ],
    ids=["delegates", "stripes"],
)
def test_the_need_is_that_of_each_gpu(facts: dict[str, Any], most: int) -> None:
    asked = TraverseParameters(backend="cuda")

    def stated(ranks: int, asked: TraverseParameters = asked) -> int:
        extent = Extent(kind="Partition", ranks=ranks, vertices=1000, arcs=100_000, **facts)
        return STAGE.estimate(asked, {"input": (extent,)}, GPU).device_bytes

    assert facts["bytes"] < stated(1) < most
    assert stated(4) < 0.3 * stated(1)
    assert stated(4, TraverseParameters()) == 0


@pytest.mark.slow
def test_a_report_draws_strong_scaling_with_the_split_of_times() -> None:
    members = {}
    for ranks in (1, 2):
        stored = split("tail_on_clique", ranks)
        context = Workers(ranks) if ranks > 1 else PlainContext(GPU)
        _, members[f"bfs[ranks={ranks}]"] = search(context, stored, backend="cuda")
        members[f"parts[ranks={ranks}]"] = stored
    asked = ReportParameters(labels=tuple(members))
    made = {
        each["title"]: each for each in report(PlainContext(), asked, inputs=tuple(members.values())).sections
    }
    assert made["Strong scaling with ranks"]["data"]["auto"]["ranks"] == [1, 2]
    times = made["Where searches over ranks spend their time"]["data"]
    assert all(min(times[name]) > 0 for name in ("visit", "reduce", "exchange", "whole"))
    table = made["Predicted against measured"]
    place = {name: at for at, name in enumerate(table["columns"])}
    assert table["rows"][0][place["predicted / measured"]] == "fitted"
    assert all(row[place["search predicted, ms"]] > 0 for row in table["rows"])
