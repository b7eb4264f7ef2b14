"""The parameters of `distribute`."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from gravel.stages.ingest_parameters import IngestParameters

Duplicates = Literal["leave_out", "minimum", "sum", "error"]


def _left_out(value: Any) -> Any:
    """Take `false`, with which weights are left out elsewhere."""
    return "leave_out" if value is False else value


class DistributeParameters(IngestParameters):
    """Parameters: the graph, the number of ranks, and the vertices that every rank knows."""

    weights: Annotated[Duplicates, BeforeValidator(_left_out)] = "leave_out"  # type: ignore[assignment]
    """Keep the weights of files, for shortest paths. Parallel arcs get the `minimum` or the `sum` of their
    weights, or are an `error` if these differ."""
    ranks: int = Field(default=1, ge=1, le=65536)
    """Ranks (one GPU or worker each) that make and share the graph."""
    threshold: Annotated[int, Field(ge=0)] | Literal["auto"] = "auto"
    """Vertices with more neighbours than this are delegates; `auto` takes the one that a cost model finds
    fastest."""
    hosts: int | None = Field(default=None, ge=1, le=65536)
    """Number of machines with equally many ranks, for the cost model; by default as few as hold eight ranks
    each."""

    @model_validator(mode="after")
    def _fit_together(self) -> DistributeParameters:
        if self.hosts is not None and self.ranks % self.hosts:
            raise ValueError(f"{self.ranks} ranks do not make {self.hosts} equal hosts")
        if self.weights != "leave_out" and self.source is not None:
            raise ValueError("a generated graph has no weights; leave `weights` out, or name files")
        if self.weights == "leave_out" and self.columns is not None and self.columns.weight is not None:
            raise ValueError(
                "`columns` names weights, and they are left out; keep them with `weights: minimum`, `sum` or "
                "`error`, or leave the column out"
            )
        return self

    @property
    def is_weighted(self) -> bool:
        """Whether arcs get weights."""
        return self.weights != "leave_out"

    @property
    def reading(self) -> IngestParameters:
        """What `ingest` is to read: for pieces, and for what that takes."""
        given = {name: getattr(self, name) for name in IngestParameters.model_fields}
        return IngestParameters.model_construct(**given | {"weights": self.is_weighted})
