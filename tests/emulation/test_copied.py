"""Parts that are read, copied and worked on at the same time: none is overwritten while somebody needs it."""

from __future__ import annotations

import sys
import types
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy
import pytest

from gravel.kernels.placement.copied import CopiedParts
from tests.emulation import lazy_cupy


class Event(lazy_cupy.Event):
    """An event that is waited for as CuPy's is, and has come if it was never recorded."""

    def __init__(self, disable_timing: bool) -> None:
        assert disable_timing
        super().__init__()

    def synchronize(self) -> None:
        lazy_cupy.queue.run_until(self.after)


class Stream(lazy_cupy.Stream):
    def synchronize(self) -> None:
        lazy_cupy.queue.run_until(self.last)


def module(seed: int, working: Stream) -> types.ModuleType:
    fake: Any = lazy_cupy.module(seed)
    fake.cuda.Stream, fake.cuda.Event = Stream, Event
    fake.cuda.get_current_stream = lambda: working
    return fake  # type: ignore[no-any-return]


@pytest.fixture
def lazily(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Put a CuPy in place whose operations come in an order of their own; returns the current stream."""
    monkeypatch.setattr(
        "gravel.kernels.placement.copied.pin", lambda array, host: SimpleNamespace(array=array)
    )

    def start(seed: int) -> Stream:
        lazy_cupy.queue = lazy_cupy.Queue()
        working = Stream(non_blocking=True)
        monkeypatch.setitem(sys.modules, "cupy", module(seed, working))
        return working

    return start


def look(found: dict[int, Any], part: int, there: Any) -> None:
    found[part] = numpy.array(there)


@pytest.mark.parametrize("buffers", [2, 3])
def test_every_part_is_whole_when_it_is_worked_on(lazily: Any, buffers: int) -> None:
    values = numpy.random.default_rng(1).integers(0, 255, 4000).astype(numpy.uint8)
    ranges = [(first, min(first + 300, 4000)) for first in range(0, 4000, 256)]
    for seed in range(12):
        working = lazily(seed)
        parts = CopiedParts(values, ranges, 320, buffers)
        wanted = list(range(len(ranges))) if seed % 2 else [0, 3, 4, 5, 6, 9, 15]
        for _ in range(2):
            found: dict[int, Any] = {}
            for part, there, size in parts.each(wanted):
                assert size == ranges[part][1] - ranges[part][0]

                working.enqueue(partial(look, found, part, there[:size]))
            working.synchronize()
            assert list(found) == wanted
            for part, (first, last) in ((part, ranges[part]) for part in wanted):
                numpy.testing.assert_array_equal(found[part], values[first:last])


def test_what_reading_raises_comes_out(lazily: Any) -> None:
    class Broken:
        dtype = numpy.dtype(numpy.uint8)

        def __len__(self) -> int:
            return 1000

        def read_into(self, out: Any, first: int) -> None:
            if first >= 500:
                raise OSError("the disk is gone")
            out[:] = 1

    lazily(1)
    parts = CopiedParts(Broken(), [(0, 250), (250, 500), (500, 750), (750, 1000)], 250, 2)
    seen = []
    with pytest.raises(OSError, match="the disk is gone"):
        seen.extend(part for part, _, _ in parts.each(range(4)))
    assert seen in ([], [0], [0, 1])
