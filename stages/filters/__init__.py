"""Filters of rows: `kind == 'paid' and amount > 0`, a small language of its own.

    filter     = all {"or" all}            all = test {"and" test}
    test       = "not" test | "(" filter ")" | comparison
    comparison = COLUMN ("==" | "!=" | "<" | "<=" | ">" | ">=") LITERAL, or the other way round
               | COLUMN ["not"] "in" "(" LITERAL {"," LITERAL} ")" | COLUMN "is" ["not"] "null"

A column is a plain name, or anything in double quotes or backticks. A literal is a number, a text in single
quotes (a quote in it is doubled), `true` or `false`. A row is kept where the filter is true: a condition on
an empty field is neither true nor false, so that `not` of it leaves the row out, too.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gravel.stages.filters.grammar import Form, UnsuitableValue, form_text, kind_of, leaves, parse_form

__all__ = ["Filter", "UnsuitableValue", "parse"]


@dataclass(frozen=True)
class Filter:
    """A parsed filter; two spellings of one have the same `form`."""

    form: Form

    def __str__(self) -> str:
        """Write the filter so that parsing it gives this one."""
        return form_text(self.form)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns that it uses."""
        return tuple(sorted(self.kinds))

    def places(self, labels: Sequence[Hashable]) -> dict[str, int]:
        """Return where its columns are among labels; raises ColumnsError for one that is not there."""
        from gravel.stages.filters.conditions import place_of

        return {column: place_of(column, labels) for column in self.columns}

    def _names(self, labels: Sequence[str]) -> dict[str, str]:
        return {column: labels[place] for column, place in self.places(labels).items()}

    @property
    def kinds(self) -> dict[str, str]:
        """What the literals say that each column holds: number, time, time with a zone, truth or text.

        Raises ValueError for a column whose literals disagree.
        """
        found: dict[str, set[str]] = {}
        for column, literals in leaves(self.form):
            found.setdefault(column, set()).update(map(kind_of, literals))
        return {column: _agreed(column, kinds) for column, kinds in found.items()}

    def expression(self, schema: Any, constants: Mapping[str, str] | None = None) -> Any:
        """Return an expression of Arrow that says which parts of a file with typed columns to read.

        `constants` are columns of one text. Raises ColumnsError for a column that is not there, and
        ValueError for a literal that its column cannot be compared with.
        """
        from pyarrow import compute

        from gravel.stages.filters.conditions import condition, joined, truth_of

        fixed, kinds = constants or {}, self.kinds
        names = self._names([*schema.names, *fixed])

        def of(form: Form) -> Any:
            name = names[form[1]]
            if name in fixed:
                return compute.scalar(truth_of(form, kinds[form[1]], fixed[name]))
            return condition(form, compute.field(name), schema.field(name).type)

        return joined(self.form, of)

    def kept(self, batch: Any, constants: Mapping[str, str] | None = None, *, typed: bool = False) -> Any:
        """Say of each row of a batch or table whether it is kept, as an array without nulls.

        Columns are texts if not `typed`. What the literals of a column are then decides what its texts are
        read as, so that all files are read alike; an empty field is null. Raises as `expression`, and
        `UnsuitableValue` with the row for a text that cannot be read.
        """
        from pyarrow import ChunkedArray, compute

        from gravel.stages.filters.conditions import holds, joined, parts_of

        fixed, kinds = constants or {}, self.kinds
        parts = {
            column: parts_of(batch, name, kinds[column], fixed, typed)
            for column, name in self._names([*batch.schema.names, *fixed]).items()
        }
        matching = compute.fill_null(joined(self.form, lambda form: holds(form, parts[form[1]])), False)
        return matching.combine_chunks() if isinstance(matching, ChunkedArray) else matching


def parse(text: str) -> Filter:
    """Parse a filter; raises ValueError with the position, what was found and what is expected."""
    made = Filter(parse_form(text))
    _ = made.kinds  # those that disagree are refused
    return made


def _agreed(column: str, kinds: set[str]) -> str:
    if len(kinds) > 1 and kinds <= {"text", "time", "time with a zone"} and "text" in kinds:
        return "text"
    if len(kinds) > 1:
        listed = " and a ".join(sorted(kinds))
        raise ValueError(f"column {column!r} is compared with a {listed}; it can hold only one of them")
    return kinds.pop() if kinds else "text"
