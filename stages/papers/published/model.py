"""The model of a file of published figures: printed tables, and claims computed from measurements."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, ValidationError, model_validator

from gravel.stages.errors import StageError
from gravel.stages.stage import Parameters

CONVENTIONS = {
    "arcs": "10^9 stored arcs/s",
    "generated": "10^9 generated edges/s",
    "edges": "10^9 distinct edges/s",
    "milliseconds": "ms",
    "order_milliseconds": "ms to find and apply an order",
    "speedup": "times as fast",
    "row_bytes": "10^9 bytes of rows",
    "row_rate": "10^9 bytes of rows/s",
}
"""How a value counts, and the unit that a report shows."""

Convention = Literal[
    "arcs", "generated", "edges", "milliseconds", "order_milliseconds", "speedup", "row_bytes", "row_rate"
]


def _alternatives(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    return {name: tuple(each) if isinstance(each, list | tuple) else (each,) for name, each in value.items()}


Match = Annotated[dict[str, tuple[str | int, ...]], BeforeValidator(_alternatives)]
"""Facts of an experiment by name, each with the values that fit."""


class Row(Parameters):
    """One printed value."""

    row: str
    """The row as the paper names it."""
    value: Annotated[float, Field(gt=0)] | None = None
    """The value, in the unit of the convention; only a row with a `column` may lack it."""
    column: str | None = None
    """The column as the paper names it: a table whose rows have columns is shown as the paper prints it."""
    convention: Convention | None = None
    """What the value counts, where that is not what its table says."""
    over: str | None = None
    """Of a speedup: the row over whose time it is."""
    ours: Match = Field(default_factory=dict)
    """Which experiments are gravel's own way to do the same, beside what its table says."""
    arcs: Annotated[float, Field(gt=0)] | None = None
    """Stored arcs of the graph that the paper measured, where it states them."""
    match: Match = Field(default_factory=dict)
    """Which experiments the row compares with, beside what its table says."""


class Table(Parameters):
    """Rows of one printed table that were measured on one machine in one way."""

    paper: str
    """A name from `papers`."""
    table: str
    """Which table or figure, and what part of it."""
    section: Annotated[str, Field(min_length=1)]
    """The section of the paper that has the values."""
    machine: str
    """What the values were measured on."""
    convention: Convention
    """What a value counts: arcs, generated, edges or milliseconds."""
    match: Match = Field(default_factory=dict)
    """Which experiments all rows compare with."""
    ours: Match = Field(default_factory=dict)
    """Which experiments are gravel's own way, of all rows that have columns."""
    baseline: str | None = None
    """The column that the best one is compared to, in a table where that is a column of its own."""
    rows: Annotated[tuple[Row, ...], Field(min_length=1)]
    """The printed values."""

    @property
    def printed(self) -> bool:
        """Whether it is shown with the rows and columns that the paper prints."""
        return self.rows[0].column is not None

    def convention_of(self, row: Row) -> Convention:
        """Return what a row's value counts."""
        return row.convention or self.convention

    @model_validator(mode="after")
    def _check(self) -> Table:
        columns = {row.column for row in self.rows}
        if None in columns and len(columns) > 1:
            raise ValueError("either all rows of a table have a column or none has")
        if not self.printed and any(row.value is None for row in self.rows):
            raise ValueError("a row without a column needs a value")
        if self.baseline is not None and self.baseline not in columns:
            raise ValueError(f"baseline {self.baseline!r} is not a column of the table")
        timed = {row.row for row in self.rows if self.convention_of(row) == "milliseconds"}
        for row in self.rows:
            if self.convention_of(row) == "speedup" and row.over not in timed:
                raise ValueError(f"the speedup of {row.row!r} needs `over`, a row of the table with a time")
        return self


class OwnTable(Parameters):
    """The value in a paper's own table where a sentence of it claims something else."""

    value: float
    """The number that follows from the printed rows."""
    rows: Annotated[str, Field(min_length=1)]
    """Which rows of which table it follows from."""


