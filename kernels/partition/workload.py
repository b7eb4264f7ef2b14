"""How much of a graph a search over ranks reads, for the cost model.

The shares were counted on Kronecker graphs (Graph500 R-MAT, edge factor 16, scales 22 and 24, threshold 32,
2 to 3 sources each) with the directions that `gravel.kernels.partition.directions` decides:

======================================  ===========  ================
of nd, dn and dd arcs, %                own order    hubs first
======================================  ===========  ================
expanded forward                        0.1 to 3.3   0.9 to 3.3
pulled by normal vertices                0.5 to 1.9   0.6 to 1.3
======================================  ===========  ================

For each delegate 0.2 to 10 columns are tested before it has a parent in the graph's own order, in the mean
2 at scale 22 and 7 at 24, and 0.1 to 1.3 where hubs come first: few where most delegates were found by an
expansion, which depends on the source. So it is on the rank that owns the delegate; on another its row has
only delegates of no higher degree, and on GPUs that rank pulls later, for those alone that their owners have
not found by then.

Where nn has a direction too, 5 to 25 % of its arcs are gone along at scale 22 and 6 to 37 % at 20, six
sources each, in the mean a tenth; in 2 or 3 of 6 or 7 levels it is visited backward.
"""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Searching:
    """How a search goes. The defaults are those of Kronecker graphs in their own order, with predecessors."""

    levels: float = 7
    mask_levels: float = 4
    """Levels that find delegates, about half of them (section V-B)."""
    expanded: float = 0.02
    """Share of nd, dn and dd arcs that a search with directions expands forward."""
    pulled: float = 0.011
    """Share of nd, dn and dd arcs that normal vertices pull along: hardly more than one each."""
    parents: float = 5.0
    """Columns that a rank tests for a delegate. They do not get fewer with shorter rows of more ranks."""
    nn_visited: float = 1.0
    """Share of nn arcs that a search with directions goes along: all where nn is visited forward alone."""
    nn_backward_levels: float = 0.0
    """Levels in which it is not, and every rank of a host reads the frontiers of the others."""
    reached: float = 0.55
    """Share of vertices that are labelled; the others have no arcs, mostly."""
    together: float = 1.0
    """Labels that are written in the time of one that lies alone."""
    label_bytes: float = 14
    """Moved for each vertex at the beginning and end: a depth of a byte is cleared and read, a distance of 4
    bytes written, and for a predecessor a key of 8 cleared, or one of 4 copied from what is expected."""
    direction_optimized: bool = True
    local_all_to_all: bool = False


BY_DEGREE = Searching(parents=1.2, nn_visited=0.1, nn_backward_levels=2.5)
"""With delegates numbered by their arcs and nn in both directions: GPUs, unless for smallest predecessors."""

DEGREE_ORDER = replace(BY_DEGREE, together=1.15)
"""The same in degree order: what a level labels lies close together. Labels took 2.5 ns a thousand against
2.9 in the graph's own order (scale 24, one H200)."""
