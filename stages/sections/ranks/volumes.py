"""Bytes that searches over ranks send: by the paper's formulas, as counted, and of 1-D and 2-D partitions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import mean
from typing import TYPE_CHECKING, Any

from gravel.stages.sections.ranks.splits import Split, split_of
from gravel.stages.sections.ranks.times import sent
from gravel.stages.sections.section import Section, table

if TYPE_CHECKING:
    from gravel.stages.artifacts import Measurement


def volume_sections(runs: Sequence[tuple[str, Measurement]]) -> list[dict[str, Any]]:
    """Make a table of the runs over more than one rank; none where there are none."""
    rows = []
    for label, one in runs:
        split = split_of(label, one) if "partition" in one.graph and one.searches else None
        if split is not None and split.ranks > 1:
            rows.append(_row(label, one, split))
    if not rows:
        return []
    return [
        table(
            "Communication volume by formula and as counted",
            "Bytes of all ranks in a search, as means over the sources. The formulas are those of"
            " Pan, Pearce, Owens (IPDPS 2018, sections II-B and V), derived from its sentences, "
            "because the text lacks them. Masks: 2 (p - 1) d / 8 in each level that finds "
            "delegates, along a tree. Vertices: 4 |nn|, as if every nn arc were cut. 1-D "
            "broadcasts each visited vertex: 4 (p - 1) n'. 2-D on r x c ranks: 4 (r + c - 2) for "
            "each vertex visited forward, and (r + c - 2) n / 8 in each backward level. Levels "
            "and directions are those of these searches. Counted bytes were sent, or read by GPUs"
            " that read each other's memory. They exclude predecessors, which the paper does not "
            "send.",
            "run | ranks | groups | levels with new delegates | masks by formula | masks counted | "
            "vertices by formula | vertices counted | all by formula | all counted | 1-D by formula |"
            " 2-D by formula | 2-D grid | 2-D over delegates, by formula",
            rows,
            result=160,
        )
    ]


def mask_levels(search: Mapping[str, Any]) -> int:
    """Count the levels that found delegates: those before a frontier that has any."""
    return sum(1 for count in search["ranks"]["delegates"][1:] if count)


def forward_and_backward(search: Mapping[str, Any]) -> tuple[int, int]:
    """Count the vertices that were found forward, and the levels in which any visit was backward."""
    levels = search["levels"]
    pulled = set(levels["pulled"])
    found = enumerate(levels["vertices"][1:])
    return sum(count for level, count in found if level not in pulled), len(pulled)


def _row(label: str, one: Measurement, split: Split) -> list[Any]:
    from gravel.kernels.partition.volumes import delegate_volume, grid_of, volume_1d, volume_2d

    ranks = split.ranks
    groups = int(one.asked.get("tuning", {}).get("groups", 0))
    levels = mean(mask_levels(search) for search in one.searches)
    told = delegate_volume(
        delegates=split.division.delegates,
        nn_arcs=split.division.nn,
        ranks=ranks,
        mask_levels=levels,
        groups=groups if groups and not ranks % groups else 0,
    )
    ways = [forward_and_backward(search) for search in one.searches]
    forward, backward = (mean(each[place] for each in ways) for place in (0, 1))
    flat = volume_2d(vertices=split.vertices, forward=forward, backward_levels=backward, ranks=ranks)
    masks, vertices = sent(one, "mask_bytes"), sent(one, "vertex_bytes")
    return [
        label,
        ranks,
        groups or None,
        levels,
        told.masks,
        masks,
        told.vertices,
        vertices,
        told.total,
        masks + vertices,
        volume_1d(visited=mean(search["reached"] for search in one.searches), ranks=ranks),
        flat,
        " x ".join(map(str, grid_of(ranks))),
        flat / told.total if told.total else None,
    ]


SECTIONS = (Section(rank=88, make=volume_sections, needs=("over_ranks",)),)
