"""links: what messages between ranks take, by their size and by what carries them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from gravel.stages.links_parameters import LinksParameters
from gravel.stages.stage import Extent, Machine, Need, Stage

if TYPE_CHECKING:
    from gravel.stages.artifacts import Links
    from gravel.stages.context import Context

STARTED = 24 << 20
"""Measured: a worker that has loaded what carries messages."""


def links(context: Context, parameters: LinksParameters) -> Links:
    """Time barriers, messages and reductions between ranks, each on its own worker.

    Raises `StageError` for a transport that is not available, and `VerificationFailed` if a message arrives
    changed.
    """
    from gravel.stages.linking import measure_links

    return measure_links(context, parameters)


def _estimate(
    parameters: LinksParameters, inputs: Mapping[str, tuple[Extent, ...]], machine: Machine
) -> Need:
    largest, ranks = int(parameters.largest), parameters.ranks
    # On the wire a message is pickled at both ends and in between, for each other rank.
    flying = min(max(largest, int(parameters.total)), int(parameters.wire_largest))
    host = ranks * STARTED + 6 * ranks * (ranks - 1) * flying
    device = (3 * ranks + 3) * largest if machine.backend == "cuda" else 0
    return Need(host, device, (Extent(kind="Links", bytes=0),))


STAGE = Stage(
    name="links",
    version=2,
    about="Times barriers, messages and reductions between ranks by size, over each available transport.",
    parameters=LinksParameters,
    inputs={},
    outputs=("Links",),
    run=links,
    estimate=_estimate,
    measures=True,
    cuda=True,
    ranks=lambda parameters: int(parameters.ranks),
)
