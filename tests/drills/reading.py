"""Drawn lists of edges, each compared with what pandas reads under the same settings.

    python -m tests.drills.reading 2000
    python -m tests.drills.reading 200 --seed 7 --show

Delimiters, headers, quotes, blanks, types of ids, extra columns, comments, encodings and line ends are drawn.
Half of the files are read with what they are being said outright, half with nothing said. A file is equal,
refused with a reason, read with a remark on what is doubtful, or wrong in silence. Exits with 1 where one is
wrong.
"""

from __future__ import annotations

import argparse
import collections
import io
import itertools
import random
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gravel.stages.context import PlainContext
from gravel.stages.errors import StageError
from gravel.stages.ingest import ingest
from gravel.stages.ingest_parameters import IngestParameters

IDS = {
    "numbers": lambda draw: str(draw.randrange(40)),
    "large": lambda draw: str(draw.randrange(1 << 60)),
    "padded": lambda draw: f"{draw.randrange(30):03d}",
    "letters": lambda draw: draw.choice("abcdefghijuv"),
    "names": lambda draw: draw.choice(
        ["alice", "bob", "carol", "Åsa", "NA", "true", "null", "nan", "O'Neil"]
    ),
    "full names": lambda draw: f"{draw.choice(['Ann', 'Bo', 'Cy'])} {draw.choice(['Lee', 'Ray', 'Fox'])}",
    "commas": lambda draw: f"{draw.choice(['Lee', 'Ray', 'Fox'])}, {draw.choice('ABC')}",
    "quotes": lambda draw: f'the "{draw.choice("xyz")}"',
    "dates": lambda draw: f"2024-0{draw.randrange(1, 9)}-1{draw.randrange(9)}",
    "mixed": lambda draw: draw.choice(["1", "22", "a7", "b"]),
    "codes": lambda draw: draw.choice(["0x10", "1e3", "+7", "1.10", "-3", "12"]),
    "urls": lambda draw: f"http://{draw.choice('abc')}.org/{draw.choice('xy')}?q={draw.randrange(3)}",
}
EXTRAS = {
    "text": lambda draw: draw.choice(["friend", "foe", "a b", "x,y", "x;y", "", "7"]),
    "number": lambda draw: str(draw.randrange(100)),
    "time": lambda draw: f"2026-01-0{draw.randrange(1, 9)} 10:00:00",
    "empty": lambda draw: "",
}
WEIGHTS = {
    "whole": lambda draw: str(draw.randrange(9)),
    "decimal": lambda draw: f"{draw.random() * 10:.3f}",
    "exponent": lambda draw: f"{draw.random():.2e}",
}
HEADERS = [
    ("source", "target"),
    ("src", "dst"),
    ("From", "TO"),
    ("u", "v"),
    ("payer", "payee"),
    ("subject", "object"),
    ("i", "j"),
]
NAMES = {",": ".csv", ";": ".csv", "\t": ".tsv", "|": ".txt", " ": ".txt"}


@dataclass
class Drawn:
    """A file and what pandas must be told to read it."""

    text: bytes
    name: str
    delimiter: str
    header: list[str] | None
    source: int
    target: int
    weight: int
    comments: int
    options: dict[str, Any] = field(default_factory=dict)


def draw_file(draw: random.Random) -> Drawn:
    """Draw a file of some edges."""
    delimiter = draw.choice([",", ",", ";", "\t", "|", " "])
    make = IDS[draw.choice(list(IDS))]
    extras = [EXTRAS[draw.choice(list(EXTRAS))] for _ in range(draw.choice([0, 0, 0, 1, 1, 2, 4]))]
    weigh = WEIGHTS[draw.choice(list(WEIGHTS))] if draw.random() < 0.4 else None
    columns: list[Any] = [("source", make), ("target", make)]
    columns += [("weight", weigh)] if weigh else []
    columns += [(f"extra{place}", extra) for place, extra in enumerate(extras)]
    if draw.random() < 0.3:
        draw.shuffle(columns)
    if draw.random() < 0.15:
        columns.insert(0, ("", None))  # an index
    places = {name: place for place, (name, _) in enumerate(columns)}
    rows = []
    for number in range(draw.choice([1, 2, 3, 8, 40])):
        rows.append([str(number) if function is None else function(draw) for _, function in columns])
    header = None
    if draw.random() < 0.6:
        one, two = draw.choice(HEADERS)
        renamed = {"source": one, "target": two, "weight": draw.choice(["weight", "w", "cost", "points"])}
        header = [renamed.get(name, name) for name, _ in columns]
    quoting = draw.choice(["needed", "needed", "all", "texts"])
    padding = draw.choice(["", "", "", " "]) if delimiter != " " else ""
    ends = draw.choice(["\n", "\n", "\r\n"])
    lines = ["# a comment"] * draw.choice([0, 0, 1, 2])
    comments = len(lines)
    for row in ([header] if header else []) + rows:
        lines.append(
            (delimiter + padding).join(
                _quoted(each, delimiter, quoting, first=not place) for place, each in enumerate(row)
            )
        )
        if draw.random() < 0.03:
            lines.append("")
    text = ends.join(lines) + draw.choice([ends, ends, ""])
    encoding = draw.choice(["utf-8"] * 8 + ["utf-8-sig", "latin-1"])
    drawn = Drawn(
        text.encode(encoding, "replace"), f"g{NAMES[delimiter]}", delimiter, header,
        places["source"], places["target"], places.get("weight", -1), comments,
    )  # fmt: skip
    if draw.random() >= 0.5:
        if header is None:  # the ends are the first two columns, where nothing is said
            drawn.source, drawn.target, drawn.weight = 0, 1, 2
    else:
        drawn.options = {
            "delimiter": {"\t": "tab", " ": "blanks"}.get(delimiter, delimiter),
            "header": header is not None,
            "columns": {"source": drawn.source + 1, "target": drawn.target + 1},
            "weights": weigh is not None,
        }
        if weigh:
            drawn.options["columns"]["weight"] = drawn.weight + 1
    return drawn


