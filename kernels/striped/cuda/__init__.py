"""Striped searches on GPUs: stripes in device memory, one cooperative launch a search on each device."""

from __future__ import annotations

from gravel.kernels.striped.cuda.search import CudaStripedSearch

__all__ = ["CudaStripedSearch"]
