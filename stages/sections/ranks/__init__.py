"""What a report says of graphs that are split over ranks (Pan, Pearce, Owens 2018, section VI)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gravel.stages.sections.ranks.host_columns import host_column_sections
from gravel.stages.sections.ranks.links import link_sections
from gravel.stages.sections.ranks.memory import memory_figure
from gravel.stages.sections.ranks.paper_means import paper_mean_sections
from gravel.stages.sections.ranks.predicted import predicted_sections
from gravel.stages.sections.ranks.splits import splits_of
from gravel.stages.sections.ranks.suggested import suggested_sections
from gravel.stages.sections.ranks.thresholds import thresholds_figure
from gravel.stages.sections.ranks.times import times_sections
from gravel.stages.sections.ranks.transports import transport_sections
from gravel.stages.sections.ranks.volumes import volume_sections
from gravel.stages.sections.repetitions import typical


def rank_sections(members: Sequence[tuple[str, Any]]) -> list[dict[str, Any]]:
    """Make the sections of partitions and of the searches over them; none where nothing is partitioned."""
    measured = typical([(label, one) for label, one in members if type(one).__name__ == "Measurement"])
    stored = [(label, one) for label, one in members if type(one).__name__ == "Partition"]
    links = [(label, one) for label, one in members if type(one).__name__ == "Links"]
    runs = [(label, one) for label, one in measured if any("ranks" in search for search in one.searches)]
    graphs = splits_of([*stored, *((label, one) for label, one in runs if "partition" in one.graph)])
    if not stored and sum(len(graph.splits) for graph in graphs) < 2:
        graphs = []  # a study of something else, which happens to be over ranks
    sections = [thresholds_figure(graphs), memory_figure(graphs)] if graphs else []
    sections += suggested_sections(graphs)
    sections += times_sections(runs)
    lists = [(label, one) for label, one in members if type(one).__name__ == "EdgeList"]
    sections += paper_mean_sections(runs, lists)
    sections += volume_sections(runs)
    sections += transport_sections(runs)
    sections += host_column_sections(measured)
    sections += predicted_sections(measured, links)
    return [*sections, *link_sections(links)]
