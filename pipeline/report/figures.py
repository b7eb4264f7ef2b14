"""Figures made safe to stand in a page: SVG by a list of what drawings need, all else taken out.

What is left can neither run a script, load or link to anything, nor cover or restyle the page: no `script`,
`style`, `foreignObject`, `a` or animation, no event handler, of references only those within the figure and
images held in it, of CSS only how shapes and letters are painted. Markup is written anew from what was read,
so that a browser reads no more into it than the parser here did.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from html import escape
from xml.parsers import expat

from pydantic import ValidationError

from gravel.stages.artifact import Json
from gravel.stages.charts import Chart

ELEMENTS = frozenset(
    """svg g defs clipPath path rect circle ellipse line polyline polygon text tspan use image title desc
    linearGradient radialGradient stop""".split()  # noqa: SIM905 (a list to read)
)
TEXT_ELEMENTS = frozenset({"title", "desc", "text", "tspan"})
"""Elements whose text is shown."""
ALONE = ("title", "desc")
"""Elements that hold text alone: HTML begins again in them."""

ATTRIBUTES = frozenset(
    """aria-label clip-path clip-rule clipPathUnits cx cy d dx dy fill fill-opacity fill-rule font-family
    font-size font-style font-weight fx fy gradientTransform gradientUnits height id offset opacity points
    preserveAspectRatio r role rotate rx ry stop-color stop-opacity stroke stroke-dasharray stroke-dashoffset
    stroke-linecap stroke-linejoin stroke-miterlimit stroke-opacity stroke-width text-anchor textLength
    transform version viewBox width x x1 x2 y y1 y2""".split()  # noqa: SIM905
)
STYLES = frozenset(
    """clip-path clip-rule color dominant-baseline fill fill-opacity fill-rule font font-family font-size
    font-stretch font-style font-variant font-weight image-rendering letter-spacing opacity stop-color
    stop-opacity stroke stroke-dasharray stroke-dashoffset stroke-linecap stroke-linejoin stroke-miterlimit
    stroke-opacity stroke-width text-anchor white-space""".split()  # noqa: SIM905
)
NAMESPACES = {"xmlns": "http://www.w3.org/2000/svg", "xmlns:xlink": "http://www.w3.org/1999/xlink"}

_WITHIN = re.compile(r"#[A-Za-z_][\w.:-]*")
_IMAGE = re.compile(r"data:image/(?:png|jpeg);base64,[A-Za-z0-9+/=\s]*")
_VALUE = re.compile(r"""(?:[\w\s#.,%'"+;-]|url\(['"]?#[\w.:-]+['"]?\)|(?:rgba?|hsla?)\([\d\s.,%]*\))*""")
_NUMBERS = re.compile(r"""[\w\s#.,%+:()'"-]*""")
MAX_DEPTH = 100


class BadFigure(ValueError):
    """A figure that is no SVG."""


def clean_figure(svg: str) -> str:
    """Return a figure with only what drawings need; raises BadFigure for what is no well-formed SVG."""
    writer = _Writer()
    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartElementHandler = writer.start
    parser.EndElementHandler = writer.end
    parser.CharacterDataHandler = writer.text
    parser.StartDoctypeDeclHandler = _refuse_doctype  # entities are declared there
    try:
        parser.Parse(svg, True)
    except (expat.ExpatError, UnicodeError) as error:
        raise BadFigure(f"it is not well-formed ({error})") from None
    text = "".join(writer.parts)
    if not text.startswith("<svg"):
        raise BadFigure("it is no SVG element")
    return text


def _refuse_doctype(*_: object) -> None:
    raise BadFigure("it has a document type")


class _Writer:
    """Writes what a parser reads and the lists allow."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self._open: list[str] = []
        self._left_out = 0  # how deep the parser is in an element that is left out

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if self._left_out or name not in ELEMENTS or (self._open and self._open[-1] in ALONE):
            self._left_out += 1
            return
        if len(self._open) >= MAX_DEPTH:
            raise BadFigure(f"its elements lie more than {MAX_DEPTH} deep in each other")
        self._open.append(name)
        kept = [f' {key}="{escape(value)}"' for key, value in attributes.items() if _keeps(name, key, value)]
        if style := _kept_style(attributes.get("style", "")):
            kept.append(f' style="{escape(style)}"')
        self.parts.append(f"<{name}{''.join(kept)}>")

    def end(self, name: str) -> None:
        if self._left_out:
            self._left_out -= 1
            return
        self._open.pop()
        self.parts.append(f"</{name}>")

    def text(self, data: str) -> None:
        if self._left_out == 0 and self._open and self._open[-1] in TEXT_ELEMENTS:
            self.parts.append(escape(data, quote=False))
        elif self._left_out == 0 and not data.strip():
            self.parts.append(" ")


def _keeps(element: str, name: str, value: str) -> bool:
    if name in NAMESPACES:
        return value == NAMESPACES[name]
    if name in ("href", "xlink:href"):
        if element == "image":
            return _IMAGE.fullmatch(value) is not None
        return element == "use" and _WITHIN.fullmatch(value) is not None
    if name in ("aria-label", "role"):
        return True
    # Coordinates and transformations have anything in brackets but an address.
    plain = "url" not in value.lower() and _NUMBERS.fullmatch(value)
    return name in ATTRIBUTES and bool(plain or _VALUE.fullmatch(value))


def _kept_style(style: str) -> str:
    kept = []
    for declaration in style.split(";"):
        name, colon, value = declaration.partition(":")
        if colon and name.strip().lower() in STYLES and _VALUE.fullmatch(value):
            kept.append(f"{name.strip()}:{value}")
    return ";".join(kept)


PARTS = ("answer", "results", "details", "data")
"""Where a page shows a section; what does not say it is a result."""

VERDICTS = ("passed", "FAILED", "not verified")


def checked(attributes: Mapping[str, Json]) -> tuple[str, list[dict[str, Json]]]:
    """Return the title and the sections of a report as a page can show them."""
    sections = attributes.get("sections")
    title = str(attributes.get("title") or "Report")
    return title, [_section(section) for section in (sections if isinstance(sections, list) else [None])]


def _section(section: Json) -> dict[str, Json]:
    if not isinstance(section, Mapping):
        return _nothing("A section", "it is not what a report holds")
    kind, part = section.get("kind"), section.get("part")
    title = _pieces(section.get("title", "")) if kind == "answer" else str(section.get("title", ""))
    head = {"title": title, "about": str(section.get("about") or "")}
    head["part"] = part if part in PARTS else "results"
    if kind == "answer":
        return {"kind": "answer", **head, "part": "answer", **_facts(section)}
    if kind == "figure" and "chart" in section:
        try:
            chart = Chart.model_validate(section["chart"])
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(str(part) for part in first["loc"][:6])
            return _nothing(title, f"its chart cannot be shown: {where}: {first['msg']}")
        kept = {name: value for name, value in section.items() if name != "svg"}
        return {**kept, **head, "chart": chart.model_dump(mode="json", exclude_defaults=True)}
    if kind == "figure":
        try:
            return {**section, **head, "svg": clean_figure(str(section.get("svg", "")))}
        except BadFigure as error:
            return _nothing(title, f"its figure cannot be shown: {error}")
    if kind == "table" and _is_table(section.get("columns"), section.get("rows")):
        return {**section, **head}
    return _nothing(title, "it is neither a figure nor a table")


def _facts(section: Mapping[str, Json]) -> dict[str, Json]:
    """Return the verdict and the facts of an answer: each a text, or pieces where it names vertices."""
    verdict, given, facts = section.get("verdict"), section.get("facts"), []
    for pair in given if isinstance(given, list) else ():
        if isinstance(pair, list) and len(pair) == 2:
            facts.append([str(pair[0]), _pieces(pair[1])])
    return {"verdict": verdict if verdict in VERDICTS else "", "facts": facts}


def _pieces(text: Json) -> Json:
    """Return a text, or its pieces where it names vertices."""
    return text if isinstance(text, list) and all(map(_is_cell, text)) else str(text)


def _nothing(title: str, problem: str) -> dict[str, Json]:
    about = f"Left out: {problem}."
    return {"kind": "table", "title": title, "about": about, "part": "results", "columns": [""], "rows": []}


def _is_table(columns: Json, rows: Json) -> bool:
    return (
        isinstance(columns, list)
        and bool(columns)
        and all(isinstance(column, str) for column in columns)
        and isinstance(rows, list)
        and all(
            isinstance(row, list) and len(row) == len(columns) and all(map(_is_cell, row)) for row in rows
        )
    )


def _is_cell(cell: Json) -> bool:
    if isinstance(cell, Mapping):
        vertex, run = cell.get("vertex"), cell.get("run", "")
        return cell.keys() <= {"vertex", "run"} and type(vertex) is int and isinstance(run, str)
    return cell is None or isinstance(cell, str | int | float)
