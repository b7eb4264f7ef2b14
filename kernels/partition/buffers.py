"""Arrays of ranks: of searches and of components, beside the rows of their subgraphs.

Ranks make their arrays from these tables (`gravel.kernels.buffers`), where they make them, and plans state
them with bounds of the counts. Those that other ranks read come first; they lie in one allocation.
"""

from __future__ import annotations

from dataclasses import dataclass

from gravel.kernels.buffers import Table, table

COUNTS, SIDES = 16, 3
"""Of the counters of a search, as in `kernels/partition/cuda/rank.cuh`."""

PLANES = 8
"""Bitmaps of binary digits of labels, as in `kernels/partition/cuda/labels.cuh`."""

TILE = 1024
"""Vertices whose labels a warp puts together at once, as in labels.cuh."""

SMALLEST, ANY = 1, 2
"""Of the kernel's TREE, which is 0 where distances alone are asked for."""

COMPONENT_COUNTS = 8
"""In `kernels/partition/cuda/trees.cuh` too."""

ASKED = 1 << 16
"""Places of a table in which a label that a rank on the CPU asked for lately is found again."""


@dataclass(frozen=True)
class Size:
    """What decides how large the arrays of a rank's search are.

    `own` counts its vertices, `local` those with compact ids, `largest` the words of a bitmap of the vertices
    of any rank, `binned` its arcs to other ranks, `relayed` what is listed for other `groups`, `dn` and `dd`
    the delegates with such arcs. `key` is the type of a key, `vertex` that of a vertex. `sends` is as for
    `gravel.kernels.partition.cuda.memory.RankMemory`, `fronts` whether other ranks' frontiers are copied.
    """

    ranks: int
    own: int
    local: int
    delegates: int
    largest: int
    binned: int
    tree: int
    vertex: str
    relayed: int = 0
    groups: int = 0
    dn: int = 0
    dd: int = 0
    uniquify: bool = False
    sends: bool = False
    fronts: bool = False

    @property
    def key(self) -> str:
        """Type of a key."""
        return self.vertex if self.tree == ANY else "u8"

    @property
    def words(self) -> int:
        """Words of a bitmap of delegates."""
        return 2 * -(-self.delegates // 64)


def shared(size: Size) -> Table:
    """What other ranks read."""
    with_tree = size.tree > 0
    return table(
        found=("u4", 2 * size.words),
        counts=("u8", SIDES * COUNTS),
        front=("u4", size.largest),
        delegate_keys=(size.key, size.delegates * with_tree),
        bin_start=("u8", size.ranks + 1),
        bin_tail=("u8", size.ranks),
        bin_ids=("u4", size.binned),
        bin_tails=("u4", size.binned * with_tree),
        relay_start=("u8", size.groups + 1 if size.groups else 0),
        relay_tail=("u8", size.groups),
        relay_ids=("u4", size.relayed),
        relay_tails=(size.vertex, size.relayed * with_tree),
    )


def search(size: Size) -> Table:
    """What a rank has for itself: labels, bitmaps and queues."""
    words, apart = -(-size.local // 32), not size.sends
    return table(
        distance=("i4", size.own),
        delegate_distance=("i4", size.delegates * size.sends),
        planes=("u4", PLANES * words * apart),
        delegate_depths=("u1", size.delegates * apart),
        predecessors=(size.key, size.own * (size.tree == ANY)),
        keys=(size.key, size.local * (size.tree > 0)),
        expected=(size.key, size.local * (size.tree == ANY)),
        classed=("u4", words * (size.tree == SMALLEST and apart)),
        seen=("u4", words + 1),
        reached=("u4", words),
        delegates_seen=("u4", size.words + 1),
        delegates_front=("u4", size.words),
        fronts=("u4", size.ranks * size.largest * size.fronts),
        nn_queue=("u4", size.local),
        nd_queue=("u4", size.local),
        dn_queue=("u4", size.dn),
        dn_starts=("u8", size.dn),
        dd_queue=("u4", size.dd),
        dd_starts=("u8", size.dd),
        sent=("u4", size.ranks * size.largest * (size.uniquify and size.ranks > 1)),
        came=("u8", 2 * size.ranks),
        relay_sent=("u4", size.groups * size.largest * size.uniquify),
        relay_taken=("u8", 2 * size.ranks if size.groups else 0),
    )


def row_tables(size: Size, normal_arcs: int, heads: int = 2) -> Table:
    """State what `gravel.kernels.partition.cuda.row_tables` and compact ids add, with the rows' `heads`."""
    local, delegates, words = size.local, size.delegates, size.local // 8
    return table(
        masks=("u1", 3 * words + 2 * size.delegates // 8),
        longer=("u1", words + 2 * size.delegates // 8),
        first=("u4", (local + 2 * delegates) * heads),
        lengths=("u1", local),
        delegate_lengths=("u4", 2 * delegates),
        own_delegates=("u4", 2 * delegates // size.ranks + delegates // 32),
        tiles=("u4", 2 * (size.own // TILE + 1)),
        locals=("u4", local),
        nn_owners=("u4", normal_arcs),
        nn_vertices=(size.vertex, normal_arcs),
        nn_named=(size.vertex, normal_arcs),
    )


def subgraphs(own: int, delegates: int, arcs: int, vertex: str, place: str = "device") -> Table:
    """Rows of a rank: columns, offsets of nn and nd with the sources of nd, and offsets of dn and dd."""
    return table(
        place,
        columns=(vertex, arcs),
        row_offsets=("u4", (2, own)),
        sources=("u4", own),
        delegate_offsets=("u4", (2, delegates)),
    )


def joined(own: int, vertex: str) -> Table:
    """Labels of a rank's vertices as they are put together for the host."""
    return table(joined_distance=("i4", own), joined_predecessor=(f"i{vertex[1:]}", own))


def components(nodes: int, hooks: int, vertex: str) -> Table:
    """What a rank has of its vertices and of all delegates; the first four are what other ranks read."""
    return table(
        values=(vertex, nodes),
        counts=("u8", COMPONENT_COUNTS),
        hook_at=(vertex, hooks),
        hook_to=(vertex, hooks),
        parents=("u4", nodes),
        labels=(vertex, nodes),
        before=(vertex, nodes),
    )


def search_on_cpu(own: int, delegates: int) -> Table:
    """What a rank on the CPU has of its vertices and of all delegates while it searches."""
    return table(
        "host",
        distance=("i4", own),
        predecessor=("i8", own),
        nn_predecessor=("i8", own),
        newly=("u4", own),
        delegate_distance=("i4", delegates),
        delegate_predecessor=("i8", delegates),
        seen=("u8", -(-delegates // 64)),
    )


VISITED = 1 << 22
"""Arcs between normal vertices that a rank on the CPU visits before it sends what they reach."""

KEPT = 1 << 22
"""Arcs that were sent, or came, whose tails a rank may still be asked for, beside those of a visit."""


def search_messages_on_cpu(arcs: int, ranks: int) -> Table:
    """What all ranks on the CPU send and keep of so many arcs that a level may have, most to other ranks."""
    sent = arcs - arcs // ranks
    posted, kept = min(sent, ranks * VISITED), min(sent, ranks * (KEPT + VISITED))
    sending = table("host", posted=("u4", posted), came=("u4", posted), bits=("u1", (3, posted)))
    visited = bins(min(arcs, ranks * VISITED))
    return *visited, *sending, *table("host", tails=("u4", kept), ids=("u4", kept))


def bins(arcs: int, *, tree: bool = True) -> Table:
    """What arcs of a level reach, by rank: ids there and tails here."""
    return table("host", ids=("u4", arcs), tails=("u4", arcs * tree))


def messages_of(ranks: int) -> int:
    """Choose how many unions of components a rank on the CPU sends at once: a million over all ranks."""
    return max(1 << 12, (1 << 20) // ranks)


def trees_on_cpu(own: int, delegates: int, vertex: str) -> Table:
    """Labels that a rank on the CPU finds, and the trees of what its own arcs join."""
    return (
        *table("host", labels=(vertex, own)),
        *table("host", "joined", parents=("u4", own + delegates), has_own=("u1", delegates, 0)),
    )


def components_on_cpu(own: int, delegates: int, vertex: str, messages: int) -> Table:
    """What a rank on the CPU keeps while it finds components; it sends so many messages at once."""
    return table(
        "host",
        smallest=(vertex, delegates),
        skipped=("u1", own, 0),
        new_at=(vertex, messages),
        new_to=(vertex, messages),
        asked=("i4", ASKED, 0),
        askers=("u4", messages),
        wanted=(vertex, messages),
        answers=("u4", messages),
    )


def unions_on_cpu(messages: int, vertex: str) -> Table:
    """What so many unions that come to a rank and go on take: as they came, went on, and are sorted."""
    return table(
        "host",
        "sent",
        places=("u4", (2, messages)),
        values=(vertex, (2, messages)),
        passed=(vertex, (4, messages)),
        order=("i8", messages),
        owners=(vertex, (2, messages)),
    )


def scores_on_cpu(own: int, delegates: int, heads: int) -> Table:
    """What a rank on the CPU keeps while it finds PageRank, beside its `heads_on_cpu`."""
    return table(
        "host",
        sums=("f8", heads),
        shares=("f8", own),
        inverse=("f8", own, 0),
        incoming=("f8", own),
        scores=("f8", own),
        delegate_shares=("f8", delegates),
        delegate_inverse=("f8", delegates, 0),
        delegate_sums=("f8", delegates),
        delegate_scores=("f8", delegates),
    )


def heads_on_cpu(arcs: int, heads: int) -> Table:
    """Where the nn `arcs` of a rank lead to, so many different `heads`."""
    return table("host", compact_ids=("u4", arcs), heads=("u4", heads))


def sorting_heads(arcs: int, vertex: str) -> Table:
    """What finding them takes: NumPy's sort of the arcs by their heads."""
    return table(
        "host",
        "sorted",
        order=("i8", arcs),
        ordered=(vertex, arcs),
        first=("u1", arcs),
        counted=("i8", arcs),
        inverse_of_heads=("i8", arcs),
    )


def paths_on_cpu(own: int, delegates: int, heads: int, word: str, *, tree: str) -> Table:
    """What a rank on the CPU keeps while it searches by weights, beside its `heads_on_cpu`.

    `word` is the type of a distance, and `tree` that of a predecessor, or nothing where none is wanted.
    """
    kept = table(
        "host",
        words=(word, own),
        queues=("u4", (4, own)),
        flags=("u1", own),
        delegate_words=(word, delegates),
        delegate_queues=("u4", (4, delegates)),
        delegate_flags=("u1", delegates),
        sent=(word, heads),
        changed=("u4", heads),
        head_flags=("u1", heads, 0),
    )
    if not tree:
        return kept
    return *kept, *table("host", tree=(tree, own), delegate_tree=(tree, delegates), tails=("u4", heads))


def round_of_paths(own: int, delegates: int, heads: int, word: str, *, tree: str) -> Table:
    """What a round of such a search sends and gets, at most, and what becomes of delegates' words.

    Heads of one rank may be changed in a round by all others.
    """
    item = max(int(word[1:]), int(tree[1:]) if tree else 0)
    return table(
        "host",
        "round",
        sent_ids=("u4", heads),
        sent_words=(word, heads),
        sent_tails=("u4", heads if tree else 0),
        came=("u1", (4 + int(word[1:]) + 4 * bool(tree), heads)),
        reduced=(f"u{item}", (4, delegates)),
        order=("i8", own // 8),
    )


def iteration_on_cpu(own: int, delegates: int, heads: int, *, chosen: bool) -> Table:
    """What a rank makes in an iteration of PageRank, and what it sends to the heads of its arcs and gets.

    Vertices to jump to that were `chosen` have a probability each.
    """
    return table(
        "host",
        "iteration",
        stepped=("f8", (3, own)),
        delegates_stepped=("f8", (3, delegates)),
        parcels=("f8", (2, heads)),
        arrivals=("u4", heads),
        jumps=("f8", (own + delegates) * chosen),
    )


def culling_on_cpu(words: int) -> Table:
    """What a rank on the CPU has to cull by: a bitmask of the graph's vertices, of so many words."""
    return table("host", bitmask=("u8", words, 0))


def nn_queue_on_cpu(arcs: int, vertex: str) -> Table:
    """What a level of such a rank gathers, before it is sorted into bins."""
    return table("host", heads=(vertex, arcs), tails=("u4", arcs))
