"""Results of gravel beside those of SciPy, igraph, networkit and NetworkX."""
