"""Shortest paths on CUDA."""
