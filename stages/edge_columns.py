"""The columns of a table that hold an edge: its two ends and its weight.

One list of names serves text, Parquet, Arrow, tables in memory and `gravel init`. Names are compared without
regard to case, quotes and blanks.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

SOURCES = (
    "source", "src", "from", "u", "start", "source_id", "src_id", "from_node", "node1", "vertex1", "subject",
    "i", "row",
)  # fmt: skip
TARGETS = (
    "target", "dst", "destination", "to", "v", "end", "target_id", "dst_id", "to_node", "node2", "vertex2",
    "object", "j", "col",
)  # fmt: skip
WEIGHTS = ("weight", "weights", "w", "cost", "length", "distance")
INTERCHANGEABLE = ("tail", "head")
"""A pair of ends; graph theory and knowledge graphs disagree which of the two is the source."""

UNNAMED = ("", "__index_level_0__")
"""Names that writers give to a column of row numbers: it is an end of no edge."""

OPTION = (
    "say which: --columns source=NAME,target=NAME (in a workflow `columns: {source: NAME, target: NAME}`, "
    "in Python source=NAME, target=NAME)"
)

BY_POSITION = (
    "say which, counting from 1: --columns source=1,target=2 (in a workflow `columns: {source: 1, "
    "target: 2}`, in Python source=1, target=2), or that the first line names them: `header: true`"
)


class Columns(NamedTuple):
    """The labels of columns that were asked for, None for those that were not."""

    source: Hashable | None = None
    target: Hashable | None = None
    weight: Hashable | None = None


NOT_ASKED = Columns()


class ColumnsError(ValueError):
    """Columns that cannot be told, or are not there; `hint` says what to do."""

    def __init__(self, message: str, hint: str = OPTION) -> None:
        super().__init__(message)
        self.hint = hint


@dataclass(frozen=True)
class EdgeColumns:
    """Positions of an edge's columns among `labels`, from 0; `weight` is -1 where there is none.

    With `interchangeable` the names do not say which end is the source.
    """

    labels: tuple[Hashable, ...]
    source: int
    target: int
    weight: int = -1
    interchangeable: bool = False

    @property
    def left_out(self) -> list[str]:
        """The names of the columns that are not read."""
        taken = (self.source, self.target, self.weight)
        return [shown(label) for place, label in enumerate(self.labels) if place not in taken]

    def __str__(self) -> str:
        """Say which columns were taken, and which were not."""
        names = [shown(self.labels[place]) for place in (self.source, self.target)]
        weight = f", weight {shown(self.labels[self.weight])}" if self.weight >= 0 else ""
        left = f"; left out: {', '.join(self.left_out)}" if self.left_out else ""
        return f"source {names[0]}, target {names[1]}{weight}{left}"


def shown(label: Hashable) -> str:
    """Return a label for a message: short, and without characters that a terminal would act on."""
    text = str(label) if isinstance(label, str) else repr(label)
    cut = text if len(text) <= 60 else text[:59] + "…"
    return "(unnamed)" if text in UNNAMED else cut if cut.isprintable() else repr(cut)


def plain(label: Hashable) -> str:
    """Return a label as it is compared with the known names."""
    name = label.strip("\"' \t").lower() if isinstance(label, str) else ""
    return "" if re.fullmatch(r"unnamed: \d+", name) else name  # as pandas calls a column without a name


def known_names(labels: Sequence[Hashable]) -> int:
    """Count the labels that are names of an end."""
    return sum(plain(label) in (*SOURCES, *TARGETS, *INTERCHANGEABLE) for label in labels)


def find_columns(
    labels: Sequence[Hashable],
    asked: Columns = NOT_ASKED,
    *,
    weights: bool = True,
    first_row: Sequence[object] | None = None,
    positions: bool = False,
    extra: int = 0,
) -> EdgeColumns:
    """Return where the ends and, with `weights`, the weight are; raises ColumnsError where that is not clear.

    A label that is asked for must be there once. Else a source name goes with any target name. Of two columns
    one that is known leaves the other to the other end, and two that are not known are source and target.
    With `positions`, whole numbers that are asked for are positions from 1. The `extra` last labels are taken
    only where they are asked for.
    """
    source, target, weight = (place_of(labels, label, positions=positions) for label in asked)
    if asked.weight is not None and not weights:
        raise ColumnsError(
            f"the weight is column {shown(asked.weight)}, and weights are false", "leave one of the two out"
        )
    interchangeable = False
    if source < 0 or target < 0:
        own = labels[: len(labels) - extra]
        source, target, interchangeable = _ends(own, source, target, weight, first_row)
    if source == target or weight in (source, target):
        raise ColumnsError(f"column {shown(labels[source])} cannot be two of source, target and weight")
    for place in (source, target, weight):
        count = labels.count(labels[place]) if place >= 0 else 1
        if count > 1:
            raise ColumnsError(
                f"{count} columns are called {shown(labels[place])}", "rename all but one of them"
            )
    if weights and weight < 0:
        weight = _weight(labels[: len(labels) - extra], source, target)
    return EdgeColumns(tuple(labels), source, target, weight, interchangeable)


def place_of(labels: Sequence[Hashable], label: Hashable | None, *, positions: bool = False) -> int:
    """Return the place of a label, -1 for None; raises ColumnsError unless it is there once."""
    if label is None:
        return -1
    if positions and isinstance(label, int):
        if 0 < label <= len(labels):
            return label - 1
        raise ColumnsError(f"there is no column {label}: there are {len(labels)}", "count columns from 1")
    found = [place for place, each in enumerate(labels) if each == label and type(each) is type(label)]
    if not found and isinstance(label, str):
        found = [place for place, each in enumerate(labels) if plain(each) == plain(label)]
    if not found:
        raise ColumnsError(f"there is no column {shown(label)}; {_listed(labels)}", "name one of these")
    if len(found) > 1:
        raise ColumnsError(f"{len(found)} columns are called {shown(label)}", "rename all but one of them")
    return found[0]


def _ends(
    labels: Sequence[Hashable], source: int, target: int, weight: int, first_row: Sequence[object] | None
) -> tuple[int, int, bool]:
    names = [plain(label) for label in labels]
    sources = [source] if source >= 0 else _known(names, SOURCES, (target, weight))
    targets = [target] if target >= 0 else _known(names, TARGETS, (source, weight))
    opposite = [names.index(name) for name in INTERCHANGEABLE if name in names]
    if source < 0 and "source" in names and "target" in names:
        sources = [names.index("source")]
    if target < 0 and "source" in names and "target" in names:
        targets = [names.index("target")]
    exact = "source" in names and "target" in names
    pairs = [(a, b) for a in sources for b in targets]
    if len(opposite) == 2 and not exact and source < 0 and target < 0:
        pairs.append((opposite[0], opposite[1]))
    if len(pairs) > 1:
        choices = " or ".join(f"{shown(labels[a])} and {shown(labels[b])}" for a, b in pairs[:4])
        raise ColumnsError(f"the ends of an edge may be columns {choices}{_row(first_row)}")
    if pairs:
        return (*pairs[0], not sources or not targets)
    left = [place for place, name in enumerate(names) if name not in UNNAMED and place != weight]
    one = (sources or targets or [-1])[0]
    if len(left) == 2 and (one < 0 or one in left):
        other = left[1] if one == left[0] else left[0]
        return (
            (left[0], left[1], False) if one < 0 else (one, other, False) if sources else (other, one, False)
        )
    missing = "target" if sources else "source"
    what = (
        f"no column is known as the {missing} of edges"
        if one >= 0
        else "no two columns are known as the ends of edges"
    )
    raise ColumnsError(f"{what}; {_listed(labels)}{_row(first_row)}")


def _known(names: list[str], known: tuple[str, ...], taken: tuple[int, ...]) -> list[int]:
    return [place for place, name in enumerate(names) if name in known and place not in taken]


def _weight(labels: Sequence[Hashable], source: int, target: int) -> int:
    names = [plain(label) for label in labels]
    found = _known(names, WEIGHTS, (source, target))
    exact = [place for place in found if names[place] == "weight"]
    if len(exact or found) > 1:
        choices = " or ".join(shown(labels[place]) for place in found)
        raise ColumnsError(
            f"the weight may be column {choices}",
            "say which: --columns weight=NAME (in a workflow `columns: {weight: NAME}`, in Python "
            "weights=NAME), or leave weights out with `weights: false`",
        )
    return (exact or found or [-1])[0]


def _listed(labels: Sequence[Hashable]) -> str:
    names = ", ".join(map(shown, labels[:20])) + (f" and {len(labels) - 20} more" if len(labels) > 20 else "")
    return f"the columns are {names}" if labels else "there are no columns"


def _row(row: Sequence[object] | None) -> str:
    if row is None:
        return ""
    return f", the first row is {', '.join(shown(str(value)) for value in row[:20])}"
