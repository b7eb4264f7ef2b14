"""The parameters of `subgraph`: which vertices are chosen."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Literal

from pydantic import Discriminator, Field, Tag, model_validator

from gravel.stages.stage import Fault, FileInput, Parameters
from gravel.stages.traversal.parameters import FileIds, ListedSources, VertexSources

OF_TRAVERSALS = ("hops", "distance", "component")
"""Parameters that choose by what a traversal found."""

CHOICES = ("vertices", "core", *OF_TRAVERSALS)


def _form(vertices: object) -> str:
    if isinstance(vertices, VertexSources) or (isinstance(vertices, Mapping) and "vertices" in vertices):
        return "indices"
    return "listed" if isinstance(vertices, ListedSources | Mapping) else "ids"


Vertices = Annotated[
    Annotated[VertexSources, Tag("indices")]
    | Annotated[ListedSources, Tag("listed")]
    | Annotated[FileIds, Tag("ids")],
    Discriminator(_form),
]


class SubgraphParameters(Parameters):
    """Parameters that choose the vertices: exactly one of these."""

    vertices: Vertices | None = None
    """A list of ids as the input file writes them, `{file: LIST}`, which has one such id a line, or
    `{vertices: [...]}` in the order of `symmetrize`. One that is listed twice counts once."""
    core: int | None = Field(default=None, ge=0)
    """The core of this `k`: the largest subgraph in which every vertex has `k` neighbours or more. Self-loops
    and duplicates do not count. For undirected graphs."""
    hops: int | None = Field(default=None, ge=0)
    """Vertices that the BFS `within` found at this distance or closer, from any of its sources."""
    distance: float | None = Field(default=None, ge=0)
    """Vertices that the shortest paths `within` reach with this length or a smaller one."""
    component: Literal["largest"] | None = None
    """`largest` takes the component `within` that has the most vertices; of several the first one."""

    @model_validator(mode="after")
    def _is_one_choice(self) -> SubgraphParameters:
        given = [name for name in CHOICES if getattr(self, name) is not None]
        if len(given) != 1:
            fault = f"{' and '.join(given)} are given" if given else "none is given"
            raise ValueError(f"one of {', '.join(CHOICES)} chooses the vertices, and {fault}")
        return self


def of_traversal(parameters: SubgraphParameters) -> str | None:
    """Name the parameter that chooses by a traversal; None where another one chooses."""
    return next((name for name in OF_TRAVERSALS if getattr(parameters, name) is not None), None)


def kind_faults(parameters: SubgraphParameters, kinds: Mapping[str, Sequence[str]]) -> Iterator[Fault]:
    """Yield a fault where a traversal is named that nothing asks for, or asked for and not named."""
    asked = of_traversal(parameters)
    given = next(name for name in CHOICES if getattr(parameters, name) is not None)
    if asked is not None and not kinds.get("within"):
        expected = "beside it `within` is expected: the name of an entry that traverses the graph"
        yield Fault((asked,), getattr(parameters, asked), expected)
    elif asked is None and kinds.get("within"):
        expected = f"no `within` is expected beside it, which is for {', '.join(OF_TRAVERSALS)}"
        yield Fault((given,), getattr(parameters, given), expected)


def source_ids(parameters: SubgraphParameters) -> tuple[int | str, ...]:
    """Return the ids that are listed as the input file writes them."""
    return parameters.vertices if isinstance(parameters.vertices, tuple) else ()


def ids_file(parameters: SubgraphParameters) -> str | None:
    """Return the file that lists such ids, if one does."""
    return parameters.vertices.file if isinstance(parameters.vertices, ListedSources) else None


def files(parameters: SubgraphParameters) -> tuple[FileInput, ...]:
    """Return the files that the choice rests on."""
    location = ids_file(parameters)
    return () if location is None else (FileInput(location),)


def with_vertices(parameters: SubgraphParameters, vertices: Sequence[int]) -> SubgraphParameters:
    """Replace ids by internal indices, each once and ascending."""
    internal = VertexSources(vertices=tuple(sorted({int(vertex) for vertex in vertices})))
    return parameters.model_copy(update={"vertices": internal})
