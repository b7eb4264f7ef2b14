"""What Dask is told for a run."""

from __future__ import annotations

from types import SimpleNamespace

import dask
import pytest
from distributed.diagnostics import nvml

from gravel.pipeline.workers.settings import dask_settings


@pytest.mark.parametrize("uses_dask_cuda", [True, False])
def test_dask_opens_the_driver_of_gpus_for_dask_cuda_alone(monkeypatch, tmp_path, uses_dask_cuda) -> None:
    """Scheduler and workers count GPUs when they start, which opens NVML."""
    opened: list[int] = []
    fake = SimpleNamespace(
        nvmlInit=lambda: opened.append(1),
        nvmlDeviceGetCount=lambda: 1,
        NVMLError_LibraryNotFound=OSError,
        NVMLError_DriverNotLoaded=OSError,
        NVMLError_Unknown=OSError,
    )
    monkeypatch.setattr(nvml, "pynvml", fake)
    monkeypatch.setattr(nvml, "NVML_STATE", nvml.NVMLState.UNINITIALIZED)
    monkeypatch.setattr("distributed.worker.add_gpu_metrics", lambda: None)
    with dask.config.set(dask_settings(tmp_path / "log", 2, uses_dask_cuda=uses_dask_cuda)):
        assert nvml.device_get_count() == int(uses_dask_cuda)
    assert bool(opened) == uses_dask_cuda
