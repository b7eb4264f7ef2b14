"""Parameters of `auto` that `reorder` and `compress` share, and their decisions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import ByteSize, Field

from gravel.kernels.layouts.registry import layouts
from gravel.stages.stage import OneOf, Parameters

if TYPE_CHECKING:
    from gravel.kernels.advice.decide import Advice
    from gravel.kernels.advice.model import Workload


LayoutName = Annotated[str, OneOf(lambda: (*layouts(), "auto"))]
"""A layout, or `auto`."""


class AdviceParameters(Parameters):
    """Parameters that say what a graph is prepared for.

    Without `measure` the decision does not depend on the machine, so equal workflows get the same one.
    """

    algorithm: Literal["bfs", "components"] = "bfs"
    """What will run on the graph."""
    searches: int = Field(default=1000, ge=1)
    """Number of searches that share the time of preparing the graph."""
    device_memory: ByteSize | None = None
    """Device memory that graph and search may take; without it everything fits."""
    placement: Literal["auto", "device", "pinned", "split"] = "auto"
    """Where the rows will be kept; `auto` is the device if they fit, else split."""
    measure: bool = False
    """Time the likely choices on the graph itself, if it has at most 134 million arcs, and take the fastest.
    This takes at most a tenth of the time of all searches. The hardware is then part of the recipe."""

    def workload(self) -> Workload:
        """Return it as the kernels take it."""
        from gravel.kernels.advice.model import Workload

        memory = None if self.device_memory is None else int(self.device_memory)
        return Workload(self.algorithm, self.searches, memory, self.placement)


class OrderAdviceParameters(AdviceParameters):
    """Parameters of the same for an order, which is chosen together with the layout that follows."""

    layout: LayoutName = "auto"
    """How the rows will be written; `auto` is whichever is best."""

    def layouts(self) -> tuple[str, ...]:
        """Return the layouts that may follow."""
        return tuple(layouts()) if self.layout == "auto" else (self.layout,)


def is_measured(parameters: Any) -> bool:
    """Return whether a stage with these parameters chooses by measurements."""
    return parameters.advice is not None and parameters.advice.measure


def choice_text(what: str, advice: Advice) -> str:
    """Say for the log what was chosen and why."""
    return f"{what}: auto is {advice.choice}; {advice.reason}"


def recorded(advice: Advice | None) -> dict[str, Any]:
    """Return what the statistics of an artifact get: nothing where nothing was decided."""
    return {} if advice is None else {"advice": advice.plain()}
