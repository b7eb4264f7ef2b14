"""Which NetworkX is installed, where its versions behave differently."""

import re

import networkx

FROM_3_7 = tuple(map(int, re.findall(r"\d+", networkx.__version__)[:2])) >= (3, 7)
"""Whether eccentricities of a graph without nodes are errors and `bfs_predecessors` is deprecated."""
