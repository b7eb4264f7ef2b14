"""One rank of a rank group on the GPU of its process; it reads other ranks' memory over NVLink (CUDA IPC)."""

from __future__ import annotations

from dataclasses import replace

import numpy

from gravel.kernels.bfs.query import Query
from gravel.kernels.exchange import Gathering
from gravel.kernels.partition.cuda.by_degree import in_order, is_free, numbers_by_degree, renumbered, room_for
from gravel.kernels.partition.cuda.compact_ids import CompactIds, compact_ids_of, compacted
from gravel.kernels.partition.cuda.launch import Launch, check_culled
from gravel.kernels.partition.cuda.launching import width_macros
from gravel.kernels.partition.cuda.mapping import GroupRank
from gravel.kernels.partition.cuda.memory import RankMemory, tree_of
from gravel.kernels.partition.cuda.placing import Placing
from gravel.kernels.partition.cuda.search import WIDE, check_encoded
from gravel.kernels.partition.cuda.staging import Staging, arcs_sent, check_staged
from gravel.kernels.partition.encoded import layout_of
from gravel.kernels.partition.layout import RankPart, mask_words, widest
from gravel.kernels.partition.options import SearchOptions
from gravel.kernels.partition.program import LevelRecord, RankLabels


class PeerRank(GroupRank):
    """A search as one rank of a rank group.

    Parameters
    ----------
    whole, query, options : as `gravel.kernels.partition.RankSearch` takes them.
    placing : where columns lie, of all ranks alike; on the device by default.

    Raises ValueError for groups that would not be equal.

    """

    def __init__(
        self,
        group: Gathering,
        whole: RankPart,
        query: Query,
        options: SearchOptions,
        *,
        placing: Placing | None = None,
    ) -> None:
        part, delegates = whole.graph, whole.delegates
        self._staging = staging = Staging.of(options, group.size)
        self._tree, self._depth = tree_of(options, query), query.depth
        self._words = 2 * mask_words(len(delegates))
        layout = layout_of(part)
        check_encoded(layout, delegates.dtype, placing)
        check_staged(staging, placed=placing is not None, layout=layout)
        check_culled(options, placed=placing is not None, layout=layout, staged=staging is not None)
        wide = max(group.all_gather(widest(part))) >= WIDE or placing is not None or layout is not None
        wide = wide or staging is not None or options.culls
        relay_starts = None
        if staging is not None and staging.relays:
            sent = numpy.array(group.all_gather(arcs_sent(part, group.size)))
            relay_starts = staging.relay_starts(sent, group.rank)
        numbers, compaction, ids = None, None, dict[int, CompactIds]()
        free = is_free(tree=self._tree, placed=placing is not None, encoded=layout is not None)
        if free and all(group.all_gather(room_for([part]))):
            numbers = group.all_gather(numbers_by_degree(part) if group.rank == 0 else None)[0]
            found = compact_ids_of(whole) if query.symmetric else None
            part = renumbered(part, numbers)
            if found is not None:
                part, compaction = compacted(part, group.all_gather(found))
                ids = {group.rank: found}
        self._memory = RankMemory(
            replace(whole, graph=part, delegates=in_order(delegates, numbers)),
            offset_dtype=numpy.uint64 if wide else numpy.uint32,
            tree=self._tree,
            uniquify=options.uniquify,
            lists_nn=options.culls,
            apart=group.size > 1,
            placing=placing,
            compaction=compaction,
            relay_starts=relay_starts,
        )
        macros = {**width_macros(delegates.dtype, wide=wide), "TREE": self._tree}
        self._launch: Launch = Launch(
            macros,
            self._map(group, self._memory),
            delegates,
            query,
            options,
            placed=placing is not None,
            layout=layout,
            numbers=numbers,
            ids=ids,
            staging=staging,
            nn_rows=sum(group.all_gather(self._memory.nn_rows)) if options.nn_directed else 0,
        )

    def wake(self) -> None:
        """Bring the GPU, its memory and links up to speed for a search that follows at once; all ranks do.

        After a pause the first accesses to memory and to peers wait, whatever the clocks are.
        """
        super().wake()
        self._launch.start(0, 1)

    def run(self, source: int, *, on_device: bool = False) -> RankLabels:
        """Search from one vertex together with all ranks; labels may stay here until the next search.

        Raises RuntimeError, on every rank, when a device waited for another longer than the time limit.
        """
        milliseconds = self._run(source, self._depth)
        arrays = self._memory.arrays
        distance = arrays["distance"] if on_device else arrays["distance"].get()
        predecessor = None
        if self._tree:
            predecessor = self._memory.predecessors()
            predecessor = predecessor if on_device else predecessor.get()
        link = self._launch.link_bytes()
        return RankLabels(distance, predecessor, milliseconds, 0, self._records(), link_bytes=link)

    def _records(self) -> tuple[LevelRecord, ...]:
        """Describe the levels: labels and masks count as reduction, waiting as exchange."""
        masks = self._group.size - 1
        if self._staging is not None:
            masks = self._staging.masks_read(self._group.rank)
        read = 4 * self._words * masks
        # Where nn is visited backward every other rank's frontier is read.
        fronts = 4 * (self._memory.numbers["sent_words"] * (self._group.size - 1))
        return tuple(
            LevelRecord(
                level.normal,
                level.delegates,
                level.backward[0],
                level.visit / 1e3,
                (level.reduce + level.commit) / 1e3,
                (level.wait + level.relay + level.commit_wait) / 1e3,
                read,
                fronts if "nn" in level.backward[0] else 4 * level.arrived,
                level.relay / 1e3,
                gathered=level.gathered,
            )
            for level in self._launch.levels()
        )