def _quoted(text: str, delimiter: str, quoting: str, *, first: bool) -> str:
    needs = (
        delimiter in text or '"' in text or (first and text[:1] in "#%") or (delimiter == " " and not text)
    )
    if needs or quoting == "all" or (quoting == "texts" and not text.isdigit()):
        return '"' + text.replace('"', '""') + '"'
    return text


def read_by_pandas(drawn: Drawn) -> list[tuple[str, ...]]:
    """Return the edges, and their weights as texts, as pandas reads them."""
    import pandas

    lines = drawn.text.split(b"\n")[drawn.comments :]
    frame = pandas.read_csv(
        io.BytesIO(b"\n".join(lines).removeprefix(b"\xef\xbb\xbf")),
        sep=drawn.delimiter,
        header=0 if drawn.header else None,
        dtype=str,
        keep_default_na=False,
        skipinitialspace=True,
        index_col=False,
        encoding="utf-8",
    )
    taken = [drawn.source, drawn.target] + ([drawn.weight] if 0 <= drawn.weight < frame.shape[1] else [])
    return [tuple(str(each).strip() for each in row) for row in frame.iloc[:, taken].itertuples(index=False)]


def read_by_gravel(
    path: Path, options: dict[str, Any]
) -> tuple[list[tuple[Any, ...]], list[float] | None, list[str]]:
    """Return the edges, the weights, and what was remarked."""

    class Context(PlainContext):
        def remark(self, message: str) -> None:
            remarks.append(message)

    remarks: list[str] = []
    edges, ids = ingest(Context(), IngestParameters(file=str(path), **options))
    if ids.text is not None:
        text, ends = bytes(ids.text), list(ids.offsets)
        names: list[Any] = [text[a:b].decode() for a, b in itertools.pairwise(ends)]
    else:
        names = (
            list(map(int, ids.ids))
            if ids.ids is not None
            else list(range(ids.first, ids.first + ids.vertex_count))
        )
    pairs = [(names[a], names[b]) for a, b in zip(edges.source, edges.target, strict=True)]
    return pairs, None if edges.weight is None else list(map(float, edges.weight)), remarks


def compare(drawn: Drawn, folder: Path) -> tuple[str, str]:
    """Return what becomes of a file, and why."""
    path = folder / drawn.name
    path.write_bytes(drawn.text)
    try:
        pairs, weights, remarks = read_by_gravel(path, drawn.options)
    except StageError as error:
        return "refused", error.message
    try:
        expected = read_by_pandas(drawn)
    except Exception as error:
        return "wrong", f"pandas refuses it: {error}"
    told = [row[:2] for row in expected]
    if pairs and isinstance(pairs[0][0], int):
        same = all(each.isdigit() for row in told for each in row) and pairs == [
            tuple(map(int, row)) for row in told
        ]
    else:
        same = pairs == told
    if same and weights is not None:
        same = drawn.weight >= 0 and weights == [float(row[2]) for row in expected]
    if same:
        return "equal", ""
    return (
        ("remarked", "; ".join(remarks))
        if remarks
        else ("wrong", f"{pairs[:3]} {weights and weights[:3]}; pandas: {expected[:3]}")
    )


def main() -> int:
    """Draw and compare so many files."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("tries", type=int)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--show", action="store_true", help="print each file that is refused or remarked on")
    asked = parser.parse_args()
    counts: collections.Counter[str] = collections.Counter()
    reasons: collections.Counter[str] = collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        for number in range(asked.tries):
            drawn = draw_file(random.Random(f"{asked.seed} {number}"))
            outcome, why = compare(drawn, Path(folder))
            counts[outcome] += 1
            if outcome in ("refused", "remarked"):
                reasons[f"{outcome}: {' '.join(why.split()[:6])}"] += 1
            if outcome == "wrong" or (asked.show and outcome != "equal"):
                print(f"{number}: {outcome}: {why}\n    {drawn.text[:200]!r} {drawn.options}")
    print(
        f"{asked.tries} files: " + ", ".join(f"{count} {outcome}" for outcome, count in counts.most_common())
    )
    for reason, count in reasons.most_common(12):
        print(f"{count:6} {reason}")
    return 1 if counts["wrong"] else 0


if __name__ == "__main__":
    sys.exit(main())
