// The rules of a search, as counts of vertices that break each of them; a vertex's bits are 1 << rule.

enum Rule : unsigned int { RANGES, SOURCE, TREE, TREE_LEVELS, EDGE_LEVELS, COMPONENT, TREE_ARCS, NEARER, RULES };
