"""Waking a GPU keeps it busy for as long as was asked, and no longer than that takes."""

from __future__ import annotations

import pytest


@pytest.mark.gpu
def test_the_device_is_busy_for_that_long():
    import cupy

    from gravel.kernels.cuda.wake import wake

    wake()
    start, end = cupy.cuda.Event(), cupy.cuda.Event()
    start.record()
    wake(3.0)
    end.record()
    end.synchronize()
    assert 3.0 <= cupy.cuda.get_elapsed_time(start, end) < 6.0
