"""How every CPU kernel is compiled: cached on disk, without the GIL, on OpenMP threads.

Numba's `workqueue` layer aborts the process when two threads enter it at once, so OpenMP is required.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import numba

numba.config.THREADING_LAYER = "omp"

serial = numba.njit(cache=True, nogil=True, boundscheck=False)
"""Decorator for a kernel that runs on the calling thread."""

parallel = numba.njit(cache=True, nogil=True, boundscheck=False, parallel=True)
"""Decorator for a kernel whose `prange` loops run on all threads."""

prange = numba.prange


def set_threads(threads: int) -> None:
    """Let parallel kernels called from this thread use at most this many threads."""
    numba.set_num_threads(max(1, min(threads, numba.config.NUMBA_NUM_THREADS)))
