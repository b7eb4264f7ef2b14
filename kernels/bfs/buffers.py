"""Arrays of breadth-first searches, beside the rows that they read: a table for each strategy and side.

Searches make their arrays from these tables. `on_device` and `on_host` know bounds of what only rows tell.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial

from gravel.kernels.bfs.choice import may_be_deep
from gravel.kernels.buffers import Buffer, Table, table, total, vertex_type
from gravel.kernels.strategy import strategies_in

CHUNK = 128
"""Arcs of a queue entry, as in sources/columns.cuh and multi_source.cu; about as many bytes of encoded
rows."""

IN_PLANE, MAX_PLANES = 8, 2
"""Neighbours of a vertex in a plane, as in pull.cuh, and planes that are made unasked: best on a uniform
graph with 64 neighbours each, on an H200."""

LOGGED_LEVELS = 1 << 16
"""Levels that a log has room for at first; a search with more is repeated with a longer one."""

LEVEL_LOOP_CONTROL = 4 * 48  # four copies of search.cuh's
TRACE, TRACED_WORDS, MAX_TRACED = 256, 4, 64  # of the log, as in search.cuh
MAX_IN_TEAM = 128  # as in team.cuh
PERSISTENT_CONTROL = 4 * 48  # four copies, as in wide.cuh
NOTICE_WORDS = 6  # as in block_group.cuh
LONG_ROW, HUGE_ROW = 1024, 1 << 17  # as in wide.cuh
QUEUES_CONTROL = 176  # as in frontier_queues.cuh
MAX_SEARCHES = 64  # of one batch of `multi_source`, each with its labels
BATCH_CONTROL, BATCH_LOG = 3 * 48, 256  # as in multi_source.cu, three copies of its
HOST_ROWS_CONTROL, LOG_FIRST = 4 * 32, 3  # as in host_rows.cuh, four copies of its, and host_rows.cu
WORD_COLUMNS = 32 * 32  # of a word of lines (host_rows.cuh)
CHECKPOINT_BYTES = 256  # of varint rows between checkpoints (gravel.kernels.layouts.varint)

BLOCK_QUEUE_BYTES = 20 << 20
"""Of the queues of all blocks of `persistent` at most, half as large as the shared memory of all
multiprocessors: 15 MiB on an H100."""

NARROW = 1 << 31
"""Vertices from which predecessors take 64 bits, and 33 in a key."""

STRETCH, PUSH_BUFFER = 1024, 1024
"""Queue entries whose weight cpu/push.py sums up at a time; what a thread finds before it reserves room."""


@dataclass(frozen=True)
class Size:
    """What decides how large the arrays of a search are.

    `tree` is the bits of a predecessor in a key, 0 where none are asked for; `distance` whether distances
    are. `stream` are the bytes of encoded rows that are searched as they are, None of columns. `batch`
    counts searches at once, `logged` the levels of a log, `threads` those of a CPU. `item` are bytes of a
    column, 0 for those that so many vertices need.
    """

    vertices: int
    arcs: int
    tree: int = 0
    distance: bool = True
    stream: int | None = None
    batch: int = 1
    logged: int = 0
    threads: int = 1
    item: int = 0

    @property
    def vertex(self) -> str:
        """Type of a vertex."""
        return f"u{self.item}" if self.item else vertex_type(self.vertices)

    @property
    def entries(self) -> int:
        """Entries of a queue that holds all vertices, at most."""
        return max(1, self.vertices + (self.arcs if self.stream is None else self.stream) // CHUNK)


def predecessor_type(vertices: int) -> str:
    """Name the type of predecessors: 32 bits below 2^31 vertices, else 64."""
    return "i4" if vertices < NARROW else "i8"


def labels(vertices: int, tree: int) -> Table:
    """Labels of one search on a GPU: see `gravel.kernels.bfs.cuda.labels`."""
    distance, keys = ("i4", vertices, -1), ("u8", vertices, (1 << 64) - 1)
    if not tree:
        return table(distance=distance, predecessor=("i8", 1), keys=("u8", 1))
    if tree == 32:
        return table(keys=keys)
    return table(distance=distance, predecessor=("i8", vertices, -1), keys=keys)


def cooperative(levels: int) -> Table:
    """Log and barrier of a search in one launch."""
    return table(log=("u8", 1 + levels, 0), arrivals=("u8", 1, 0))


def first_neighbours(size: Size, *, words: int, behind: int, pull: bool) -> Table:
    """What a search by direction_optimizing.cuh keeps of every row, and bitmaps of `words`.

    `behind` counts neighbours after the first two, `IN_PLANE` in a plane for each vertex.
    """
    heads = (size.vertex, 64 * words * pull), (size.vertex, max(1, behind))
    return table(heads=heads[0], behind=heads[1], closed=("u4", words), bitmaps=("u4", 2 * words, 0))


def level_loop(size: Size, *, entries: int, hubs: int) -> Table:
    """Queues of a search by direction_optimizing.cuh, of which columns have vertices beside, and counters."""
    owners = table(owners=(size.vertex, entries if size.tree else 1)) if size.stream is None else ()
    return (
        *table(queue=("u8", entries)),
        *owners,
        *table(
            hubs=(size.vertex, max(1, hubs)),
            control=("u8", LEVEL_LOOP_CONTROL, 0),
            team=("u8", 2 * MAX_IN_TEAM, 0),
            log=("u8", TRACE + TRACED_WORDS * MAX_TRACED, 0),
            arrivals=("u8", 1, 0),
        ),
    )


def bitmap_words(vertices: int) -> int:
    """Words of a bitmap of so many vertices: as many as warps take eight at a time."""
    return -(-max(vertices, 1) // 256) * 8


def persistent(size: Size, *, width: int, queued: int, blocks: int) -> Table:
    """Records of `width` neighbours, and queues, which the warps of all blocks have `queued` vertices of."""
    vertex, n = size.vertex, max(1, size.vertices)
    return table(
        records=(vertex, n * width),
        queue=(vertex, n),
        long_rows=(vertex, size.arcs // LONG_ROW + size.arcs // HUGE_ROW + 2),
        block_queues=(vertex, (width + 2) * queued),
        shares=("u8", 2 * blocks, 0),
        notices=("u8", NOTICE_WORDS, 0),
        control=("u8", PERSISTENT_CONTROL, 0),
    )


def record_width(vertices: int, arcs: int) -> int:
    """Choose the neighbours of a record: 8 where many vertices have more than 4."""
    return 8 if arcs > 4.5 * vertices else 4


def multi_source(size: Size, *, entries: int) -> Table:
    """Words of vertices, labels of a batch and queues, of which columns have vertices beside."""
    vertex, n, labelled = size.vertex, max(1, size.vertices), (size.batch, size.vertices)
    return table(
        words=("u8", 2 * n),
        distance=("i4", labelled if size.distance else (1, 1)),
        predecessor=("i4" if size.tree == 32 else "i8", labelled if size.tree else (1, 1)),
        queue=(vertex, n),
        entries=("u8", entries),
        following=("u8", entries),
        owners=(vertex, entries if size.stream is None else 1),
        control=("u8", BATCH_CONTROL, 0),
        log=("u8", BATCH_LOG, 0),
        arrivals=("u8", 1, 0),
        sources=("i8", MAX_SEARCHES, 0),
    )


def frontier_queues(size: Size, *, edges: bool) -> Table:
    """Queues of the searches of Merrill et al.: of vertices, and of ends and tails of arcs."""
    arcs = max(1, size.arcs)
    of_edges = table(ends=(size.vertex, arcs), tails=(size.vertex, arcs if size.tree else 1)) if edges else ()
    found = table(visited=("u4", size.vertices // 32 + 1, 0), control=("u8", QUEUES_CONTROL, 0))
    return *table(queue=(size.vertex, max(1, size.vertices))), *of_edges, *found


def bitmaps(size: Size) -> Table:
    """Bitmaps of vertices of a search of rows that lie elsewhere."""
    words = ("u4", max(1, -(-size.vertices // 32)), 0)
    return table(visited=words, frontier=words, following=words)


def host_rows(size: Size, *, heads: bool, line_words: int) -> Table:
    """Bitmaps, one more where rows have heads, and marks of lines."""
    words, lines = max(1, -(-size.vertices // 32)), ("u4", max(1, line_words), 0)
    return *bitmaps(size), *(table(unanswered=("u4", words, 0)) if heads else ()), *table(lines=lines)


def elsewhere(size: Size) -> Table:
    """State at most what a search of rows that lie elsewhere takes on the device, with the rows' offsets.

    First neighbours, kept lines and buffers are not among it: see `gravel.kernels.placement.plan`.
    """
    words = -(-size.arcs // WORD_COLUMNS)
    return (
        *labels(size.vertices, size.tree),
        *host_rows(size, heads=True, line_words=words),
        *table(
            offsets=("i8", size.vertices + 1),
            closed=("u4", -(-size.vertices // 32)),
            first_rows=(size.vertex, words + 1),
            kept_lines=("u4", (2, words)),
            control=("u8", HOST_ROWS_CONTROL),
            log=("u8", LOG_FIRST + LOGGED_LEVELS),
        ),
    )


def _planned_loop(size: Size, *, pull: bool = True) -> Table:
    words = bitmap_words(size.vertices)
    # Planes together hold no more than half of the arcs.
    behind = min(MAX_PLANES * IN_PLANE * size.vertices, size.arcs // 2) if pull else 0
    kept = first_neighbours(size, words=words, behind=behind, pull=pull)
    return *kept, *level_loop(size, entries=size.entries, hubs=size.entries - size.vertices), *_units(size)


def _planned_persistent(size: Size) -> Table:
    width = record_width(size.vertices, size.arcs)
    queued = BLOCK_QUEUE_BYTES // ((width + 2) * int(size.vertex[1:]))
    records, *later = persistent(size, width=width, queued=queued, blocks=1)
    # Encoded rows are counted while records are made, before all other arrays.
    counted = table("device", "records", counted=("i8", (2, size.vertices if size.stream is not None else 0)))
    searching = (replace(each, phases=("search",)) for each in later)
    return records, *counted, *searching, *_units(size)


def _units(size: Size) -> Table:
    """Where the units of long encoded rows begin, which layouts add: checkpoints of varint, the most."""
    return table(checkpoints=(size.vertex, (size.stream or 0) // CHECKPOINT_BYTES))


_DEVICE: Mapping[str, Callable[[Size], Table]] = {
    "top_down": partial(_planned_loop, pull=False),
    "direction_optimizing": _planned_loop,
    "persistent": _planned_persistent,
    "multi_source": lambda size: (*multi_source(size, entries=size.entries), *_units(size)),
    "expand_contract": partial(frontier_queues, edges=False),
    "hybrid": partial(frontier_queues, edges=True),
}


def on_device(strategy: str, size: Size) -> Table:
    """State at most what a search takes on the device beside rows that lie there, its labels included.

    `auto` takes the most of those that it may stand for, and what is for rows elsewhere what those take.
    """
    if strategy == "auto":
        every = strategies_in("gravel.kernels.bfs")
        names = [name for name, each in every.items() if "cuda" in each.automatic]
        if size.stream is not None:
            deep = may_be_deep(size.vertices, size.arcs)
            names = ["direction_optimizing", *(["persistent"] if deep else [])]
        return max((on_device(name, size) for name in names), key=total)
    known = strategies_in("gravel.kernels.bfs")
    planned = _DEVICE.get(strategy) or known[strategy].own_buffers()
    if planned is None:
        return elsewhere(size)
    own = *cooperative(size.logged), *planned(size)
    return own if strategy == "multi_source" else (*labels(size.vertices, size.tree), *own)


def on_host(strategy: str, size: Size) -> Table:
    """Arrays of a search on the CPU, its labels included; `auto` searches bottom-up, too."""
    if strategy in _HOST:
        return _HOST[strategy](size)
    return levels_on_host(size, pull=strategy != "top_down")


def host_labels(size: Size) -> Table:
    """Labels of a search on the CPU, those that are asked for."""
    n = size.vertices
    predecessor = predecessor_type(n), n if size.tree else 0
    return table("host", distance=("i4", n if size.distance else 0), predecessor=predecessor)


def levels_on_host(size: Size, *, pull: bool) -> Table:
    """Arrays of a search by levels.py: bitmaps, the queue, labels, and sums of the arcs of a frontier."""
    n, words = size.vertices, -(-size.vertices // 64)
    return (
        *table(
            "host",
            heads=(size.vertex, n * pull),
            done_before=("u8", words, 0),
            queue=(size.vertex, n + 1),
            visited=("u8", words),
            bitmap_0=("u8", words * pull),
            bitmap_1=("u8", words * pull),
        ),
        *host_labels(size),
        # Of a frontier, and few hold more than half of the vertices that are searched top-down.
        Buffer("weight_through", "i8", n, place="host", touched=n // 2),
        Buffer("weight_before", "i8", n // STRETCH + 1, place="host"),
        Buffer("directions", "u1", n + 1, place="host", touched=0),
        Buffer("found", size.vertex, (size.threads, PUSH_BUFFER), place="host"),
    )


def batch_on_host(size: Size) -> Table:
    """Arrays of `multi_source`: labels of a batch, words of vertices and two queues."""
    n = size.vertices
    return table(
        "host",
        distance=("i4", (size.batch * size.distance, n)),
        predecessor=(predecessor_type(n), (size.batch if size.tree else 0, n)),
        seen=("u8", n),
        news=("u8", n),
        offers=("u8", n),
        queue=(size.vertex, n),
        following=(size.vertex, n),
    )


def serial_on_host(size: Size) -> Table:
    """Arrays of the search with one queue, which keeps distances in any case."""
    return *table("host", queue=(size.vertex, size.vertices)), *host_labels(replace(size, distance=True))


def streamed_on_host(size: Size) -> Table:
    """Arrays of a search of rows that are read in parts: three bitmaps, and labels."""
    words = ("u8", -(-size.vertices // 64), 0)
    return *table("host", visited=words, frontier=words, following=words), *host_labels(size)


_HOST: Mapping[str, Callable[[Size], Table]] = {
    "multi_source": batch_on_host,
    "serial": serial_on_host,
    "streamed": streamed_on_host,
}
