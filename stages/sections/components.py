"""Components: how many there are, how large, and how their sizes spread."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gravel.stages.artifacts import Traversal
from gravel.stages.charts import Axis, Curves, Line
from gravel.stages.sections.section import Made, Section, figure, table

MAX_SIZES = 500
"""Distinct sizes in one picture: of more, those are drawn that lie at even distances among them."""


def component_sections(members: Sequence[tuple[str, Traversal]]) -> list[Made]:
    """Make a table and a size distribution for those traversals that are components."""
    import numpy

    rows: list[list[Any]] = []
    figures: list[Made] = []
    drawn: set[bytes] = set()
    for label, one in members:
        if one.component is None:
            continue
        names, sizes = component_sizes(one)
        size, largest = len(one.component), int(sizes.max(initial=0))
        facts = (label, size, len(sizes), largest, 100 * largest / size if size else None)
        rows.append(
            [*facts, int((sizes == 1).sum()), {"vertex": int(names[sizes.argmax()])} if size else None]
        )
        # Every order and layout of a graph has the same components. The table has what is of one size.
        spread = numpy.sort(sizes).tobytes()
        if len(set(sizes.tolist())) > 1 and spread not in drawn:
            drawn.add(spread)
            figures.append(_sizes(label, sizes))
    if not rows:
        return []
    found = table(
        "Connected components",
        "A component is named by its smallest vertex.",
        "run | vertices | components | largest | largest, % | isolated | largest's name",
        rows,
        result=220,
    )
    return [found, *figures]


def component_sizes(one: Traversal) -> tuple[Any, Any]:
    """Return the smallest vertex of each component, ascending, and the numbers of vertices."""
    import numpy

    counts = numpy.bincount(numpy.asarray(one.component).astype(numpy.int64))
    names = numpy.flatnonzero(counts)
    return names, counts[names]


def _sizes(label: str, sizes: Any) -> Made:
    import numpy

    size, count = numpy.unique(sizes, return_counts=True)
    chosen = numpy.unique(numpy.linspace(0, len(size) - 1, min(MAX_SIZES, len(size))).round().astype(int))
    left_out = f"{MAX_SIZES:,} of {len(size):,} sizes, evenly chosen." if len(chosen) < len(size) else ""
    line = Line(
        name="components", x=tuple(size[chosen].tolist()), y=tuple(count[chosen].tolist()), draw="points"
    )
    panel = Curves(
        x=Axis(label="vertices in the component", scale="log10"),
        y=Axis(label="components", scale="log10"),
        lines=(line,),
    )
    return figure(
        f"Component sizes of {label}",
        left_out,
        [panel],
        {"size": size.tolist()[:500], "components": count.tolist()[:500]},
        alt=f"Number of components by size, {label}",
        answer=90,
        single=True,
    )


SECTIONS = (Section(rank=150, make=component_sections, kinds=("Traversal",)),)
