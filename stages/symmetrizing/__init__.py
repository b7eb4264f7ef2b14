"""Rows of an edge list: its parts, ranges of sources that fit in memory, and building on both sides."""
