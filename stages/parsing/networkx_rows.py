"""Rows that end in a dictionary, `a b {'weight': 3}`: what `networkx.write_edgelist` writes by default."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

from gravel.stages.parsing.delimiters import CANDIDATES, Cut

WEIGHT = "weight"
"""The attribute that is read; the others are left out."""

_NUMBER = rb"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
_ONE = re.compile(rb"\{'weight': (?:np\.\w+\()?(%s)\)?[,}]" % _NUMBER)


def _row(delimiter: str) -> re.Pattern[bytes]:
    if not delimiter:
        return re.compile(rb"\s*(\S+)\s+(\S+)\s+(\{.*\})\s*")
    d = re.escape(delimiter).encode()
    return re.compile(rb"\s*([^%s]+?)\s*%s\s*([^%s]+?)\s*%s\s*(\{.*\})\s*" % (d, d, d, d))


def cut_attributes(lines: Sequence[bytes], asked: str) -> Cut | None:
    """Return two ids and a weight, perhaps empty, of each line; None where the lines are not of this kind."""
    if not lines or not lines[0].rstrip().endswith(b"}"):
        return None
    for delimiter in CANDIDATES if asked == "auto" else ["" if asked == "blanks" else asked]:
        found = [*map(_row(delimiter).fullmatch, lines)]
        if all(found):
            raw = [[match[1], match[2], weight_of(match[3])] for match in found if match is not None]
            columns = 3 if any(row[2] for row in raw) else 2
            return Cut(delimiter, lines, [row[:columns] for row in raw], columns, len(raw))
    return None


def weight_of(attributes: bytes) -> bytes:
    """Return the weight in a dictionary as NetworkX writes it, empty where there is none."""
    if b"weight" not in attributes:
        return b""
    one = _ONE.match(attributes)
    if one is not None:
        return one[1]
    try:
        found = ast.literal_eval(re.sub(r"np\.\w+\(([^()]*)\)", r"\1", attributes.decode()))
        return str(found.get(WEIGHT, "")).encode() if isinstance(found, dict) else b"?"
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return b"?"  # read as a weight that is none


def tabbed(block: bytes, delimiter: str, columns: int) -> bytes:
    """Return lines with a tab between two ids and a weight; a line of another kind stays as it is."""
    pattern = _row(delimiter)

    def fields(line: bytes) -> bytes:
        match = pattern.fullmatch(line)
        if match is None:
            return line
        ends = match[1] + b"\t" + match[2]
        return ends if columns == 2 else ends + b"\t" + weight_of(match[3])

    return b"\n".join(map(fields, block.split(b"\n")))
