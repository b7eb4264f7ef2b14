"""Searches of rows in any order, whose results follow the order in which each row stores its neighbours.

The kernels of `gravel.kernels.bfs` need ascending rows and return labels only. These keep the caller's order
of neighbours, as NetworkX promises it, and return vertices in the order in which a queue finds them. They run
on one CPU thread.
"""
