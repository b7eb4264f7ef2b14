"""What may be asked of ingest."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, ByteSize, Field, WithJsonSchema, model_validator

from gravel.stages.file_names import FileName
from gravel.stages.generators import GeneratorSource
from gravel.stages.readers import FORMATS
from gravel.stages.stage import Parameters

LEAST_MEMORY = 16 << 20
"""Bytes to work in below which the parts are too small to be worth their overhead."""


def _format_name(value: Any) -> Any:
    from gravel.stages.readers import all_readers

    if not isinstance(value, str):
        raise ValueError(f"a format is a name: auto, {', '.join(FORMATS)}")
    name = value.strip().lower().replace("-", "_").removeprefix(".")
    if name == "auto" or name in FORMATS:
        return name
    for reader in all_readers().values():
        if name in reader.aliases:
            return reader.name
    raise ValueError(f"unknown format {value!r}; there are auto, {', '.join(FORMATS)}")


class Expected(Parameters):
    """Counts that a graph is known to have; a graph with others is refused."""

    vertices: Annotated[int, Field(ge=0)] | None = None
    """Vertices: those that the format states, else the ids that occur."""
    edges: Annotated[int, Field(ge=0)] | None = None
    """Edges as the file lists them, including loops and duplicates."""


class IngestParameters(Parameters):
    """Where the edges come from: exactly one of `source` and `file`."""

    source: GeneratorSource | None = None
    """A generator with its parameters."""
    file: Annotated[FileName, Field(min_length=1)] | None = None
    """A path (a relative one starts from the current folder) or a URL; plain, .gz, .bz2, .xz or .zst."""
    format: Annotated[
        str,
        BeforeValidator(_format_name),
        WithJsonSchema({"type": "string", "enum": ["auto", *FORMATS]}),
    ] = "auto"
    """The file's format, or `auto` to find it from name and content."""
    sha256: Annotated[str, Field(pattern=r"^[0-9a-fA-F]{64}$")] | None = None
    """The sha256 of the file as stored; another one is refused."""
    weights: bool = True
    """Whether to keep the weights of the file."""
    allow_short: bool = False
    """Whether to accept a file with fewer edges than it states (not for METIS)."""
    ids: Literal["auto", "integer", "text"] = "auto"
    """What vertices are called: whole numbers or texts. `auto` reads texts from an edge list if no id in its
    first rows is a number, and from Parquet and NumPy by the type of the columns."""
    header: Literal["auto"] | bool = "auto"
    """Whether the first line of an edge list names its columns; `auto` tells by the names."""
    expect: Expected | None = None
    """Counts to check the graph against."""
    memory: Annotated[ByteSize, Field(ge=LEAST_MEMORY)] = ByteSize(512 << 20)
    """The most host memory to work in, whatever the size of the file."""

    @model_validator(mode="after")
    def _check(self) -> IngestParameters:
        if (self.source is None) == (self.file is None):
            found = "neither" if self.file is None else "both"
            raise ValueError(f"found {found}; edges come from exactly one of `source` and `file`")
        return self
