"""Components over ranks on emulated devices: any number of ranks and devices, rank groups, a lost device."""

from __future__ import annotations

import threading
from typing import Any

import numpy
import pytest

from gravel.kernels.partition import partition
from gravel.kernels.partition.cuda import mapping
from gravel.kernels.partition.cuda.components import CudaComponents, PeerComponents
from gravel.kernels.partition.cuda.components_launch import JOINING
from gravel.kernels.partition.cuda.components_memory import FIELDS
from gravel.stages.context import PlainContext
from gravel.stages.errors import StageError
from gravel.stages.rank_group import RankGroupBroken, run_in_threads
from gravel.stages.traversal.parameters import TraverseParameters
from gravel.stages.traverse import traverse
from tests.emulation import fake_cupy
from tests.emulation.test_gpu_ranks import GPU, Workers
from tests.kernels.cuda_case import fast_csr, rmat
from tests.kernels.partition.test_components import shuffled_path
from tests.parameters import slow_among
from tests.stages.ranks.test_searches import split
from tests.zoo import scipy_components, zoo

pytestmark = pytest.mark.usefixtures("cupy_on_cpu")

BY_NAME = {graph.name: graph for graph in zoo()}
GIANT, LEAST, NO_TREE = 6, 7, (1 << 32) - 1
NAMES = ("skewed_random", "hub_and_chain", "tail_on_clique", "grid_13x17", "complete_40")


def found_by(whole: Any, symmetric: bool, devices: int = 1) -> CudaComponents:
    return CudaComponents(whole, symmetric=symmetric, devices=range(devices), time_limit=60.0)


@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize("name", slow_among(NAMES, {"hub_and_chain"}))
def test_components_equal_scipy(name: str, symmetric: bool) -> None:
    offsets, columns = BY_NAME[name].csr(symmetric=symmetric)
    wanted = scipy_components(offsets, columns)
    for ranks, devices, threshold in ((1, 1, 6), (3, 1, 0), (4, 2, 6), (3, 3, 10**6)):
        whole = partition(offsets, columns, ranks=ranks, threshold=threshold)
        search = found_by(whole, symmetric, devices)
        for _ in range(2):
            found = search.run()
            assert numpy.array_equal(found.component, wanted)
        assert found.component.dtype == columns.dtype
        assert len({each.rounds for each in search.rounds_run}) == 1
        for each in search.rounds_run:
            assert all(each.phases[phase] > 0 for phase in JOINING)
            assert (each.took(("pull", "shortcut", "hook")) > 0) == (each.rounds > 0)


def test_a_large_component_is_skipped_and_long_rows_are_cut() -> None:
    offsets, columns = fast_csr(rmat(10), symmetric=True, index=numpy.uint64)
    wanted = scipy_components(offsets, columns)
    for symmetric, ranks, threshold in ((True, 2, 12), (False, 3, 40)):
        whole = partition(offsets, columns, ranks=ranks, threshold=threshold)
        search = found_by(whole, symmetric, 2)
        assert numpy.array_equal(search.run().component, wanted)
        giants = [int(memory.arrays["counts"][GIANT]) for memory in search._memory]
        assert all((giant == NO_TREE) != symmetric for giant in giants)
        told = min(int(memory.arrays["counts"][LEAST]) for memory in search._memory)
        assert told == wanted[numpy.diff(offsets) > 0].min()


def test_rounds_grow_with_the_logarithm_of_a_path() -> None:
    offsets, columns = shuffled_path(600)
    for ranks in (2, 4):
        whole = partition(offsets, columns, ranks=ranks, threshold=4)
        search = found_by(whole, True, 2)
        assert not search.run().component.any()
        assert 2 <= search.rounds_run[0].rounds <= 14


@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_ranks_of_a_rank_group_find_their_parts(ranks: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mapping, "process_id", threading.get_ident)
    offsets, columns = fast_csr(rmat(8), symmetric=True)
    whole = partition(offsets, columns, ranks=ranks, threshold=12)
    wanted = scipy_components(offsets, columns)

    def find(group: Any, _: Any) -> Any:
        with fake_cupy.Device(group.rank):
            rank = PeerComponents(group, whole.of_rank(group.rank), symmetric=True, time_limit=60.0)
            found = [rank.run(), rank.run()]
            rank.leave(group)
            return found

    for rank, found in enumerate(run_in_threads(find, [None] * ranks)):
        for each in found:
            assert numpy.array_equal(each.component, wanted[rank::ranks])
            assert (each.rounds > 0) == (ranks > 1)


def test_a_rank_that_does_not_come_is_given_up_by_all() -> None:
    offsets, columns = fast_csr(rmat(7), symmetric=True)
    whole = partition(offsets, columns, ranks=2, threshold=12)

    def one_is_late(group: Any, _: Any) -> str:
        with fake_cupy.Device(group.rank):
            rank = PeerComponents(group, whole.of_rank(group.rank), symmetric=True, time_limit=0.3)
            if group.rank == 1:
                rank._launch.start = lambda: (None, fake_cupy.Event())  # type: ignore[method-assign]
            with pytest.raises(RuntimeError) as given_up:
                rank.run()
            return str(given_up.value)

    assert all("given up" in answer for answer in run_in_threads(one_is_late, [None] * 2))


@pytest.mark.parametrize("symmetric", slow_among([True, False], [False]))
def test_the_stage_finds_on_gpus_what_it_does_on_the_cpu(symmetric: bool) -> None:
    stored = split("skewed_random", 2, symmetric)
    wanted, _ = traverse(PlainContext(), TraverseParameters(algorithm="components"), input=stored)
    asked = TraverseParameters(algorithm="components", backend="cuda")
    workers = Workers(2)
    for context, words in ((PlainContext(GPU), "so one holds all ranks"), (workers, "")):
        found, measured = traverse(context, asked, input=stored)
        assert found.component is not None
        assert wanted.component is not None
        assert numpy.array_equal(found.component, wanted.component)
        assert (measured.backend, measured.hardware) == ("cuda", "an emulated GPU")
        assert not any("on the CPU" in note for note in measured.notes)
        assert any(words in note for note in [*measured.notes, ""])
        assert measured.searches[0]["exchange"]["rounds"] > 0
    assert workers.calls == 1
    assert "each of 2 ranks on its own worker" in measured.reason


def test_gpus_that_wait_in_vain_break_the_rank_group(monkeypatch: pytest.MonkeyPatch) -> None:
    def given_up(self: Any, *, on_device: bool) -> Any:
        raise RuntimeError("the search was given up")

    monkeypatch.setattr("gravel.kernels.partition.cuda.components.PeerComponents.run", given_up)
    asked = TraverseParameters(algorithm="components", backend="cuda")
    with pytest.raises(RankGroupBroken, match="given up"):
        traverse(Workers(2), asked, input=split("path_33", 2))


def test_gpus_that_are_no_peers_are_told() -> None:
    class OneDevice(Workers):
        def rank_group(self, function: Any, ranks: Any) -> list[Any]:
            return PlainContext.rank_group(self, function, ranks)

    asked = TraverseParameters(algorithm="components", backend="cuda")
    with pytest.raises(StageError, match="several ranks share a GPU"):
        traverse(OneDevice(2), asked, input=split("path_33", 2))


def test_too_many_ranks_for_the_devices() -> None:
    whole = partition(*BY_NAME["path_33"].csr(), ranks=2, threshold=3)
    with pytest.raises(ValueError, match="2 ranks do not go on 3 devices"):
        found_by(whole, True, 3)
    assert FIELDS.index("rank") == 4
