"""The parameters of `ingest`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BeforeValidator, ByteSize, Field, WithJsonSchema, model_validator

from gravel.stages.edge_columns import NOT_ASKED, Columns
from gravel.stages.generators import GeneratorSource
from gravel.stages.readers import FORMATS
from gravel.stages.stage import FileName, OneOf, Parameters

if TYPE_CHECKING:
    from gravel.stages.parsing.columns import ListOptions

OF_SOME_FORMATS = ("columns", "filter", "delimiter", "header", "comment")
"""Parameters that are refused where a format cannot use them; `Reader.takes` says which it can."""

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


def _delimiter(value: Any) -> Any:
    names = {"auto": "auto", "tab": "\t", "\\t": "\t", "blanks": "blanks", "blank": "blanks", " ": "blanks"}
    names |= {"comma": ",", "semicolon": ";", "bar": "|"}
    if not isinstance(value, str) or (value not in names and len(value.encode()) != 1):
        raise ValueError(f"a delimiter is one character, tab, blanks or auto; found {value!r}")
    if value in ('"', "\n", "\r", "\0"):
        raise ValueError(f"{value!r} cannot separate columns")
    return names.get(value, value)


def _filter(value: Any) -> Any:
    """Write a filter in its one spelling, so that recipes of equal ones are equal."""
    from gravel.stages.filters import parse

    if value is None:
        return None
    if not isinstance(value, str):
        raise ValueError(f"a filter is a text such as \"kind == 'paid'\"; found {value!r}")
    return str(parse(value))


def _files(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


class Expected(Parameters):
    """Counts that a graph is known to have; a graph with others is refused."""

    vertices: Annotated[int, Field(ge=0)] | None = None
    """Vertices: those that the format states, else the ids that occur."""
    edges: Annotated[int, Field(ge=0)] | None = None
    """Edges as the file lists them, including loops and duplicates."""


class ColumnNames(Parameters):
    """Columns of a table by name, or in a text file by position, a whole number from 1."""

    source: str | Annotated[int, Field(ge=1)] | None = None
    """Where edges start."""
    target: str | Annotated[int, Field(ge=1)] | None = None
    """Where edges end."""
    weight: str | Annotated[int, Field(ge=1)] | None = None
    """Their weights."""


class IngestParameters(Parameters):
    """Parameters of the source of edges: exactly one of `source`, `file` and `files`."""

    source: GeneratorSource | None = None
    """A generator with its parameters."""
    file: Annotated[FileName, Field(min_length=1)] | None = None
    """A path (a relative one starts from the current folder) or a URL; plain, .gz, .bz2, .xz or .zst."""
    files: Annotated[
        tuple[FileName, ...] | None,
        BeforeValidator(_files),
        WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}),
    ] = None
    """Files that are one graph: a list, a pattern or a folder. Their order changes nothing."""
    skip_broken: bool = False
    """Whether to leave out those of `files` that cannot be read, or are not of the kind that most are of."""
    format: Annotated[str, OneOf(lambda: ("auto", *FORMATS)), BeforeValidator(_format_name)] = "auto"
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
    columns: ColumnNames | None = None
    """Which columns hold the ends and the weight; by default those with known names, or the only two."""
    delimiter: Annotated[str, BeforeValidator(_delimiter)] = "auto"
    """What separates the columns of an edge list: one character, `tab` or `blanks` (any run of them)."""
    comment: str = "#%"
    """Characters that begin a comment line of an edge list; none if empty."""
    filter: Annotated[str | None, BeforeValidator(_filter)] = None
    """Which rows of a table are edges, such as `kind == 'paid' and amount > 0`; by default all."""
    expect: Expected | None = None
    """Counts to check the graph against, and for plans."""
    memory: Annotated[ByteSize, Field(ge=LEAST_MEMORY)] = ByteSize(512 << 20)
    """The most host memory to work in, whatever the size of the file."""

    @property
    def asked_columns(self) -> Columns:
        """The labels of columns that are asked for."""
        names = self.columns
        return NOT_ASKED if names is None else Columns(names.source, names.target, names.weight)

    @property
    def asked(self) -> ListOptions:
        """Parameters that describe an edge list."""
        from gravel.stages.filters import parse
        from gravel.stages.parsing.columns import ListOptions

        return ListOptions(
            columns=self.asked_columns,
            delimiter=self.delimiter,
            comment=self.comment,
            header=self.header,
            ids=self.ids,
            weights=self.weights,
            filter=() if self.filter is None else parse(self.filter).columns,
        )

    @property
    def of_some_formats(self) -> list[str]:
        """The parameters that are given and that not every format can use."""
        default = {name: field.default for name, field in type(self).model_fields.items()}
        given = [name for name in OF_SOME_FORMATS if getattr(self, name) != default[name]]
        return [*given, "ids"] if self.ids == "text" else given

    @model_validator(mode="after")
    def _check(self) -> IngestParameters:
        given = [name for name in ("source", "file", "files") if getattr(self, name) is not None]
        if len(given) != 1 or self.files == ():
            found = " and ".join(given) or "none"
            raise ValueError(f"found {found}; edges come from one of `source`, `file` and some `files`")
        if self.files is None and self.skip_broken:
            raise ValueError("`skip_broken` is for `files`; a single file that is broken is no graph")
        if self.files is not None and self.sha256 is not None:
            raise ValueError("`sha256` is of one `file`, and `files` are several")
        if self.source is not None and (given := self.of_some_formats):
            raise ValueError(f"`{given[0]}` is of files, and the edges come from a generator; leave it out")
        return self
