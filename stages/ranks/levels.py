"""Levels of a search as its ranks tell them, for the record of a search; and ranks that share one GPU."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gravel.kernels.bfs import BFSResult
    from gravel.kernels.partition.cuda import Level
    from gravel.kernels.partition.program import RankLabels
    from gravel.stages.ranks.placement import RankPlan


GATHERED = ("arcs", "duplicates", "masked", "sent")
"""Counts of nn arcs where they were culled."""


def levels_by_rank(search: Any) -> dict[str, Any]:
    """Describe the last search's levels as its ranks tell them, under `ranks`; {} for other searches.

    Lists over levels: `visit`, `reduce` and `exchange`, the slowest rank's milliseconds, `local_exchange` and
    `remote_exchange` of that within and between groups; `mask_bytes` and `vertex_bytes`, sent by all,
    `local_vertex_bytes` of them within groups; `normal`, the frontier's normal vertices, and `delegates`;
    `backward`, the subgraphs that any rank visited backward. `answer_bytes` were sent for predecessors;
    `link_bytes`, where columns were placed, were read out of host memory by each rank. Where nn arcs were
    culled, `arcs`, `duplicates`, `masked` and `sent` are those of all ranks, as
    `gravel.kernels.partition.culled.Gathered` names them; the other arcs lead to vertices of their rank.
    """
    labels: Sequence[Any] = getattr(search, "labels", ())
    if not labels:
        return {}
    levels = list(zip(*(rank.levels for rank in labels), strict=True))
    lists: dict[str, Any] = {
        name: [max(getattr(record, f"{name}_milliseconds") for record in level) for level in levels]
        for name in ("visit", "reduce", "exchange", "local_exchange", "remote_exchange")
    }
    for name in ("mask_bytes", "vertex_bytes", "local_vertex_bytes", "normal"):
        lists[name] = [sum(getattr(record, name) for record in level) for level in levels]
    lists["delegates"] = [level[0].delegates for level in levels]
    lists["backward"] = [sorted({way for record in level for way in record.backward}) for level in levels]
    if labels[0].levels and labels[0].levels[0].gathered is not None:
        for name in GATHERED:
            lists[name] = [sum(getattr(record.gathered, name) for record in level) for level in levels]
    lists["answer_bytes"] = sum(rank.answer_bytes for rank in labels)
    if any(rank.link_bytes is not None for rank in labels):
        lists["link_bytes"] = [rank.link_bytes for rank in labels]
    return {"ranks": lists}


def _labels_on_gpu(search: Any, found: BFSResult) -> Sequence[Any]:
    """Return the labels of each rank of a search on this GPU, as a rank of a rank group does."""
    if not hasattr(search, "masks_read"):
        labels: Sequence[Any] = search.labels
        return labels
    return tuple(
        _rank_labels(levels, found, search.masks_read(place)) for place, levels in enumerate(search.levels)
    )


def _rank_labels(levels: Sequence[Level], found: BFSResult, mask_bytes: int) -> RankLabels:
    """Make of the levels of all ranks of a GPU what one rank of a rank group returns."""
    import numpy

    from gravel.kernels.partition.program import LevelRecord, RankLabels

    records = []
    for level in levels:
        backward = tuple(sorted({name for rank in level.backward for name in rank}))
        waits = level.wait + level.relay + level.commit_wait
        parts = level.visit / 1e3, (level.reduce + level.commit) / 1e3, waits / 1e3
        sent = mask_bytes, 4 * level.arrived
        local = level.relay / 1e3
        counts = level.normal, level.delegates
        records.append(LevelRecord(*counts, backward, *parts, *sent, local, gathered=level.gathered))
    # Deeper levels than the GPU logs.
    for way in found.directions[len(records) :]:
        records.append(LevelRecord(0, 0, ("",) if way == "pull" else (), 0, 0, 0, mask_bytes, 0))
    # Labels themselves come with the result.
    return RankLabels(numpy.empty(0, numpy.int32), None, found.milliseconds, 0, tuple(records))


class SearchOnGpu:
    """A search of all ranks on this process's GPU, with labels on the host, as those of a group are."""

    backend = "cuda"

    def __init__(self, search: Any, plan: RankPlan | None = None) -> None:
        self._search = search
        if plan is not None:
            self.placement = plan.placement
        self.strategy, self.reason = search.strategy, search.reason
        self.prepare_milliseconds = search.prepare_milliseconds
        self.labels: Sequence[Any] = ()

    def run(self, source: int) -> BFSResult:
        """Search from one vertex."""
        from gravel.kernels.arrays import on_host
        from gravel.kernels.cuda.wake import wake

        # Labels were copied to the host in between, and an idle GPU lowers its clocks.
        getattr(self._search, "wake", wake)()
        found: BFSResult = self._search.run(source)
        labels = {"distance": on_host(found.distance), "predecessor": on_host(found.predecessor)}
        found = dataclasses.replace(found, **labels)
        self.labels = _labels_on_gpu(self._search, found)
        return found
