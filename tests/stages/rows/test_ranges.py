"""A GPU of which others use most: rows are built in ranges or on the CPU, and are the same."""

from __future__ import annotations

import sys
import types
from typing import Any, cast

import numpy
import pytest

from gravel.kernels import csr
from gravel.kernels.cuda.room import CONTEXT_BYTES, is_device_memory, usable_bytes
from gravel.stages.artifacts import EdgeList
from gravel.stages.context import PlainContext
from gravel.stages.sizes import Machine
from gravel.stages.stage import Extent
from gravel.stages.symmetrize import STAGE, SymmetrizeParameters, device_bytes, symmetrize
from tests.stages.fake_device import fake_device, on_device

__all__ = ["fake_device"]

VERTICES, EDGES = 200, 5000
WHOLE = device_bytes(VERTICES, EDGES, 2 * EDGES, 4)


def edges() -> EdgeList:
    ends = numpy.random.default_rng(7).integers(0, VERTICES, (2, EDGES)).astype(numpy.uint32)
    return EdgeList(source=ends[0], target=ends[1], vertex_count=VERTICES, undirected=True)


@pytest.fixture
def crowded(fake_device: Any, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Have sorts find no room beyond some arcs, as Thrust says it; yields what was asked, and the limit."""
    real: Any = csr.build
    asked, lay = [0], cast("Any", on_device)
    cupy = sys.modules["cupy"]
    runtime = types.SimpleNamespace(memGetInfo=lambda: (WHOLE, 1 << 37))
    monkeypatch.setattr(cupy, "cuda", types.SimpleNamespace(runtime=runtime), raising=False)

    def build(source: Any, target: Any, vertices: int, **options: Any) -> Any:
        asked.append(len(source))
        if len(source) > asked[0]:
            raise MemoryError("std::bad_alloc")
        host = [cast("Any", each).get() for each in (source, target)]
        made = real(*host, vertices, **options)
        rows, columns = lay(made.row_offsets), lay(made.column_indices)
        return made._replace(row_offsets=rows, column_indices=columns)

    monkeypatch.setattr(csr, "build", build)
    return asked


def made(machine: Machine, tmp_path: Any) -> tuple[Any, list[str]]:
    told: list[str] = []

    class Context(PlainContext):
        def log(self, message: str) -> None:
            told.append(message)

        remark = log

    return symmetrize(Context(machine, tmp_path), SymmetrizeParameters(), input=edges()), told


@pytest.mark.parametrize(
    ("most", "calls", "says"),
    [
        (EDGES, 1, ""),
        (EDGES - 1, 9, "ranges of"),
        (400, 20, "are built on the CPU"),
        (0, 20, "are built on the CPU"),
    ],
)
def test_rows_are_built_whatever_room_a_sort_finds(
    crowded: list[int], tmp_path: Any, most: int, calls: int, says: str
) -> None:
    """`graph` failed three times as "host memory ran out: std::bad_alloc"."""
    on_host = symmetrize(PlainContext(), SymmetrizeParameters(), input=edges())
    crowded[0] = most
    found, told = made(Machine(backend="cuda", threads=1, device_memory=WHOLE, host_memory=1 << 30), tmp_path)
    assert 1 <= len(crowded) - 1 <= calls
    assert numpy.array_equal(numpy.asarray(found.row_offsets), on_host.row_offsets)
    assert numpy.array_equal(numpy.asarray(found.column_indices), on_host.column_indices)
    assert says in "; ".join(told)
    assert not list(tmp_path.iterdir())


def test_a_gpu_that_is_nearly_full_leaves_rows_to_the_cpu(crowded: list[int], tmp_path: Any) -> None:
    machine = Machine(backend="cuda", threads=1, device_memory=WHOLE // 100, host_memory=1 << 30)
    need = STAGE.estimate(
        SymmetrizeParameters(), {"input": (Extent(kind="EdgeList", vertices=VERTICES, arcs=EDGES),)}, machine
    )
    assert need.device_bytes == 0
    assert "on the CPU: building rows needs 1 MiB of GPU memory, and 0 MiB are free" in need.note
    found, told = made(machine, tmp_path)
    assert len(crowded) == 1
    assert found.arc_count
    assert "built on the CPU" in told[0]


def test_what_a_process_takes_beside_arrays_is_left_free() -> None:
    for free in (0, 1 << 28, 1_000_000_000, 3_300_000_000, 80 << 30):
        assert 0 <= usable_bytes(free) <= max(0, min(free - CONTEXT_BYTES, 0.95 * free))
    assert usable_bytes(80 << 30) == int(0.95 * (80 << 30))
    assert usable_bytes(3_300_000_000) == 3_300_000_000 - CONTEXT_BYTES


def raised(module: str, text: str) -> BaseException:
    """Return what a function of a module raises."""
    names: dict[str, Any] = {"__name__": module}
    exec(compile(text, module, "exec"), names)
    with pytest.raises(MemoryError) as caught:
        names["work"]()
    return caught.value


@pytest.mark.parametrize(
    ("module", "on_gpu"), [("cupy.cuda.thrust", True), ("cupy_backends.cuda", True), ("gravel.stages", False)]
)
def test_bad_alloc_of_a_device_library_is_device_memory(module: str, on_gpu: bool) -> None:
    error = raised(module, "def work():\n    raise MemoryError('std::bad_alloc')\n")
    assert is_device_memory(error) is on_gpu


def test_a_host_array_that_cupy_makes_is_host_memory() -> None:
    text = "import numpy\ndef work():\n    numpy.empty(1 << 62, numpy.uint8)\n"
    assert not is_device_memory(raised("cupy._core", text))
