"""The parameters of `traverse`, and the forms of sources that other stages take too."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    BeforeValidator,
    ByteSize,
    Discriminator,
    Field,
    Tag,
    ValidationInfo,
    field_validator,
    model_validator,
)

from gravel.kernels.algorithms import PACKAGES, strategies_for, taken_by
from gravel.stages.presets import filled
from gravel.stages.stage import FileName, Parameters
from gravel.stages.turning import Direction

MAX_ID = (1 << 63) - 1

MAX_DEPTH = (1 << 31) - 1
"""Distances are int32 while a search makes them."""

OF_ALL_VERTICES = ("components", "strong_components")
"""Algorithms that label all vertices at once, without sources."""


def strategy_names(*algorithms: str) -> list[str]:
    """List what the parameter `strategy` may be for these algorithms."""
    return ["auto", *sorted({name for algorithm in algorithms for name in strategies_for(algorithm)})]


def checked_strategy(algorithm: str, name: str) -> str:
    """Return the name if it is `auto` or a strategy of the algorithm; raises ValueError with the nearest."""
    known = strategy_names(algorithm)
    if name not in known:
        raise ValueError(
            f"there is no {algorithm} strategy {name!r}{nearest_text(name, known)}; "
            f"there are {', '.join(known)}"
        )
    return name


def either(names: Sequence[str]) -> str:
    """Write alternatives as a sentence has them."""
    *most, last = names
    return f"{', '.join(most)} or {last}" if most else last


def nearest_text(name: str, known: list[str]) -> str:
    """Ask for the nearest of the known names, in brackets; nothing where none is near."""
    close = difflib.get_close_matches(name, known, 1)
    return f" (did you mean {close[0]!r}?)" if close else ""


class RandomSources(Parameters):
    """Sources drawn among the vertices that have arcs, the same for every order, layout and rank count."""

    random: int = Field(ge=1)
    """Number of sources; at most all vertices with arcs."""
    seed: int = Field(default=1, ge=0)
    """The seed of the draw."""


class VertexSources(Parameters):
    """Sources as internal indices, in the order of `symmetrize`."""

    vertices: tuple[Annotated[int, Field(ge=0, le=MAX_ID)], ...] = Field(min_length=1)
    """The rank of each source's file id, counted from 0."""


class ListedSources(Parameters):
    """Sources that a file lists, one id a line, as the input file writes them."""

    file: FileName = Field(min_length=1)
    """The path of the list: beside the workflow, or from the current folder."""

    def count(self) -> int:
        """Count the ids; 1 where the list cannot be read, which the run says best."""
        try:
            with Path(self.file).open("rb") as lines:
                return max(1, sum(1 for line in lines if line.strip()))
        except OSError:
            return 1


def _kind_of_id(given: object) -> str | None:
    if isinstance(given, int):
        return "number"
    return "text" if isinstance(given, str) else None


FileId = Annotated[
    Annotated[int, Field(ge=0, le=MAX_ID), Tag("number")] | Annotated[str, Field(min_length=1), Tag("text")],
    Discriminator(
        _kind_of_id,
        custom_error_type="file_id",
        custom_error_message="Input should be a whole number or a text",
    ),
]


def _as_written(given: Any) -> Any:
    """Return ids as they were written: whole numbers that may be ids as such, others as texts.

    Numbers of a workflow remember their `text`, and lists the `words` for null, true and false.
    """
    if not isinstance(given, list | tuple):
        return given
    words = getattr(given, "words", {})
    return [_written_id(value, words.get(place)) for place, value in enumerate(given)]


def _written_id(value: Any, word: str | None) -> Any:
    if value is None or isinstance(value, bool):
        return word or value
    if isinstance(value, int | float):
        text = getattr(value, "text", str(value))
        return value if isinstance(value, int) and text == str(value) and 0 <= value <= MAX_ID else text
    return value


