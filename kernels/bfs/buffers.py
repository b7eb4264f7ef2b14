"""Arrays of breadth-first searches, beside the rows that they read: a table for each strategy and side.

Searches make their arrays from these tables (`gravel.kernels.buffers`), and plans state them: `on_device` and
`on_host` know the bounds of what only rows tell.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from gravel.kernels.bfs.choice import may_be_deep
from gravel.kernels.bfs.strategies import STRATEGIES
from gravel.kernels.buffers import Buffer, Table, total, vertex_type

CHUNK = 128
"""Arcs of a queue entry, as in sources/columns.cuh and multi_source.cu; about as many bytes of encoded
rows."""

IN_PLANE, MOST_PLANES = 8, 2
"""Neighbours of a vertex in a plane, as in pull.cuh, and planes that are made unasked: best on a uniform
graph with 64 neighbours each, on an H200."""

LOGGED_LEVELS = 1 << 16
"""Levels that a log has room for at first; a search with more is repeated with a longer one."""

LEVEL_LOOP_CONTROL = 4 * 48  # four copies of search.cuh's
TRACE, TRACED_WORDS, MOST_TRACED = 256, 4, 64  # of the log, as in search.cuh
MOST_IN_TEAM = 128  # as in team.cuh
PERSISTENT_CONTROL = 4 * 48  # four copies, as in wide.cuh
NOTICE_WORDS = 6  # as in block_group.cuh
LONG_ROW, HUGE_ROW = 1024, 1 << 17  # as in wide.cuh
QUEUES_CONTROL = 176  # as in frontier_queues.cuh
ROUNDS, COUNTER_WORDS = 3, 32  # as in baseline.cuh
FLEX_PROGRESS = 4
HUB_DEGREE = 64
"""Arcs beyond which `flex` sets a vertex aside."""

MOST_SEARCHES = 64
"""Of one batch of `multi_source`, each with its labels."""

BATCH_CONTROL, BATCH_LOG = 3 * 48, 256  # as in multi_source.cu, three copies of its
HOST_ROWS_CONTROL, LOG_FIRST = 4 * 32, 3  # as in host_rows.cuh, four copies of its, and host_rows.cu
WORD_COLUMNS = 32 * 32
"""Columns of a word of lines (host_rows.cuh)."""

BLOCK_QUEUE_BYTES = 20 << 20
"""Of the queues of all blocks of `persistent` at most, half as large as the shared memory of all
multiprocessors: 15 MiB on an H100."""

CHECKPOINT_BYTES = 256
"""Bytes of varint rows between checkpoints (gravel.kernels.layouts.varint)."""

NARROW = 1 << 31
"""Vertices from which predecessors take 64 bits, and 33 in a key."""

STRETCH, PUSH_BUFFER = 1024, 1024
"""Queue entries that `commit` of cpu/push.py handles, and sums the weight of, at a time; and vertices that a
thread collects before it reserves their places in the queue."""

NONE = (1 << 64) - 1


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
    def predecessor(self) -> str:
        """Type of a predecessor."""
        return predecessor_type(self.vertices)

    @property
    def entries(self) -> int:
        """Entries of a queue that holds all vertices, at most."""
        return max(1, self.vertices + (self.arcs if self.stream is None else self.stream) // CHUNK)


def predecessor_type(vertices: int) -> str:
    """Name the type of predecessors: 32 bits below 2^31 vertices, else 64."""
    return "i4" if vertices < NARROW else "i8"


def labels(vertices: int, tree: int) -> Table:
    """Labels of one search on a GPU: see `gravel.kernels.bfs.cuda.labels`."""
    keys = Buffer("keys", "u8", vertices if tree else 1, fill=NONE if tree else None)
    if tree == 32:
        return (keys,)
    distance = Buffer("distance", "i4", vertices, fill=-1)
    return distance, Buffer("predecessor", "i8", vertices if tree else 1, fill=-1 if tree else None), keys


def cooperative(levels: int) -> Table:
    """Log and barrier of a search in one launch."""
    return Buffer("log", "u8", 1 + levels, fill=0), Buffer("arrivals", "u8", 1, fill=0)


def first_neighbours(size: Size, *, words: int, behind: int, pull: bool) -> Table:
    """What a search by level_loop.cuh keeps of every row, and bitmaps of `words`.

    `behind` counts neighbours after the first two, `IN_PLANE` in a plane for each vertex.
    """
    return (
        Buffer("heads", size.vertex, 2 * 32 * words if pull else 0),
        Buffer("behind", size.vertex, max(1, behind)),
        Buffer("closed", "u4", words),
        Buffer("bitmaps", "u4", 2 * words, fill=0),
    )


def level_loop(size: Size, *, entries: int, hubs: int) -> Table:
    """Queues of a search by level_loop.cuh, of which columns have vertices beside, and counters."""
    owners = Buffer("owners", size.vertex, entries if size.tree else 1)
    return (
        Buffer("queue", "u8", entries),
        *((owners,) if size.stream is None else ()),
        Buffer("hubs", size.vertex, max(1, hubs)),
        Buffer("control", "u8", LEVEL_LOOP_CONTROL, fill=0),
        Buffer("team", "u8", 2 * MOST_IN_TEAM, fill=0),
        Buffer("log", "u8", TRACE + TRACED_WORDS * MOST_TRACED, fill=0),
        Buffer("arrivals", "u8", 1, fill=0),
    )


def bitmap_words(vertices: int) -> int:
    """Words of a bitmap of so many vertices: as many as warps take eight at a time."""
    return -(-max(vertices, 1) // 256) * 8


def persistent(size: Size, *, width: int, queued: int, blocks: int) -> Table:
    """Records of `width` neighbours, and queues, which the warps of all blocks have `queued` vertices of."""
    return (
        Buffer("records", size.vertex, max(1, size.vertices) * width),
        Buffer("queue", size.vertex, max(1, size.vertices)),
        Buffer("long_rows", size.vertex, size.arcs // LONG_ROW + size.arcs // HUGE_ROW + 2),
        Buffer("block_queues", size.vertex, (width + 2) * queued),
        Buffer("shares", "u8", 2 * blocks, fill=0),
        Buffer("notices", "u8", NOTICE_WORDS, fill=0),
        Buffer("control", "u8", PERSISTENT_CONTROL, fill=0),
    )


def record_width(vertices: int, arcs: int) -> int:
    """Choose the neighbours of a record: 8 where many vertices have more than 4."""
    return 8 if arcs > 4.5 * vertices else 4


def multi_source(size: Size, *, entries: int) -> Table:
    """Words of vertices, labels of a batch and queues, of which columns have vertices beside."""
    width = "i4" if size.tree == 32 else "i8"
    return (
        Buffer("words", "u8", 2 * max(1, size.vertices)),
        Buffer("distance", "i4", (size.batch, size.vertices) if size.distance else (1, 1)),
        Buffer("predecessor", width, (size.batch, size.vertices) if size.tree else (1, 1)),
        Buffer("queue", size.vertex, max(1, size.vertices)),
        Buffer("entries", "u8", entries),
        Buffer("following", "u8", entries),
        Buffer("owners", size.vertex, entries if size.stream is None else 1),
        Buffer("control", "u8", BATCH_CONTROL, fill=0),
        Buffer("log", "u8", BATCH_LOG, fill=0),
        Buffer("arrivals", "u8", 1, fill=0),
        Buffer("sources", "i8", MOST_SEARCHES, fill=0),
    )


def frontier_queues(size: Size, *, edges: bool) -> Table:
    """Queues of the searches of Merrill et al.: of vertices, and of ends and tails of arcs."""
    arcs = max(1, size.arcs)
    of_edges = Buffer("ends", size.vertex, arcs), Buffer("tails", size.vertex, arcs if size.tree else 1)
    return (
        Buffer("queue", size.vertex, max(1, size.vertices)),
        *(of_edges if edges else ()),
        Buffer("visited", "u4", size.vertices // 32 + 1, fill=0),
        Buffer("control", "u8", QUEUES_CONTROL, fill=0),
    )


def vertex_queue(size: Size, *, words: int = 0) -> Table:
    """A queue that every vertex enters once, its counters, and words that a strategy has beside."""
    beside = Buffer("progress", "u8", words, fill=0)
    return (
        Buffer("queue", size.vertex, max(1, size.vertices)),
        Buffer("counters", "u8", ROUNDS * COUNTER_WORDS, fill=0),
        *((beside,) if words else ()),
    )


def rounds(size: Size) -> Table:
    """Counters of a search that has no queue."""
    return (Buffer("counters", "u8", ROUNDS, fill=0),)


def flex(size: Size, *, hubs: int, blocks: int) -> Table:
    """What a combined kernel of FlexBFS has beside its queue: vertices set aside, and shares of blocks."""
    return Buffer("hubs", size.vertex, max(1, hubs)), Buffer("shares", "u8", blocks + 1, fill=0)


def bitmaps(size: Size) -> Table:
    """Bitmaps of vertices of a search of rows that lie elsewhere."""
    words = max(1, -(-size.vertices // 32))
    return tuple(Buffer(name, "u4", words, fill=0) for name in ("visited", "frontier", "following"))


def host_rows(size: Size, *, heads: bool, line_words: int) -> Table:
    """Bitmaps, one more where rows have heads, and marks of lines."""
    unanswered = replace(bitmaps(size)[0], name="unanswered")
    lines = Buffer("lines", "u4", max(1, line_words), fill=0)
    return *bitmaps(size), *((unanswered,) if heads else ()), lines


def elsewhere(size: Size) -> Table:
    """State at most what a search of rows that lie elsewhere takes on the device, with the rows' offsets.

    First neighbours, kept lines and buffers are not among it: see `gravel.kernels.placement.plan`.
    """
    words = -(-size.arcs // WORD_COLUMNS)
    return (
        Buffer("offsets", "i8", size.vertices + 1),
        *labels(size.vertices, size.tree),
        *host_rows(size, heads=True, line_words=words),
        Buffer("closed", "u4", -(-size.vertices // 32)),
        Buffer("first_rows", size.vertex, words + 1),
        Buffer("kept_lines", "u4", (2, words)),
        Buffer("control", "u8", HOST_ROWS_CONTROL),
        Buffer("log", "u8", LOG_FIRST + LOGGED_LEVELS),
    )


def _planned_loop(size: Size, *, pull: bool = True) -> Table:
    words = bitmap_words(size.vertices)
    # Planes together hold no more than half of the arcs.
    behind = min(MOST_PLANES * IN_PLANE * size.vertices, size.arcs // 2) if pull else 0
    kept = first_neighbours(size, words=words, behind=behind, pull=pull)
    return *kept, *level_loop(size, entries=size.entries, hubs=size.entries - size.vertices), *_units(size)


def _planned_persistent(size: Size) -> Table:
    width = record_width(size.vertices, size.arcs)
    queued = BLOCK_QUEUE_BYTES // ((width + 2) * int(size.vertex[1:]))
    table = persistent(size, width=width, queued=queued, blocks=1)
    # Rows of which no offsets are there are counted while records are made, before all other arrays.
    encoded = 0 if size.stream is None else size.vertices
    counted = Buffer("counted", "i8", (2, encoded), phases=("records",))
    later = tuple(replace(each, phases=("search",)) for each in table[1:])
    return (*cooperative(size.logged), table[0], counted, *later, *_units(size))


def _units(size: Size) -> Table:
    """Where the units of long encoded rows begin, which layouts add: checkpoints of varint, the most."""
    if size.stream is None:
        return ()
    return (Buffer("checkpoints", size.vertex, size.stream // CHECKPOINT_BYTES),)


def _planned_queues(size: Size, *, edges: bool = True) -> Table:
    return *cooperative(size.logged), *frontier_queues(size, edges=edges)


def _planned_sliding(size: Size) -> Table:
    return *cooperative(size.logged), *vertex_queue(size, words=FLEX_PROGRESS)


_DEVICE: Mapping[str, Callable[[Size], Table]] = {
    "top_down": lambda size: _planned_loop(size, pull=False),
    "direction_optimizing": _planned_loop,
    "persistent": _planned_persistent,
    "multi_source": lambda size: (*multi_source(size, entries=size.entries), *_units(size)),
    "expand_contract": lambda size: _planned_queues(size, edges=False),
    **dict.fromkeys(("contract_expand", "two_phase", "hybrid"), _planned_queues),
    "quadratic": lambda size: (*cooperative(size.logged), *rounds(size)),
    **dict.fromkeys(("linear_queue", "hierarchical_queue", "adaptive"), _planned_sliding),
    "flex": lambda size: (*_planned_sliding(size), *flex(size, hubs=size.arcs // HUB_DEGREE, blocks=1)),
}


def on_device(strategy: str, size: Size) -> Table:
    """State at most what a search of rows on the device takes there beside them, its labels included.

    `auto` takes what the largest takes of those that it may stand for. `host_rows` and `streamed`, which are
    for rows elsewhere, take what `elsewhere` states, with offsets.
    """
    if strategy == "auto":
        names = [name for name, each in STRATEGIES.items() if "cuda" in each.automatic]
        if size.stream is not None:
            deep = may_be_deep(size.vertices, size.arcs)
            names = ["direction_optimizing", *(["persistent"] if deep else [])]
        return max((on_device(name, size) for name in names), key=total)
    if strategy not in _DEVICE:
        return elsewhere(size)
    mine = _DEVICE[strategy](size)
    return mine if strategy == "multi_source" else (*labels(size.vertices, size.tree), *mine)


def on_host(strategy: str, size: Size) -> Table:
    """Arrays of a search on the CPU, its labels included; `auto` searches bottom-up, too."""
    if strategy in _HOST:
        return _HOST[strategy](size)
    return levels_on_host(size, pull=strategy != "top_down")


def host_labels(size: Size) -> Table:
    """Labels of a search on the CPU, those that are asked for."""
    return _at_host(
        Buffer("distance", "i4", size.vertices if size.distance else 0),
        Buffer("predecessor", size.predecessor, size.vertices if size.tree else 0),
    )


def levels_on_host(size: Size, *, pull: bool) -> Table:
    """Arrays of a search by levels.py: bitmaps, the queue, labels, and sums of the arcs of a frontier."""
    n, words = size.vertices, -(-size.vertices // 64)
    return _at_host(
        Buffer("heads", size.vertex, n if pull else 0),
        Buffer("done_before", "u8", words, fill=0),
        Buffer("queue", size.vertex, n + 1),
        Buffer("visited", "u8", words),
        Buffer("bitmap_0", "u8", words if pull else 0),
        Buffer("bitmap_1", "u8", words if pull else 0),
        *host_labels(size),
        # Of a frontier, and few hold more than half of the vertices that are searched top-down.
        Buffer("weight_through", "i8", n, touched=n // 2),
        Buffer("weight_before", "i8", n // STRETCH + 1),
        Buffer("directions", "u1", n + 1, touched=0),
        Buffer("found", size.vertex, (size.threads, PUSH_BUFFER)),
    )


def batch_on_host(size: Size) -> Table:
    """Arrays of `multi_source`: labels of a batch, words of vertices and two queues."""
    n = size.vertices
    return _at_host(
        Buffer("distance", "i4", (size.batch if size.distance else 0, n)),
        Buffer("predecessor", size.predecessor, (size.batch if size.tree else 0, n)),
        *(Buffer(name, "u8", n) for name in ("seen", "news", "offers")),
        *(Buffer(name, size.vertex, n) for name in ("queue", "following")),
    )


def serial_on_host(size: Size) -> Table:
    """Arrays of the search with one queue, which keeps distances in any case."""
    return _at_host(Buffer("queue", size.vertex, size.vertices), *host_labels(replace(size, distance=True)))


def streamed_on_host(size: Size) -> Table:
    """Arrays of a search of rows that are read in parts: three bitmaps, and labels."""
    words = -(-size.vertices // 64)
    bitmaps = (Buffer(name, "u8", words, fill=0) for name in ("visited", "frontier", "following"))
    return _at_host(*bitmaps, *host_labels(size))


def _at_host(*buffers: Buffer) -> Table:
    return tuple(replace(each, place="host") for each in buffers)


_HOST: Mapping[str, Callable[[Size], Table]] = {
    "multi_source": batch_on_host,
    "serial": serial_on_host,
    "streamed": streamed_on_host,
}
