"""Results of searches: labels of one source, or shortest paths of pairs."""

from __future__ import annotations

import threading
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from gravel.errors import checked_number
from gravel.kernels.arrays import array_module, on_host
from gravel.results.labels import Labelled, Labels, columns_of_pairs

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gravel.conversion.ids import Ids

    TakeSubgraph = Callable[[NDArray[Any]], Any]
    """Makes the graph of vertices that ascend, by their positions; given by the graph that was searched."""


class FromOneSource(Labelled):
    """Labels of a search from one source, read when they are asked for.

    `lock` is that of the workspace that they are read from, if there is one, and `take` makes subgraphs.
    """

    def __init__(
        self,
        ids: Ids,
        source: Any,
        vertex: int,
        read: Callable[[], tuple[Any, Any]],
        record: Mapping[str, Any],
        lock: Any = None,
        take: TakeSubgraph | None = None,
    ) -> None:
        self.source = source
        self.milliseconds = float(record.get("milliseconds", 0.0))
        self._ids = ids
        self._vertex = vertex
        self._read: Callable[[], tuple[Any, Any]] | None = read
        self._record = record
        self._lock = lock or threading.RLock()
        self._distance: Any = None
        self._predecessor: Any = None
        self._take = take

    @property
    def strategy(self) -> str:
        """The strategy that searched."""
        return str(self._record.get("strategy", ""))

    @property
    @abstractmethod
    def distance(self) -> Labels:
        """The distance of each vertex from the source."""

    @property
    @abstractmethod
    def predecessor(self) -> Labels:
        """The id before each vertex on a shortest path."""

    def path_to(self, target: Any) -> list[Any] | None:
        """Return a shortest path from the source to a vertex, as ids; None where there is none."""
        import numpy

        path = [self._ids.vertex(target)]
        before = self.predecessor.array
        while path[-1] != self._vertex:
            at = int(before[path[-1]])
            if at < 0:
                return None
            path.append(at)
        return self._ids.listed(numpy.array(path[::-1], numpy.int64))

    def _within(self, limit: float, what: str) -> Any:
        limit = checked_number(what, limit, whole=what == "hops")
        if self._take is None:
            raise ValueError("this result was copied without its graph: use graph.subgraph(ids)")
        distance = self.distance.array
        near = (distance >= 0) & (distance <= limit) & (distance < float("inf"))
        return self._take(on_host(array_module(near).flatnonzero(near)))

    def __reduce__(self) -> Any:
        self._keep()
        read = partial(_labels, on_host(self._distance), on_host(self._predecessor))
        names = ("milliseconds", "strategy", "reason", "notes")
        record = {name: self._record[name] for name in names if name in self._record}
        return type(self), (self._ids, self.source, self._vertex, read, record)

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
        """Read the labels: out of the search's workspace, or out of the cache."""
        if self._read is None:
            return
        with self._lock:
            # Another thread may have read them meanwhile.
            if self._read is not None:
                self._distance, self._predecessor = self._read()
                self._read = None


def _labels(distance: Any, predecessor: Any) -> tuple[Any, Any]:
    return distance, predecessor


class Search(FromOneSource):
    """Distances and predecessors from one source, under the caller's ids.

    `source` is the id, `milliseconds` the time of the search alone, without preparing the graph.
    """

    @property
    def reason(self) -> str:
        """The reason why this strategy was chosen."""
        return str(self._record.get("reason", ""))

    @property
    def notes(self) -> list[str]:
        """Further remarks on how the graph was searched."""
        return list(self._record.get("notes", []))

    @property
    def distance(self) -> Labels:
        """The hops from the source to each vertex, int32 (vertices,); -1 for one that is not reached."""
        self._keep()
        if self._distance is None:
            raise ValueError("this search made predecessors alone; ask for output='both' or 'distance'")
        return Labels("distance", self._distance, self._ids, vertices=False, lengths=True)

    @property
    def predecessor(self) -> Labels:
        """The id before each on a shortest path, (vertices,); none for the source and what is not reached."""
        self._keep()
        if self._predecessor is None:
            raise ValueError("this search made distances alone; ask for output='both' or 'predecessor'")
        return Labels("predecessor", self._predecessor, self._ids, vertices=True)

    @property
    def levels(self) -> list[int]:
        """The number of vertices at distance 0, 1, 2, ..."""
        from gravel.kernels.level_sizes import level_sizes

        return level_sizes(self.distance.array)

    @property
    def depth(self) -> int:
        """The largest distance."""
        return len(self.levels) - 1

    @property
    def reached(self) -> int:
        """The number of vertices that the search reached, the source included."""
        self._keep()
        if self._distance is not None:
            return sum(self.levels)
        return int((on_host(self._predecessor) >= 0).sum()) + 1

    def within(self, hops: int) -> Any:
        """Return the subgraph of the vertices within so many hops of the source; see `Graph.subgraph`.

        Raises ValueError for `hops` below 0, for a search without distances, and for a result that was
        pickled or copied, which has no graph.
        """
        return self._within(hops, "hops")

    def __repr__(self) -> str:
        return (
            f"<gravel.Search from {self.source!r}: {self.reached:,} of {self._ids.count:,} vertices in "
            f"{self._took}, {self.strategy}>"
        )

    def _repr_html_(self) -> str:
        from gravel.results.picture import bars, table

        facts = {
            "source": repr(self.source),
            "reached": f"{self.reached:,} of {self._ids.count:,} vertices",
            "time": self._took,
            "strategy": f"{self.strategy}: {self.reason}",
        }
        picture = (
            "" if self._distance is None else bars(f"vertices at distances 0 to {self.depth}", self.levels)
        )
        return table("gravel.Search", facts) + picture


