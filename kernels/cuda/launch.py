"""Kernels whose threads stride over items, launched with a thread or more for each item."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy

from gravel.kernels.cuda import load, resident_blocks, run_over

BLOCK = 256

SHARED_BYTES = 48 << 10
"""Shared memory of a block that needs no asking."""


class Kernels:
    """The kernels of a file on the current device.

    Parameters
    ----------
    path, macros : of the file, as `gravel.kernels.cuda.load` takes them.
    block : threads of a block, a multiple of 32.
    most : blocks of a launch at most; threads stride over the rest.
    cooperative : whether a kernel of the file waits for its grid. Launches then have at most the blocks
        that run at the same time, since CUDA asks that of all kernels that are compiled together.

    """

    def __init__(
        self,
        path: str,
        *,
        block: int = BLOCK,
        most: int = 1 << 14,
        cooperative: bool = False,
        **macros: object,
    ) -> None:
        self._module = load(path, **macros)
        self.block, self._most, self._cooperative = block, most, cooperative

    def run(self, name: str, threads: int, *arguments: Any, shared: int = 0) -> None:
        """Launch a kernel, unless there is nothing to do; `shared` is bytes of shared memory for a block.

        Python's integers are passed as u64, None as a null pointer.
        """
        if threads <= 0:
            return
        kernel = self._module.get_function(name)
        if shared > SHARED_BYTES:
            kernel.max_dynamic_shared_size_bytes = shared
        most = resident_blocks(kernel, self.block) if self._cooperative else self._most
        run_over(kernel, threads, *_passed(arguments), block=self.block, most=most, shared=shared)

    def cooperate(self, name: str, *arguments: Any) -> None:
        """Launch a kernel that waits for its grid, in as many blocks as run at the same time."""
        kernel = self._module.get_function(name)
        grid = (resident_blocks(kernel, self.block),), (self.block,)
        kernel(*grid, tuple(_passed(arguments)))


def _passed(arguments: Iterable[Any]) -> Iterator[Any]:
    return (numpy.uint64(each or 0) if isinstance(each, int | None) else each for each in arguments)
