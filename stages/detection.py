"""The reader that a file needs, by its name and its content together.

Where both fit, the name wins; a name that the content contradicts is an error, which says what was seen.
Names that say nothing (`.txt`, none) leave it to the content.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import PurePosixPath

from gravel.stages.errors import StageError
from gravel.stages.parsing.head import Head, shown
from gravel.stages.readers import FORMATS, Reader, all_readers
from gravel.stages.streams.lines import BYTE_ORDER_MARK


@dataclass(frozen=True)
class OtherFormat:
    """The kind of a file, in a phrase after "the file is", and how to get a graph that gravel reads."""

    pattern: re.Pattern[bytes]
    phrase: str
    hint: str


def _edges_by(reader: str) -> str:
    return (
        f"convert it to an edge list, for example with networkx.{reader} and networkx.write_edgelist, "
        "or give the NetworkX graph to gravel.graph"
    )


OTHER_FORMATS = (
    OtherFormat(
        re.compile(rb"<(!doctype\s+html|html)\b", re.IGNORECASE),
        "a web page (HTML), not a graph",
        "download the file that the page links to; the address may need a login",
    ),
    OtherFormat(
        re.compile(rb"<\?xml\b|<(graphml|gexf)\b", re.IGNORECASE),
        "XML",
        _edges_by("read_graphml or read_gexf"),
    ),
    OtherFormat(re.compile(rb'\{\s*("|\})|\[\s*[\[{"]'), "JSON", _edges_by("node_link_graph")),
    OtherFormat(re.compile(rb"(graph\s*\[|Creator\b.*\n\s*graph\s*\[)"), "GML", _edges_by("read_gml")),
    OtherFormat(
        re.compile(rb"(strict\s+)?(di)?graph\b[^\n]*\{"), "Graphviz DOT", _edges_by("nx_pydot.read_dot")
    ),
    OtherFormat(re.compile(rb"\*vertices\b", re.IGNORECASE), "Pajek", _edges_by("read_pajek")),
)


def other_format(data: bytes) -> OtherFormat | None:
    """Name the format of a file by its first bytes, if it is one of these."""
    start = data.removeprefix(BYTE_ORDER_MARK).lstrip()
    return next((each for each in OTHER_FORMATS if each.pattern.match(start)), None)


@dataclass(frozen=True)
class Choice:
    """The reader, and in a phrase what spoke for it."""

    reader: Reader
    reason: str


def suffix_of(name: str) -> str:
    """Return the suffix that speaks, in lower case, of a name without its compression suffix."""
    return PurePosixPath(name).suffix.lower()


def named_readers(name: str) -> list[Reader]:
    """List the readers that a file name speaks for."""
    suffix = suffix_of(name)
    return [reader for reader in all_readers().values() if suffix in reader.suffixes]


def choose_reader(
    name: str, head: Head, location: str, forced: str = "auto", *, as_list: bool = False
) -> Choice:
    """Choose by name (without a compression suffix) and head; raises StageError.

    `as_list`: a parameter is given that text has in an edge list alone.
    """
    if not head.data:
        raise StageError("the file is empty", hint="was it copied or downloaded whole?", file=location)
    _refuse_lone_returns(head, location)
    if forced != "auto":
        reader = all_readers()[forced]
        if not reader.binary:
            _refuse_binary(head, location)
        return Choice(reader, "as asked for")
    other = other_format(head.data)
    if other is not None:
        raise StageError(f"the file is {other.phrase}", hint=other.hint, file=location, line=1)
    named = named_readers(name)
    fitting = [reader for reader in all_readers().values() if reader.fits(head)]
    if as_list and not named and not any(reader.binary for reader in fitting):
        return Choice(all_readers()["edge_list"], "its columns are asked for")
    both = [reader for reader in fitting if reader in named]
    suffix = suffix_of(name)
    if both:
        return Choice(both[0], f"its name ({suffix}) and its content fit")
    if not any(reader.binary for reader in (*named, *fitting)):
        _refuse_binary(head, location)
    if named and not fitting:
        # The reader of that format says best what is wrong with the file.
        return Choice(named[0], f"its name ends in {suffix}")
    first = shown(head.lines[0] if head.lines else head.data[:80])
    if named:
        names = " or ".join(reader.title for reader in named)
        raise StageError(
            f"the name ({suffix}) says {names}, but the content looks like {fitting[0].title}; "
            f"it starts with {first}",
            hint=f"rename the file, or name its format: `format: {fitting[0].name}`",
            file=location,
            line=1,
        )
    if fitting:
        others = "; it would also fit " + ", ".join(r.title for r in fitting[1:]) if len(fitting) > 1 else ""
        return Choice(fitting[0], f"its content fits{others}")
    return _nothing_fits(head, location, first)


def _refuse_binary(head: Head, location: str) -> None:
    place = head.data.find(b"\0")
    if place < 0:
        return
    wide = head.data[:2] in (b"\xff\xfe", b"\xfe\xff")
    raise StageError(
        "the text is in UTF-16; expected UTF-8"
        if wide
        else f"the file is binary (a zero byte at position {place:,}) and of no format that is known",
        hint="save it as UTF-8" if wide else f"formats are {', '.join(FORMATS)}",
        file=location,
        line=1 + head.data.count(b"\n", 0, place),
    )


_LONE_RETURN = re.compile(rb"\r+[^\r\n]")


def _refuse_lone_returns(head: Head, location: str) -> None:
    """Refuse lines that end as on a Mac of old: a reader would take them all for one line."""
    found = None if b"\0" in head.data else _LONE_RETURN.search(head.data)
    if found is not None:
        raise StageError(
            "a carriage return that ends no line was found; expected lines that end in a newline",
            hint="rewrite it, for example with: tr '\\r' '\\n' < FILE",
            file=location,
            line=1 + head.data.count(b"\n", 0, found.start()),
        )


def _nothing_fits(head: Head, location: str, first: str) -> Choice:
    lines = head.content(b"#%")
    if lines and len(head.lines) > 1 and _like_edges(lines):
        # Most lines are edges: the edge list's reader names the line that is not.
        return Choice(all_readers()["edge_list"], "most of its lines look like edges")
    from gravel.stages.readers.edge_list import fits_texts

    if fits_texts(head):
        return Choice(all_readers()["edge_list"], "its lines look like edges between texts")
    raise StageError(
        f"the format is not recognised: the file starts with {first}",
        hint=f"name it with `format`, one of {', '.join(FORMATS)}",
        file=location,
        line=1,
    )


def _like_edges(lines: list[bytes]) -> bool:
    good = 0
    for line in lines:
        fields = line.replace(b",", b" ").replace(b";", b" ").split()
        good += 2 <= len(fields) <= 4 and fields[0].isdigit() and fields[1].isdigit()
    return 2 * good >= len(lines)
