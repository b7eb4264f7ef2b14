"""Partitioned searches on GPUs: ranks in device memory, one cooperative launch a search on each device."""

from __future__ import annotations

from gravel.kernels.partition.cuda.launch import Level
from gravel.kernels.partition.cuda.search import CudaPartitionSearch

__all__ = ["CudaPartitionSearch", "Level"]
