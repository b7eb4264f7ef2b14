"""The typed model of a chart, checked when it is made and again when a page is made from an artifact."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    model_serializer,
    model_validator,
)

COLORS = 8
"""Colours that series may have, by number; a drawer knows what they are."""

MAX_PANELS = 64
MAX_VALUES = 50_000
"""Values in one list: far more than a picture tells apart."""

Color = Annotated[int, Field(ge=0, lt=COLORS)] | Literal["ink", "grey"]
"""A colour by number, that of the text, or a grey that stands back."""

Dash = Literal["solid", "dashed", "dotted"]
Value = int | float | None
Number = int | float
Numbers = Annotated[tuple[Number, ...], Field(max_length=MAX_VALUES)]
Values = Annotated[tuple[Value, ...], Field(max_length=MAX_VALUES)]
Names = Annotated[tuple[str, ...], Field(max_length=MAX_VALUES)]


class Model(BaseModel):
    """Base of the model: frozen; unknown names and numbers that are not finite are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class PanelModel(Model):
    """A panel, which says of what kind it is even where defaults are left out."""

    kind: str
    title: str = ""

    @model_serializer(mode="wrap")
    def _with_kind(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return {"kind": self.kind, **handler(self)}


class Axis(Model):
    """An axis of numbers."""

    label: str = ""
    """What is counted, with its unit."""
    scale: Literal["linear", "log2", "log10", "symlog"] = "linear"
    """`symlog` is linear up to 1 and logarithmic beyond."""
    low: Number | None = None
    """Where it begins, if the values do not say that; 0 for lengths that compare."""
    high: Number | None = None
    """Where it ends, if the values do not say that."""
    ticks: Numbers | None = None
    """The only values that are named."""
    whole: bool = False
    """Only whole numbers are named: levels, ranks."""
    unit: Literal["", "bytes"] = ""
    """How values are written: bytes as KiB and MiB."""


class Line(Model):
    """Values over numbers. An x may occur twice; a None is a gap."""

    name: str
    x: Numbers
    y: Values
    draw: Literal["line", "points", "marked", "steps", "bars"] = "line"
    """`marked` is a line with points; `steps` keep a value up to the next x; `bars` stand on x."""
    until: Numbers | None = None
    """Of bars: where each ends, if it begins at its x; else all are one wide, around their x."""
    color: Color = 0
    dash: Dash = "solid"
    broad: bool = False
    """A broad pale line, for others to be seen on."""

    @model_validator(mode="after")
    def _check(self) -> Line:
        if len(self.x) != len(self.y) or (self.until is not None and len(self.until) != len(self.x)):
            raise ValueError(f"line {self.name!r} has {len(self.x)} x and {len(self.y)} y")
        return self


class Span(Model):
    """A shaded range of x; those of one name share a line of the legend."""

    first: Number
    last: Number
    name: str = ""
    color: Color = "grey"


class Rule(Model):
    """A straight line across the panel, at a value of one axis."""

    at: Number
    axis: Literal["x", "y"]
    name: str = ""
    color: Color = "grey"
    dash: Dash = "dashed"


class Curves(PanelModel):
    """A panel of lines and bars over numbers."""

    kind: Literal["curves"] = "curves"
    x: Axis = Axis()
    y: Axis = Axis()
    lines: Annotated[tuple[Line, ...], Field(max_length=256)] = ()
    spans: Annotated[tuple[Span, ...], Field(max_length=MAX_VALUES)] = ()
    rules: Annotated[tuple[Rule, ...], Field(max_length=256)] = ()
    stacked: bool = False
    """Each line stands on those before it; all have the same x."""

    @model_validator(mode="after")
    def _check(self) -> Curves:
        if self.stacked and len({line.x for line in self.lines}) > 1:
            raise ValueError("stacked lines have the same x")
        return self


class RowSeries(Model):
    """One value for each row."""

    name: str
    values: Values
    draw: Literal["bar", "point", "mark"] = "bar"
    """A `mark` is a short upright line."""
    low: Values | None = None
    high: Values | None = None
    """Ends of a line through each value, such as quartiles."""
    range_name: str = ""
    """What the ends are, for the table."""
    in_legend: bool = True
    color: Color = 0
    colors: tuple[Color, ...] | None = None
    """Of each value, where they differ."""
    words: Names | None = None
    """Written beside each value."""


class Rows(PanelModel):
    """A panel of rows, each a name and what is drawn beside it."""

    kind: Literal["rows"] = "rows"
    of: str = ""
    """What the names are of, such as "run"."""
    names: Names
    axis: Axis = Axis()
    series: Annotated[tuple[RowSeries, ...], Field(max_length=256)] = ()
    stacked: bool = False
    """Each bar begins where the one before it ends; else they stand below each other."""

    @model_validator(mode="after")
    def _check(self) -> Rows:
        for each in self.series:
            for part in (each.values, each.low, each.high, each.colors, each.words):
                if part is not None and len(part) != len(self.names):
                    raise ValueError(f"series {each.name!r} needs a value for each of {len(self.names)} rows")
        return self


class Cells(PanelModel):
    """A panel of shaded cells: a map of named rows and columns with numbers, or a picture of many."""

    kind: Literal["cells"] = "cells"
    unit: str = ""
    """What the numbers are."""
    rows: Names = ()
    columns: Names = ()
    """Names; without them it is a picture."""
    values: tuple[Values, ...] | None = None
    """The numbers; a picture has none."""
    shades: Names
    """For each row a hexadecimal digit for each cell: 0 is pale, f is dark; a blank is nothing."""
    framed: tuple[tuple[int, int], ...] = ()
    """Row and column of the cells with a frame."""
    extent: Annotated[int, Field(ge=0)] = 0
    """Of a picture: how many things, such as vertices, each side stands for."""
    facts: tuple[tuple[str, Number], ...] = ()
    """What a table says of a picture."""

    @model_validator(mode="after")
    def _check(self) -> Cells:
        wide = {len(row) for row in self.shades}
        if len(wide) > 1 or any(set(row) - set(" 0123456789abcdef") for row in self.shades):
            raise ValueError("shades are rows of hexadecimal digits of one length")
        if self.values is not None:
            shape = (len(self.shades), *wide)
            if (len(self.rows), len(self.columns)) != shape or len(self.values) != len(self.rows):
                raise ValueError("values, shades, rows and columns differ in number")
            if any(len(row) != len(self.columns) for row in self.values):
                raise ValueError("values, shades, rows and columns differ in number")
        return self


Panel = Annotated[Curves | Rows | Cells, Field(discriminator="kind")]


class Chart(Model):
    """A chart: one or several panels under one legend."""

    about: str
    """What it shows, for people who do not see it."""
    panels: Annotated[tuple[Panel, ...], Field(min_length=1, max_length=MAX_PANELS)]
    columns: Annotated[int, Field(ge=1, le=8)] = 3
    """Panels side by side at most, where there is room."""
