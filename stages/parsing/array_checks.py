"""Faults of edges that arrive as columns: rows count from 0."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gravel.stages.errors import StageError
from gravel.stages.readers import LARGEST_ID

if TYPE_CHECKING:
    from numpy.typing import NDArray


def check_ids(values: NDArray[Any], name: str, row: int, location: str) -> None:
    """Raise StageError for the first value (row `row` on) that is no id: 0 to 2^63-1."""
    import numpy

    bad = numpy.flatnonzero((values < 0) | (values > LARGEST_ID))
    if len(bad):
        value = int(values[bad[0]])
        raise StageError(
            f"row {row + int(bad[0]):,} (from 0) of {name!r} is {value}; "
            "ids are whole numbers from 0 to 2^63-1",
            file=location,
        )


def check_weights(values: NDArray[Any], row: int, location: str) -> None:
    """Raise StageError for the first weight that is infinite or no number."""
    import numpy

    bad = numpy.flatnonzero(~numpy.isfinite(values))
    if len(bad):
        raise StageError(
            f"row {row + int(bad[0]):,} (from 0) of 'weight' is {values[bad[0]]}; expected a finite number",
            hint="`weights: false` reads the edges alone",
            file=location,
        )