AS_WRITTEN = BeforeValidator(_as_written)
"""Takes a list of ids: an id keeps its text, which is the id where ids are texts."""

FileIds = Annotated[tuple[FileId, ...], Field(min_length=1), AS_WRITTEN]
"""Sources as the input file writes them: whole numbers or texts."""


def _form(sources: object) -> str:
    """Tell which form of sources is meant, so that an error speaks of that form alone.

    No form is called as a key of it is: pydantic puts both into the place of an error.
    """
    if isinstance(sources, VertexSources) or (isinstance(sources, Mapping) and "vertices" in sources):
        return "indices"
    if isinstance(sources, ListedSources) or (isinstance(sources, Mapping) and "file" in sources):
        return "listed"
    return "drawn" if isinstance(sources, RandomSources | Mapping) else "ids"


Sources = Annotated[
    Annotated[RandomSources, Tag("drawn")]
    | Annotated[VertexSources, Tag("indices")]
    | Annotated[ListedSources, Tag("listed")]
    | Annotated[FileIds, Tag("ids")],
    Discriminator(_form),
]


class TraverseParameters(Parameters):
    """Parameters that say what to find, from where and how."""

    algorithm: Literal["bfs", "shortest_paths", "components", "strong_components"] = "bfs"
    """`bfs` finds distances and predecessors from each source, `shortest_paths` those by weights, and
    `components` the component of every vertex. In `strong_components` of a directed graph vertices reach one
    another along arcs."""
    strategy: str = Field(default="auto", json_schema_extra={"enum": [*strategy_names(*PACKAGES)]})
    """The name of a strategy, or `auto`, which chooses by graph and backend and reports why."""
    paper: str | None = None
    """Use the settings of a paper of docs/strategies.md. Other parameters must not contradict them."""
    sources: Sources = RandomSources(random=16)
    """`{random: k, seed: s}`, or a list of ids as the input file writes them, `{file: LIST}`, which has one
    such id a line, or `{vertices: [...]}`. A source that is listed twice is searched from twice."""
    output: Literal["both", "distance", "predecessor", "checks"] = "both"
    """The labels of each vertex. `checks` is for distributed graphs and keeps no labels: the ranks check
    theirs after each search, and only the outcome is kept. Components accept `checks` alone."""
    direction: Direction = "out"
    """Search a directed graph along its arcs (`out`), against them (`in`), or as if they led both ways.
    Distances of `in` are those to the source, and predecessors come next on the way there. Of arcs both ways
    between two vertices, `shortest_paths` takes the smallest weight. Not for encoded rows or partitions."""
    max_depth: int | None = Field(default=None, ge=0, le=MAX_DEPTH)
    """Do not search beyond this distance; a search ends where nothing more is reached."""
    tuning: dict[str, bool | int | float | str] = Field(default_factory=dict)
    """Constants of the strategy by name, for example `{alpha: 15, beta: 18}` or `{mapping: warp}`."""
    backend: Literal["auto", "cpu", "cuda"] = "auto"
    """Where to search. `auto` follows the run, and takes the CPU for a strategy that has no code for GPUs."""
    transport: Literal["auto", "peer", "nccl"] = "auto"
    """How ranks of a partition or a distributed graph communicate on GPUs. `peer` reads the memory of other
    GPUs of one host, `nccl` sends between GPUs of any hosts. `auto` takes `peer` if all are on one host."""
    threads: int | None = Field(default=None, ge=1)
    """The largest number of CPU threads; by default all that the run may use."""
    placement: Literal["auto", "device", "split", "pinned", "streamed"] = "auto"
    """Where rows are kept: on the GPU, in pinned host memory with the longest also on the GPU (`split`) or
    without, or read in parts during the search. `auto` takes the first of these that fits. On a CPU, rows are
    in memory or streamed."""
    device_memory: ByteSize | None = Field(default=None, gt=0)
    """The most GPU memory that a traversal may take, such as `5.8GB`; by default all of it."""
    host_memory: ByteSize | None = Field(default=None, gt=0)
    """The most host memory that rows may take; by default all of it."""
    sources_over: Literal["auto", "one", "workers"] = "auto"
    """`workers` distributes the sources over workers that each hold the whole graph, and `one` uses one
    worker. `auto` chooses by the predicted times of searches, of loading and of returning labels."""
    statistics: bool = False
    """Search once more outside the measured time. Count the arcs of each level, and time the vertex order."""

    @model_validator(mode="before")
    @classmethod
    def _as_the_paper(cls, given: Any) -> Any:
        return filled("traverse", given)

    @field_validator("algorithm", mode="before")
    @classmethod
    def _is_one_name(cls, algorithm: Any) -> Any:
        if algorithm == "sssp":
            raise ValueError("its name here is shortest_paths: use shortest_paths")
        return algorithm

    @field_validator("strategy")
    @classmethod
    def _is_known(cls, strategy: str, info: ValidationInfo) -> str:
        return checked_strategy(info.data.get("algorithm", "bfs"), strategy)

    @model_validator(mode="after")
    def _fit_together(self) -> TraverseParameters:
        searching = self.model_fields_set & {"sources", "output", "max_depth", "statistics", "sources_over"}
        searching |= self.model_fields_set & {"transport", "direction"}
        if self.output == "checks":
            searching -= {"output"}
        if self.algorithm in OF_ALL_VERTICES and searching:
            named = {"output": "output other than checks"}
            taken = ", ".join(named.get(name, name) for name in sorted(searching))
            raise ValueError(f"{self.algorithm} take no {taken}; only a bfs does")
        if self.algorithm == "shortest_paths":
            _refuse_of_bfs(self)
        _check_together(self)
        if self.direction != "out" and self.placement == "streamed":
            raise ValueError(
                f"direction {self.direction} turns rows round in memory, and placement streamed leaves them "
                "where they are stored; leave placement out, or turn the edges with symmetrize"
            )
        if self.sources_over == "workers" and (batched(self) or self.statistics):
            subject = "statistics are" if self.statistics else f"{self.strategy} is"
            raise ValueError(f"sources over workers are searched one by one; {subject} for one worker")
        return self


