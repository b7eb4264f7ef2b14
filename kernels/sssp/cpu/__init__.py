"""Shortest paths on the CPU."""
