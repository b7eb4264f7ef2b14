"""The parameters of `probe`."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, field_validator, model_validator

from gravel.kernels.probes import COUPLED, GATHERS, LOOKUPS
from gravel.stages.stage import Parameters
from gravel.stages.traversal.names import checked_strategy, strategy_names
from gravel.stages.traversal.parameters import RandomSources

METHODS: dict[str, tuple[str, ...]] = {
    "gather": tuple(GATHERS),
    "lookup": tuple(LOOKUPS),
    "gather_and_lookup": COUPLED,
    "levels": (),
}
"""What `methods` can name, by what is measured."""


class ProbeParameters(Parameters):
    """Which parts to run, from which sources and how often."""

    measure: Literal["gather", "lookup", "gather_and_lookup", "levels"] = "gather"
    """`gather` reads neighbours. `lookup` looks up the status of an edge frontier. `gather_and_lookup` runs
    the gather by scan, warp and block with the look-ups in `methods`, in separate kernels and in one.
    `levels` only counts the vertices and arcs of each level."""
    methods: tuple[str, ...] = ()
    """Gathers (serial, warp, scan, scan_warp_cta) or look-ups (bitmask, label, warp_culling, history_culling,
    atomic). The default is all of them, and `label` for `gather_and_lookup`."""
    schedules: tuple[Literal["oversubscribed", "stealing"], ...] = Field(("oversubscribed",), min_length=1)
    """How blocks get tiles of rows: one block for each tile, or resident blocks that steal the next one."""
    strategy: str = Field(default="auto", json_schema_extra={"enum": [*strategy_names("bfs")]})
    """The strategy that finds the levels. It is not measured, and all strategies find the same levels."""
    sources: RandomSources = RandomSources(random=4)
    """`{random: k, seed: s}`: the searches whose levels are used."""
    repeats: int = Field(default=5, ge=1)
    """Sweeps over all levels of a search; the median of each level is reported."""
    block: int = Field(default=256, ge=32, le=1024, multiple_of=32)
    """Threads of a block."""

    @field_validator("strategy")
    @classmethod
    def _is_known(cls, strategy: str) -> str:
        return checked_strategy("bfs", strategy)

    @model_validator(mode="after")
    def _fit_together(self) -> ProbeParameters:
        known = METHODS[self.measure]
        for name in self.methods:
            if name not in known:
                told = f"it can be {', '.join(known)}" if known else "it runs nothing that has a name"
                raise ValueError(f"{self.measure} has no method {name!r}; {told}")
        for names in (self.methods, self.schedules):
            if len(set(names)) < len(names):
                raise ValueError(f"{', '.join(names)} lists a value twice")
        return self

    def chosen(self) -> tuple[str, ...]:
        """Return the methods to run."""
        return self.methods or (("label",) if self.measure == "gather_and_lookup" else METHODS[self.measure])
