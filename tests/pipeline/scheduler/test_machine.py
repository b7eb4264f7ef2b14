"""What is said of a machine that has not what a run asks for."""

from __future__ import annotations

from pathlib import Path

import pytest

from gravel.pipeline.core.errors import RequestError
from gravel.pipeline.scheduler.machine import RunOptions, decide


@pytest.mark.parametrize("mask", ["", "7", None])
def test_a_mask_that_may_hide_a_gpu_is_named_if_there_is_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mask: str | None
) -> None:
    monkeypatch.setattr("gravel.pipeline.scheduler.machine.find_devices", lambda: ())
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if mask is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", mask)
    with pytest.raises(RequestError, match="no GPU with an NVIDIA driver was found here") as caught:
        decide(RunOptions(tmp_path, backend="cuda"))
    assert (f"(CUDA_VISIBLE_DEVICES is {mask!r})" in str(caught.value)) == (mask is not None)
    assert ("CUDA_VISIBLE_DEVICES" in str(caught.value.problems[0])) == (mask is not None)
