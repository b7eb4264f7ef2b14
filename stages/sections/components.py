"""How many components there are, how large, and how their sizes spread."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gravel.stages.sections.plot import PALETTE, draw

if TYPE_CHECKING:
    from gravel.stages.artifacts import Traversal


def component_sections(members: Sequence[tuple[str, Traversal]]) -> list[dict[str, Any]]:
    """Make a table and a size distribution for those traversals that are components."""
    import numpy

    rows: list[list[Any]] = []
    figures: list[dict[str, Any]] = []
    drawn: set[bytes] = set()
    for label, one in members:
        if one.component is None:
            continue
        labels = numpy.asarray(one.component)
        counts = numpy.bincount(labels.astype(numpy.int64)) if len(labels) else numpy.zeros(0, numpy.int64)
        sizes = counts[counts > 0]
        largest = int(sizes.max()) if len(sizes) else 0
        rows.append(
            [
                label,
                len(labels),
                len(sizes),
                largest,
                100 * largest / len(labels) if len(labels) else None,
                int((sizes == 1).sum()),
                {"vertex": int(counts.argmax())} if len(sizes) else None,
            ]
        )
        # Every order and layout of a graph has the same components.
        spread = numpy.sort(sizes).tobytes()
        if len(sizes) > 1 and spread not in drawn:
            drawn.add(spread)
            figures.append(_sizes(label, sizes))
    if not rows:
        return []
    table = {
        "kind": "table",
        "title": "Connected components",
        "about": "A component is named by its smallest vertex.",
        "columns": ["run", "vertices", "components", "largest", "largest, %", "isolated", "largest's name"],
        "rows": rows,
    }
    return [table, *figures]


def _sizes(label: str, sizes: Any) -> dict[str, Any]:
    import numpy

    size, count = numpy.unique(sizes, return_counts=True)

    def paint(axes: Any) -> None:
        axes.loglog(size, count, ".", ms=4, color=PALETTE[0])
        axes.set_xlabel("vertices in the component")
        axes.set_ylabel("components")

    return {
        "kind": "figure",
        "title": f"Component sizes of {label}",
        "about": "",
        "svg": draw(paint, alt=f"Number of components by size, {label}"),
        "data": {"size": size.tolist()[:500], "components": count.tolist()[:500]},
    }
