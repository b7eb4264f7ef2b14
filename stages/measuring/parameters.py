"""The parameters of `centrality`."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import ByteSize, Field, model_validator

from gravel.stages.stage import Parameters
from gravel.stages.traversal.parameters import RandomSources, VertexSources
from gravel.stages.turning import Direction


class CentralityParameters(Parameters):
    """What to compute, and for which vertices."""

    measure: Literal["closeness", "harmonic", "eccentricity", "neighbourhood", "betweenness"]
    """`closeness` is the reciprocal of the mean distance, times the share of vertices that are reached.
    `harmonic` is the sum of reciprocal distances. `eccentricity` is the largest distance to a
    vertex that is reached. `neighbourhood` counts the vertices within `hops`, the vertex itself included.
    `betweenness` is the share of shortest paths between two others that go through the vertex."""
    vertices: Literal["all"] | RandomSources | VertexSources = "all"
    """`all`, `{random: k, seed: s}`, or `{vertices: [...]}` in the order of `symmetrize`, each once."""
    hops: Annotated[int, Field(ge=0)] | None = None
    """The distance up to which `neighbourhood` counts; beyond the largest, all that is reached."""
    sources: Literal["all"] | RandomSources = "all"
    """From which vertices `betweenness` searches: `all`, or `{random: k, seed: s}` for an estimate."""
    normalized: bool = True
    """Divide `betweenness` by the number of pairs of other vertices."""
    endpoints: bool = False
    """Count a path for its ends, too, in `betweenness`."""
    direction: Direction = "out"
    """Of a directed graph, take distances from the vertex along arcs (`out`), those to it (`in`), or let arcs
    lead both ways. NetworkX has `in` for closeness and harmonic centrality, and `out` for eccentricity."""
    memory: ByteSize | None = Field(default=None, gt=0)
    """The most memory that a batch of searches may take beside the graph; by default all that is there."""
    workers: Literal["auto"] | Annotated[int, Field(ge=1)] = "auto"
    """Workers, of one GPU each on GPUs, that search batches at the same time and hold the whole graph each.
    `auto` takes several GPUs where that is predicted to save time. Results are the same with any number."""

    @model_validator(mode="after")
    def _fit_together(self) -> CentralityParameters:
        if (self.hops is None) == (self.measure == "neighbourhood"):
            told = "needs hops" if self.hops is None else "takes no hops; only a neighbourhood does"
            raise ValueError(f"{self.measure} {told}")
        if self.measure == "betweenness" and self.vertices != "all":
            raise ValueError("betweenness is computed for all vertices; sources says from which to search")
        own = {"sources", "normalized", "endpoints"} & self.model_fields_set
        if self.measure != "betweenness" and own:
            raise ValueError(f"{self.measure} takes no {min(own)}; only betweenness does")
        if isinstance(self.vertices, VertexSources):
            listed = self.vertices.vertices
            twice = next((each for i, each in enumerate(listed) if each in listed[:i]), None)
            if twice is not None:
                raise ValueError(f"vertex {twice} is listed twice")
        return self
