"""The table of comparisons: how many values of each measure, and how far they are apart."""

from __future__ import annotations

from dataclasses import dataclass

import numpy

HEADER = f"{'graph':34} {'measure':30} {'peer':16} {'values':>12}  result"


@dataclass
class Row:
    """One measure of one graph beside one peer; `worst` is the largest relative difference."""

    tolerance: float
    values: int = 0
    worst: float = 0.0

    @property
    def passed(self) -> bool:
        return self.worst <= self.tolerance

    def __str__(self) -> str:
        if self.worst == 0:
            return "equal"
        beyond = "" if self.passed else "DIFFERENT: "
        return f"{beyond}{self.worst:.1e} apart, {self.tolerance:.0e} allowed"


class Table:
    """Rows by graph, measure and peer."""

    def __init__(self) -> None:
        self.rows: dict[tuple[str, str, str], Row] = {}

    def compare(
        self, graph: str, measure: str, peer: str, found: object, expected: object, tolerance: float = 0.0
    ) -> None:
        """Add two arrays of one shape; what is unreached is -1 or infinite in both."""
        one, other = as_floats(found), as_floats(expected)
        assert one.shape == other.shape, (graph, measure, one.shape, other.shape)
        row = self.rows.setdefault((graph, measure, peer), Row(tolerance))
        row.values += one.size
        row.worst = max(row.worst, apart(one, other))

    def show(self, graph: str) -> None:
        """Print the rows of a graph."""
        for (name, measure, peer), row in self.rows.items():
            if name == graph:
                print(f"{name:34} {measure:30} {peer:16} {row.values:12,}  {row}", flush=True)

    def different(self) -> list[tuple[str, str, str]]:
        """Return what is further apart than allowed."""
        return [key for key, row in self.rows.items() if not row.passed]


def as_floats(values: object) -> numpy.ndarray:
    """Return distances with -1 for what is not reached."""
    found = numpy.asarray(values, numpy.float64)
    return numpy.where(numpy.isinf(found), -1.0, found)


def apart(found: numpy.ndarray, expected: numpy.ndarray) -> float:
    """Return the largest difference as a share of the expected value; infinite where one is NaN or zero."""
    differs = ~(found == expected)
    if not differs.any():
        return 0.0
    one, other = found[differs], expected[differs]
    with numpy.errstate(divide="ignore", invalid="ignore"):
        shares = numpy.abs(one - other) / numpy.abs(other)
    return float(numpy.where(numpy.isnan(shares), numpy.inf, shares).max())
