"""METIS graphs (METIS manual 5.1, section 4.1.1): `n m [fmt [ncon]]`, then each vertex's neighbours, 1-based.

The three digits of fmt say whether vertex sizes, vertex weights and edge weights are given. Each edge is
listed at both of its ends, which must agree, and is read once.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from gravel.stages.parsing.head import Head, is_integer, shown, whole_numbers
from gravel.stages.readers import Chunk, Counts, Header, Reader, Reading

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gravel.stages.parsing.lists import ListGrammar
    from gravel.stages.streams import LineStream


class _Stated(NamedTuple):
    vertices: int
    edges: int
    skip: int  # numbers before the neighbours
    weighted: bool


def _stated(line: bytes) -> _Stated | None:
    fields = line.split()
    numbers = whole_numbers(fields)
    if numbers is None or not 2 <= len(numbers) <= 4:
        return None
    flags = fields[2].decode().rjust(3, "0") if len(fields) > 2 else "000"
    constraints = numbers[3] if len(fields) > 3 else 1
    if len(flags) > 3 or set(flags) - {"0", "1"} or not 1 <= constraints <= 1000:
        return None
    skip = int(flags[0]) + (constraints if flags[1] == "1" else 0)
    return _Stated(numbers[0], numbers[1], skip, flags[2] == "1")


class _Agreement:
    """Check that both ends of each edge list it alike; it takes each edge once.

    Fingerprints of the arcs of vertices from 1 up are added into so many entries, on the host or a device.
    Self-loops wait until all arcs were seen: some writers list them once, some twice.
    """

    def __init__(self, entries: int) -> None:
        self.arcs = self.loops = 0
        self._entries = entries
        self._loops: list[Chunk] = []
        self._imbalances: dict[str, Any] = {}

    def once(self, chunk: Chunk) -> Chunk:
        """Take arcs, those of a device before they are renumbered; return those from the smaller end."""
        from gravel.kernels.arrays import backend_of, on_host

        add: Any
        zeros: Any
        if (backend := backend_of(chunk.source)) == "cuda":
            import cupy

            from gravel.kernels.text import lists_cuda

            add, zeros, none = lists_cuda.add_imbalance, cupy.zeros, None
        else:
            import numpy

            from gravel.kernels.text import lists

            add, zeros, none = lists.add_imbalance, numpy.zeros, numpy.zeros(0, "uint64")
        if backend not in self._imbalances:
            self._imbalances[backend] = zeros(self._entries, "uint64")
        # Both zeros are one weight.
        weight = none if chunk.weight is None else (chunk.weight + 0.0).view("uint64")
        add(chunk.source, chunk.target, weight, 1, self._imbalances[backend])
        self.arcs += len(chunk.source)
        loops = _where(chunk, chunk.source == chunk.target)
        if len(loops.source):
            self.loops += len(loops.source)
            self._loops.append(Chunk(*map(on_host, loops[:3])))
        return _where(chunk, chunk.source < chunk.target)

    def imbalance(self) -> NDArray[Any]:
        """Entries that are not zero are those of vertices whose arcs lack their reverses."""
        import numpy

        from gravel.kernels.arrays import on_host

        return sum(map(on_host, self._imbalances.values()), numpy.zeros(self._entries, numpy.uint64))

    def kept_loops(self, edges: int) -> Iterator[Chunk]:
        """Yield each self-loop once, of so many edges in all."""
        import numpy

        if not self._loops:
            return
        vertex = numpy.concatenate([each.source for each in self._loops]).astype(numpy.int64)
        weights = [each.weight for each in self._loops if each.weight is not None]
        weight = numpy.concatenate(weights) if weights else None
        if self.arcs == 2 * edges:
            columns = (vertex,) if weight is None else (weight, vertex)
            order = numpy.lexsort(columns)
            if len(order) % 2 == 0 and all((each[order[::2]] == each[order[1::2]]).all() for each in columns):
                order = order[::2]
            vertex, weight = vertex[order], None if weight is None else weight[order]
        yield Chunk(vertex, vertex, weight)


def _where(chunk: Chunk, mask: Any) -> Chunk:
    weight = None if chunk.weight is None else chunk.weight[mask]
    return Chunk(chunk.source[mask], chunk.target[mask], weight)


def _fits(head: Head) -> bool:
    lines = [line for line in head.lines if not line.lstrip().startswith(b"%")]
    stated = _stated(lines[0]) if lines else None
    if stated is None:
        return False
    rows = lines[1:]
    while rows and not rows[-1].strip():
        rows.pop()
    if len(rows) > stated.vertices:
        return False
    step = 2 if stated.weighted else 1
    for row in rows:
        fields = row.split()
        for field in fields[stated.skip :: step]:
            if not is_integer(field) or not 1 <= int(field) <= stated.vertices:
                return False
    return True


def _read(reading: Reading) -> tuple[Header, Iterator[Chunk]]:
    from gravel.stages.parsing.lists import ListGrammar
    from gravel.stages.streams import LineStream

    lines = LineStream(reading.stream)
    line = lines.readline()
    while line is not None and (not line.strip() or line.lstrip().startswith(b"%")):
        line = lines.readline()
    stated = _stated(line or b"")
    if stated is None:
        lines.fail(
            f"found {shown(line or b'')}; a METIS file starts with vertices edges [format [ncon]], "
            "where the format is up to three digits 0 or 1",
            hint="if this is another format, name it with `format`",
        )
    weights = " with a weight after each" if stated.weighted else ""
    before = f"{stated.skip} number(s) about the vertex, then " if stated.skip else ""
    grammar = ListGrammar(
        form=f"{before}the neighbours{weights}",
        rows=stated.vertices,
        low=1,
        comments="%",
        skip=stated.skip,
        weighted=stated.weighted,
    )
    header = Header(
        vertex_count=stated.vertices,
        first_id=1,
        undirected=True,
        weighted=stated.weighted and reading.weights,
    )
    return header, _edges(reading, lines, grammar, stated)


def _edges(reading: Reading, lines: LineStream, grammar: ListGrammar, stated: _Stated) -> Iterator[Chunk]:
    import numpy

    from gravel.stages.parsing.lists import too_few_rows
    from gravel.stages.parsing.text import read_lists

    agreement = _Agreement(max(1, min(stated.vertices, 2 * reading.block_bytes)))
    chunks = read_lists(reading, lines, grammar)
    while True:
        try:
            chunk = next(chunks)
        except StopIteration as stop:
            rows: int = stop.value
            break
        once = agreement.once(chunk if reading.weights else Chunk(chunk.source, chunk.target, None))
        if len(once.source):
            yield once
    arcs, loops, imbalance = agreement.arcs, agreement.loops, agreement.imbalance()
    # Editors cut blank lines at the end.
    complete = arcs == 2 * stated.edges or arcs + loops == 2 * stated.edges
    if rows < stated.vertices and not (complete and rows):
        too_few_rows(lines, rows, stated.vertices)
    if not complete:
        lines.fail(
            f"the header says {stated.edges:,} edges, so {2 * stated.edges:,} neighbours; "
            f"{arcs:,} were found",
            hint="each edge is listed at both of its ends; the file is truncated, or its header is wrong",
        )
    unequal = numpy.flatnonzero(imbalance)
    if len(unequal):
        vertex = f"vertex {int(unequal[0]) + 1}" if len(imbalance) == stated.vertices else "a vertex"
        weight = " with the same weight" if stated.weighted and reading.weights else ""
        lines.fail(
            f"the lists do not agree: {vertex} lists a neighbour that does not list it{weight}, or the "
            "reverse",
            hint="each edge is listed at both of its ends; a directed graph needs another format",
        )
    yield from agreement.kept_loops(stated.edges)


def _counts(head: Head, location: str) -> Counts | None:
    for line in head.content(b"%")[:1]:
        stated = _stated(line)
        if stated:
            return Counts(stated.vertices, stated.edges)
    return None


READER = Reader(
    name="metis",
    title="METIS .graph",
    rank=100,
    suffixes=(".graph", ".metis"),
    fits=_fits,
    read=_read,
    counts=_counts,
    on_device=True,
)