class Claim(Parameters):
    """A number that a paper states in a sentence, and how the same follows from measurements."""

    paper: str
    """A name from `papers`."""
    section: Annotated[str, Field(min_length=1)]
    """The section of the paper that states it."""
    claim: str
    """What is claimed, with its unit."""
    value: float
    """The number that the paper states."""
    own_table: OwnTable | None = None
    """The same by the paper's own table, where the two differ; a report shows both."""
    compute: Literal["speedup", "change", "compression", "weak_slope", "none"]
    """How the number follows from measurements."""
    because: str = ""
    """Of `none`: why it is not computed."""
    match: Match = Field(default_factory=dict)
    """Which experiments count."""
    start: Match = Field(default_factory=dict, alias="from")
    """Of `speedup` and `change`: the experiments that it starts from."""
    end: Match = Field(default_factory=dict, alias="to")
    """Of `speedup` and `change`: the experiments that it leads to."""

    @model_validator(mode="after")
    def _check(self) -> Claim:
        if self.compute in ("speedup", "change") and not (self.start and self.end):
            raise ValueError(f"a {self.compute} needs `from` and `to`")
        if (self.compute == "none") != bool(self.because):
            raise ValueError("`because` says why `compute` is `none`, and stands with it alone")
        return self


class Published(Parameters):
    """A whole file."""

    papers: dict[str, str]
    """Short name -> citation."""
    tables: tuple[Table, ...] = ()
    """Printed tables."""
    claims: tuple[Claim, ...] = ()
    """Printed sentences."""

    @model_validator(mode="after")
    def _check(self) -> Published:
        for paper in [table.paper for table in self.tables] + [claim.paper for claim in self.claims]:
            if paper not in self.papers:
                raise ValueError(f"paper {paper!r} is not among `papers`: {', '.join(self.papers)}")
        return self


MAX_BYTES = 1 << 20
"""A file of printed figures is small; a larger one is something else."""


def read_published(path: str | Path) -> Published:
    """Read and check a file; raises `StageError` with file and line for whatever is wrong with it."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import MarkedYAMLError, YAMLError

    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise StageError(f"it cannot be read: {error.strerror}", file=str(path)) from error
    if len(data) > MAX_BYTES:
        raise StageError(f"{len(data):,} bytes are too many for published figures", file=str(path))
    try:
        tree = YAML().load(data.decode())
    except MarkedYAMLError as error:
        mark = error.problem_mark
        line = mark.line + 1 if mark is not None else None
        raise StageError(str(error.problem), file=str(path), line=line) from error
    except (YAMLError, UnicodeDecodeError, ValueError) as error:
        raise StageError(f"it is no YAML: {error}", file=str(path)) from error
    if not isinstance(tree, dict):
        raise StageError(
            "published figures are a mapping with `papers`, `tables` and `claims`", file=str(path)
        )
    try:
        return Published.model_validate(_plain(tree))
    except ValidationError as error:
        first = error.errors()[0]
        where = [part for part in first["loc"] if isinstance(part, str | int)]
        raise StageError(
            f"{'.'.join(map(str, where)) or 'the file'}: {first['msg'].removeprefix('Value error, ')}",
            hint="see the head of workflows/papers/published.yaml for what a row may say",
            file=str(path),
            line=_line(tree, where),
        ) from error


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    if isinstance(value, bool) or value is None:
        return value
    return next((kind(value) for kind in (int, float, str) if isinstance(value, kind)), value)


def _line(tree: Any, where: Sequence[str | int]) -> int | None:
    """Return the line, from 1, of the innermost node that is there along a path."""
    line = None
    for part in where:
        try:
            places: Any = tree.lc
            line = (places.key(part) if isinstance(tree, dict) else places.item(part))[0] + 1
            tree = tree[part]
        except (AttributeError, KeyError, IndexError, TypeError):
            break
    return line
