"""The time of batches is that of their searches."""

from __future__ import annotations

import time

from gravel.kernels.compile_time import COMPILE_TIME
from gravel.stages.measuring.batches import one_by_one


def test_kernels_that_compile_count_for_no_batch() -> None:
    def search(first: int, _: int) -> None:
        if first == 0:
            with COMPILE_TIME.counted():
                time.sleep(0.5)
        time.sleep(0.01)

    first, second = one_by_one(20, 10, search)(0)
    assert 10 <= first.milliseconds < 400
    assert second.milliseconds >= 10
    assert second.began - first.began >= 0.5
