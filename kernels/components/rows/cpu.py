"""Components of encoded rows on the CPU, which decodes them first."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from kernels.components import ComponentsResult
from kernels.components.cpu.afforest import components as afforest
from kernels.layouts import decode

if TYPE_CHECKING:
    from kernels.layouts import EncodedRows


def prepare(rows: EncodedRows, *, symmetric: bool, **tuning: Any) -> DecodedComponents:
    """Make rows ready; `tuning` as `kernels.components.cpu.afforest.components` takes it."""
    return DecodedComponents(rows, symmetric, tuning)


class DecodedComponents:
    """Rows that are decoded in every run, whose time counts."""

    prepare_milliseconds = 0.0
    heads = None

    def __init__(self, rows: EncodedRows, symmetric: bool, tuning: dict[str, Any]) -> None:
        self._rows, self._symmetric, self._tuning = rows, symmetric, tuning

    def run(self) -> ComponentsResult:
        """Decode the rows and find their components."""
        started = time.perf_counter()
        columns = decode(self._rows)
        decoding = (time.perf_counter() - started) * 1e3
        found = afforest(*columns, symmetric=self._symmetric, **self._tuning)
        return replace(found, milliseconds=found.milliseconds + decoding)
