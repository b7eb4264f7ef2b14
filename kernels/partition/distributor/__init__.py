"""A partition made by its ranks from a generator, so that nobody ever holds the graph.

Every rank makes its own share of the edges, part by part (`gravel.kernels.generate.slices`), turns each into
its two arcs without loops, and sends an arc to the owner of its source, computed from the index (vertex v is
entry v // p of rank v mod p). The owners sort the rows and drop duplicates; so degrees are known, the census
and the threshold (Pan, Pearce, Owens 2018, section III-A), and the delegates, which all learn.

Nothing has to be sent after that (section III-B, algorithm 1, of a symmetric graph): a normal vertex keeps
its arcs (nn, nd); the arcs of delegates to it (dn) are its nd arcs turned around; and of an edge between
delegates the owner of the end of lower degree has one arc in its row and turns it around for the other (dd).

The result equals, bit by bit, what `gravel.kernels.partition.partition` makes of the whole graph with its
duplicates and loops removed. A rank holds its arcs about twice, 2 bytes for each vertex of the graph while
degrees are counted and 3/16 of a byte after, and one part of the edges with its arcs.

    share = drive(distribute_program(Endpoint(wire), builder, threshold=64), wire)

with `gravel.kernels.partition.distributor.cpu.RankBuilder` or `...cuda.RankBuilder`.
"""
