"""Formats that gravel does not read, recognised so that the error can name them and a way on.

Their first lines may pass for an edge between texts, such as `<!DOCTYPE html>`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from gravel.stages.streams.lines import BYTE_ORDER_MARK


@dataclass(frozen=True)
class OtherFormat:
    """What a file is, in a phrase that follows "the file is", and how to get a graph that gravel reads."""

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
