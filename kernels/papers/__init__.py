"""Kernels that serve papers alone, such as baselines; gravel runs without this folder.

`bfs` and `components` list strategies, which `gravel.kernels.strategy` adds to those of these rooms.
"""