class ShortestPaths(FromOneSource):
    """Lengths of shortest paths and predecessors on them, under the caller's ids.

    `distance` is int32 or int64 if weights are integers, else float64. `milliseconds` is the time of the
    search alone, `strategy` what searched.
    """

    @property
    def distance(self) -> Labels:
        """The length of a shortest path to each vertex; of unreached ones -1, or inf of floats."""
        self._keep()
        return Labels("distance", self._distance, self._ids, vertices=False, lengths=True)

    @property
    def predecessor(self) -> Labels:
        """The vertex before each on a shortest path; none for the source and what is not reached."""
        self._keep()
        if self._predecessor is None:
            raise ValueError("this search made distances alone; ask for output='both'")
        return Labels("predecessor", self._predecessor, self._ids, vertices=True)

    @property
    def reached(self) -> int:
        """The number of vertices that the search reached, the source included."""
        distance = self.distance.array
        return int(((distance >= 0) & (distance < float("inf"))).sum())

    def within(self, distance: float) -> Any:
        """Return the subgraph of the vertices that a path of this length or a shorter one reaches.

        Raises as `Search.within`.
        """
        return self._within(distance, "distance")

    def __repr__(self) -> str:
        reached = f"{self.reached:,} of {self._ids.count:,} vertices"
        return f"<gravel.ShortestPaths from {self.source!r}: {reached} in {self._took}, {self.strategy}>"

    def _repr_html_(self) -> str:
        from gravel.results.picture import histogram, table

        distance = on_host(self.distance.array)
        found = distance[(distance >= 0) & (distance < float("inf"))]
        facts = {
            "source": repr(self.source),
            "reached": f"{self.reached:,} of {self._ids.count:,} vertices",
            "farthest": found.max().item(),
            "time": self._took,
            "strategy": self.strategy,
        }
        return table("gravel.ShortestPaths", facts) + histogram("vertices by distance", found)


class Paths(Labelled):
    """Shortest paths of pairs, in the order in which they were asked for.

    `distance` has their lengths, -1 for none, or inf of float weights. `milliseconds` is the time of the
    searches.
    """

    def __init__(self, ids: Ids, sources: Any, targets: Any, found: Any) -> None:
        self.distance = found.length
        self.milliseconds = float(found.milliseconds)
        self._ids, self._sources, self._targets, self._found = ids, sources, targets, found

    def __len__(self) -> int:
        return len(self.distance)

    def __getitem__(self, pair: int) -> list[Any] | None:
        """Return the ids on a path, both ends included; None where there is none."""
        if self._found.vertices is None:
            raise ValueError("lengths alone were found; ask for output='both'")
        at = range(len(self))[pair]  # as lists do, IndexError beyond the end
        low, high = self._found.offsets[at : at + 2]
        return self._ids.listed(self._found.vertices[low:high]) if low < high else None

    def __iter__(self) -> Iterator[list[Any] | None]:
        return (self[pair] for pair in range(len(self)))

    def lengths(self) -> list[int | float | None]:
        """Return the lengths as Python's numbers, None where there is no path."""
        return [each if 0 <= each < float("inf") else None for each in self.distance.tolist()]

    def __repr__(self) -> str:
        pairs = f"{len(self):,} pair{'' if len(self) == 1 else 's'}"
        return f"<gravel.Paths: {pairs} in {self._took}>"

    def _repr_html_(self) -> str:
        from gravel.results.picture import histogram, table

        lengths = self.distance[(self.distance >= 0) & (self.distance < float("inf"))]
        facts = {
            "pairs": len(self),
            "with a path": len(lengths),
            "time": self._took,
        }
        return table("gravel.Paths", facts) + histogram("pairs by length", lengths)

    def _columns(self) -> dict[str, Labels]:
        pairs = self._sources, self._targets
        return columns_of_pairs(self._ids, *pairs, "distance", self.distance, lengths=True)