def batched(parameters: TraverseParameters) -> bool:
    """Return whether many sources are searched at once, in one pass over the arcs."""
    return parameters.strategy == "multi_source"


def _refuse_of_bfs(parameters: TraverseParameters) -> None:
    """Raise ValueError for what only a breadth-first search takes."""
    given = parameters.model_fields_set & {"max_depth", "statistics", "sources_over", "transport", "paper"}
    if given:
        raise ValueError(f"shortest_paths takes no {', '.join(sorted(given))}; only a bfs does")
    if parameters.output == "checks":
        raise ValueError("shortest_paths has no output checks; it has distance or both")


def _check_together(parameters: TraverseParameters) -> None:
    """Raise ValueError for a placement or an output that the strategy does not take, naming what fits."""
    _check(parameters, "placement", parameters.placement)
    # Components have labels of their own, and ranks check theirs whatever they are.
    if parameters.algorithm not in OF_ALL_VERTICES and parameters.output != "checks":
        _check(parameters, "output", parameters.output)


def _check(parameters: TraverseParameters, name: str, value: str) -> None:
    taken = taken_by(parameters.algorithm, parameters.strategy, f"{name}s")
    if value == "auto" or value in taken:
        return
    given = parameters.strategy
    who = f"algorithm {parameters.algorithm}" if given == "auto" else f"strategy {given}"
    known = strategies_for(parameters.algorithm)
    able = [each.name for each in known.values() if value in getattr(each, f"{name}s")]
    fits = f"{who} takes {name} {either(['auto', *taken] if name == 'placement' else taken)}"
    if able:
        fits += f", and {name} {value} is for strategy {either(['auto', *able])}"
    raise ValueError(f"{who} and {name} {value} do not go together; {fits}")
