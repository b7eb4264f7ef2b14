"""Results in the memory of one process, read by another."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy
import pytest

from gravel.pipeline.core.errors import DamagedArtifact
from gravel.pipeline.workers import mapped, process_memory, resident
from gravel.pipeline.workers.hand_over import HOST, IPC, MAPPED, HandOver
from gravel.stages.artifact import Artifact
from gravel.stages.artifacts import Graph, Partition
from tests.pipeline.memory_case import graph


@pytest.fixture
def kept() -> Iterator[Callable[..., None]]:
    """Keep a result in this process, until the test ends."""
    names: list[str] = []

    def keep(name: str, artifact: Artifact) -> None:
        resident.keep_resident((name,), (artifact,))
        names.append(name)

    yield keep
    for name in names:
        if name in resident.RESIDENT:
            resident.release_resident((name,))


def in_place(address: str, function: Any, *arguments: Any) -> Any:
    """The worker at any address is this process."""
    return function(*arguments)


@pytest.fixture(params=["read", "mapped"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """How memory comes from another process: read, or mapped where the system refuses to have it read."""

    def refuse(*_: Any) -> None:
        raise process_memory.ReadRefused("Operation not permitted")

    if request.param == "mapped":
        monkeypatch.setattr(mapped, "read_memory", refuse)
    return str(request.param)


def test_a_result_of_another_worker_comes_field_by_field(way: str, kept: Any) -> None:
    numbers, log = numpy.arange(100_000), list[str]()
    kept("there", graph(numbers))
    hand_over = HandOver(in_place, log.append)
    found: Any = hand_over.bring("there", "address", None)
    assert isinstance(found, Graph)
    assert found.column_indices.shape == (0,)
    assert not hand_over.brought
    assert numpy.array_equal(found.row_offsets, numbers)
    assert found.row_offsets is found.row_offsets
    found.row_offsets[0] = 5
    assert numbers[0] == 0
    other: Any = HandOver(in_place, log.append).bring("there", "address", None)
    assert other.row_offsets[0] == 0
    resident.release_resident(("there",))
    assert other.row_offsets[1] == 1
    size, expected = numbers.nbytes, HOST if way == "read" else MAPPED
    assert hand_over.brought == {expected: size, IPC: 0}
    assert log[0].startswith(f"there: row_offsets comes from another worker, 781 KiB {expected}, in ")


def test_arrays_of_a_group_come_with_those_that_are_small(way: str, kept: Any) -> None:
    arrays = {"large": numpy.arange(50_000), "strided": numpy.arange(90_000)[::3], "small": numpy.arange(3)}
    partition = Partition(
        arrays=arrays,
        delegates=numpy.zeros(0, numpy.uint32),
        permutation=None,
        ranks=1,
        threshold=1,
        vertex_count=1,
        arc_count=0,
        symmetric=True,
        deduplicated=True,
        statistics={},
    )
    kept("group", partition)
    found: Any = HandOver(in_place, lambda _: None).bring("group", "address", None)
    assert list(found.arrays) == list(arrays)
    for name, array in arrays.items():
        assert numpy.array_equal(found.arrays[name], array)
    again: Any = pickle.loads(pickle.dumps(found))
    assert type(again) is Partition
    assert numpy.array_equal(again.arrays["strided"], arrays["strided"])
    assert Artifact.kinds["Partition"] is Partition


def test_memory_that_its_owner_let_go_of_is_not_believed(way: str, kept: Any) -> None:
    kept("left", graph(numpy.arange(100_000)))
    found: Any = HandOver(in_place, lambda _: None).bring("left", "address", None)
    there: Any = HandOver(in_place, lambda _: None).bring("left", "address", lambda: graph(numpy.arange(7)))
    resident.release_resident(("left",))
    kept("left", graph(numpy.arange(100_001)))
    mapped.share("left")
    with pytest.raises(DamagedArtifact, match="has let go of it"):
        _ = found.row_offsets
    assert len(there.row_offsets) == 7


def test_memory_of_a_process_that_is_gone(kept: Any) -> None:
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    kept("dead", graph(numpy.arange(100_000)))
    shared = replace(mapped.share("dead"), process=child.pid)
    hand_over = HandOver(lambda *_: shared, lambda _: None)
    found: Any = hand_over.bring("dead", "address", None)
    with pytest.raises(DamagedArtifact, match="is gone"):
        _ = found.row_offsets


def test_what_a_gpu_has_is_handed_over_by_its_name(monkeypatch: pytest.MonkeyPatch, kept: Any) -> None:
    from gravel.kernels.placement import device_copies, device_sharing

    class There:
        nbytes = 800_000

    there, ended = There(), []
    copies = device_copies.DeviceCopies()
    copies.budget = 1 << 20
    log: list[str] = []
    monkeypatch.setattr(device_copies, "COPIES", copies)
    monkeypatch.setattr(device_sharing, "export", lambda array: (b"handle", lambda: ended.append(array)))
    monkeypatch.setattr(
        device_sharing, "bring", lambda handle, shape, dtype: There() if handle == b"handle" else None
    )
    numbers = numpy.arange(100_000)
    kept("named", graph(numbers))
    assert copies.keep(numbers, there)
    plain: Any = HandOver(in_place, log.append).bring("named", "address", None)
    assert copies.find(plain.row_offsets) is None
    for _ in range(2):
        hand_over = HandOver(in_place, log.append, on_device=True)
        found: Any = hand_over.bring("named", "address", None)
        assert copies.find(found.row_offsets) is not None
        assert hand_over.brought[IPC] == numbers.nbytes
    assert ", 781 KiB by IPC, in" in log[1]
    resident.release_resident(("named",))
    assert ended == [there]


def test_the_oldest_copies_leave_a_gpu_first_and_go_with_the_hosts() -> None:
    from gravel.kernels.placement.device_copies import DeviceCopies

    class There:
        nbytes = 40

    copies = DeviceCopies()
    copies.budget = 100
    hosts = [numpy.zeros(5) for _ in range(3)]
    assert all(copies.keep(host, There()) for host in hosts)
    assert [copies.find(host) is not None for host in hosts] == [False, True, True]
    assert copies.bytes == 80
    copies.make_room(50)
    assert [copies.find(host) is not None for host in hosts] == [False, False, True]
    hosts.pop()
    assert copies.bytes == 0
    copies.budget = 10
    assert not copies.keep(hosts[0], There())
