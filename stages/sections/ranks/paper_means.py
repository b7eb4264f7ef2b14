"""Searches over ranks as Pan, Pearce and Owens report theirs (IPDPS 2018, section VI-A3)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gravel.stages.sections.published.experiments import experiments
from gravel.stages.sections.rates import EDGE_RATE, GENERATED_RATE, geometric_mean, rates
from gravel.stages.sections.section import Section, table

if TYPE_CHECKING:
    from gravel.stages.artifacts import Measurement

SOURCES = 140
"""Random sources of each of the paper's data points."""


def paper_mean_sections(
    runs: Sequence[tuple[str, Measurement]], members: Sequence[tuple[str, Any]] = ()
) -> list[dict[str, Any]]:
    """Make a table of geometric means over searches with more than one level.

    The paper's rates count the edges of the edge lists that are among `members`.
    """
    lists = [(label, one) for label, one in members if type(one).__name__ == "EdgeList"]
    generated = {one.label: one.value("generated") for one in experiments([*runs, *lists])}
    if all(rate is None for rate in generated.values()):
        told = "is not known here, as no edge list is among the inputs of this report"
    else:
        told = "is the first of the two rates"
    return [
        table(
            "Geometric means as the paper takes them",
            f"Pan, Pearce, Owens (IPDPS 2018, section VI-A3) search from {SOURCES} random sources and "
            "leave out searches of one level. They report the geometric mean of times or rates. "
            "Here sources are drawn among vertices with arcs, and the number of levels is the "
            f"largest distance. The paper's rate counts the edges of the generator's list; it {told}. "
            "The other rate counts each distinct undirected edge of the searched component once.",
            "run | searches | with more than one level | geometric mean, ms | geometric mean, "
            f"{GENERATED_RATE} | geometric mean, {EDGE_RATE}",
            [_row(label, one, generated.get(label)) for label, one in runs],
            result=150,
        )
    ]


def _row(label: str, one: Measurement, generated: float | None) -> list[Any]:
    deep = [search for search in one.searches if search["depth"] > 1 and search["milliseconds"] > 0]
    speeds = rates(deep, "edges")
    return [
        label,
        len(one.searches),
        len(deep),
        geometric_mean([search["milliseconds"] for search in deep]) if deep else None,
        generated,
        geometric_mean(speeds) if speeds else None,
    ]


SECTIONS = (Section(rank=87, make=paper_mean_sections, needs=("over_ranks", "members")),)
