"""A plan as a picture: a tree for the terminal, SVG, and DOT for Graphviz."""
