"""Prints the number of components of a file."""

import sys

import igraph

print(len(igraph.Graph.Read_Ncol(sys.argv[1], directed=False).connected_components()))
