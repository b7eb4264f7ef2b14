"""A stage that computes nothing: what a run of it takes is what the driver and the store take."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from gravel.stages.artifacts import VertexIds
from gravel.stages.stage import Extent, Machine, Need, Parameters, Stage

if TYPE_CHECKING:
    from gravel.stages.context import Context


class NothingParameters(Parameters):
    value: int = 0
    arrays: bool = False


def nothing(context: Context, parameters: NothingParameters) -> VertexIds:
    """Return a number, and an array of one element if that is asked for."""
    if not parameters.arrays:
        return VertexIds(first=parameters.value, vertex_count=1)
    import numpy

    return VertexIds(ids=numpy.array([parameters.value], dtype=numpy.int64), vertex_count=1)


def estimate(
    parameters: NothingParameters, inputs: Mapping[str, tuple[Extent, ...]], machine: Machine
) -> Need:
    return Need(1 << 16, 0, (Extent(kind="VertexIds", vertices=1),))


STAGE = Stage(
    name="nothing",
    version=1,
    about="Computes nothing.",
    parameters=NothingParameters,
    inputs={},
    outputs=("VertexIds",),
    run=nothing,
    estimate=estimate,
)
