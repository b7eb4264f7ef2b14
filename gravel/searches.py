"""What a breadth-first search found."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from gravel.kernels.arrays import on_host
from gravel.labels import Labelled, Labels
from gravel.vertex_ids import Ids, listed, vertex_of

if TYPE_CHECKING:
    from gravel.kernels.bfs import BFSResult
    from gravel.prepared import PreparedSearch


class Search(Labelled):
    """Distances and predecessors from one source, under the caller's ids.

    `source` is the id, `milliseconds` the time of the search alone, without preparing the graph.
    """

    def __init__(self, prepared: PreparedSearch, source: Any, vertex: int, found: BFSResult) -> None:
        self.source = source
        self.milliseconds = found.milliseconds
        self._vertex = vertex
        self._prepared = prepared
        self._ids: Ids = prepared.ids
        self._found: BFSResult | None = found  # views of the workspace, until it is needed again
        self._distance: Any = None
        self._predecessor: Any = None

    @property
    def strategy(self) -> str:
        """The strategy that searched."""
        return str(self._prepared.search.strategy)

    @property
    def reason(self) -> str:
        """Why this strategy was chosen."""
        return str(self._prepared.search.reason)

    @property
    def notes(self) -> list[str]:
        """What else there is to know of how the graph was searched."""
        return list(self._prepared.notes)

    @property
    def distance(self) -> Labels:
        """The hops from the source to each vertex, int32 (vertices,); -1 for one that is not reached."""
        self._keep()
        if self._distance is None:
            raise ValueError("this search made predecessors alone; ask for output='both' or 'distance'")
        return Labels("distance", self._distance, self._ids, vertices=False)

    @property
    def predecessor(self) -> Labels:
        """The id before each on a shortest path, (vertices,); none for the source and what is not reached."""
        self._keep()
        if self._predecessor is None:
            raise ValueError("this search made distances alone; ask for output='both' or 'predecessor'")
        return Labels("predecessor", self._predecessor, self._ids, vertices=True)

    @property
    def levels(self) -> list[int]:
        """How many vertices there are at distance 0, 1, 2, ..."""
        from gravel.kernels.level_sizes import level_sizes

        return level_sizes(self.distance.array)

    @property
    def depth(self) -> int:
        """The largest distance."""
        return len(self.levels) - 1

    @property
    def reached(self) -> int:
        """How many vertices the search reached, the source included."""
        self._keep()
        if self._distance is not None:
            return sum(self.levels)
        return int((on_host(self._predecessor) >= 0).sum()) + 1

    def path_to(self, target: Any) -> list[Any] | None:
        """Return a shortest path from the source to a vertex, as ids; None where there is none."""
        at = vertex_of(self._ids, target)
        return path_back(self._ids, self.predecessor.array, self._vertex, at)

    def __repr__(self) -> str:
        return (
            f"<gravel.Search from {self.source!r}: {self.reached:,} of {self._ids.count:,} vertices in "
            f"{self.milliseconds:.3g} ms, {self.strategy}>"
        )

    def _repr_html_(self) -> str:
        from gravel.picture import bars, table

        facts = {
            "source": repr(self.source),
            "reached": f"{self.reached:,} of {self._ids.count:,} vertices",
            "time": f"{self.milliseconds:.3g} ms",
            "strategy": f"{self.strategy}: {self.reason}",
        }
        picture = (
            "" if self._distance is None else bars(f"vertices at distances 0 to {self.depth}", self.levels)
        )
        return table("gravel.Search", facts) + picture

    def __reduce__(self) -> Any:
        from gravel.pickled import labels_read

        self._keep()
        names = ("milliseconds", "strategy", "reason", "notes")
        read = labels_read(self._distance, self._predecessor)
        record = {name: getattr(self, name) for name in names}
        return StoredSearch, (self._ids, self.source, self._vertex, read, record)

    def _columns(self) -> dict[str, Labels]:
        import numpy

        self._keep()
        columns = {"vertex": Labels("vertex", numpy.arange(self._ids.count), self._ids, vertices=True)}
        if self._distance is not None:
            columns["distance"] = self.distance
        if self._predecessor is not None:
            columns["predecessor"] = self.predecessor
        return columns

    def _keep(self) -> None:
        """Take the labels out of the search's workspace, in the numbering of the caller's ids."""
        if self._found is None:
            return
        with self._prepared.lock:
            self._take(self._found)

    def _take(self, found: BFSResult | None) -> None:
        # Another thread that searches may have taken them meanwhile.
        if found is None or self._found is None:
            return
        from gravel.mapping import copied

        if self._prepared.map is None:
            self._distance, self._predecessor = copied(found.distance, found.predecessor)
        else:
            self._distance, self._predecessor = self._prepared.map.back(found.distance, found.predecessor)
        self._found = None


def path_back(ids: Ids, before: Any, source: int, target: int) -> list[Any] | None:
    """Follow predecessors back to the source; return the way from there as ids, None where there is none."""
    import numpy

    path = [target]
    while path[-1] != source:
        at = int(before[path[-1]])
        if at < 0:
            return None
        path.append(at)
    return listed(ids, numpy.array(path[::-1], numpy.int64))


class StoredSearch(Search):
    """A search of a workflow, whose labels are read from the cache when they are asked for."""

    def __init__(
        self,
        ids: Ids,
        source: Any,
        vertex: int,
        read: Callable[[], tuple[Any, Any]],
        record: Mapping[str, Any],
    ) -> None:
        self.source = source
        self.milliseconds = float(record.get("milliseconds", 0.0))
        self._vertex = vertex
        self._ids = ids
        self._distance: Any = None
        self._predecessor: Any = None
        self._read: Callable[[], tuple[Any, Any]] | None = read
        self._record = record

    def _keep(self) -> None:
        if self._read is not None:
            self._distance, self._predecessor = self._read()
            self._read = None

    @property
    def strategy(self) -> str:
        """The strategy that searched."""
        return str(self._record.get("strategy", ""))

    @property
    def reason(self) -> str:
        """Why this strategy was chosen."""
        return str(self._record.get("reason", ""))

    @property
    def notes(self) -> list[str]:
        """What else there is to know of how the graph was searched."""
        return list(self._record.get("notes", []))
