"""Strongly connected components on the CPU."""
