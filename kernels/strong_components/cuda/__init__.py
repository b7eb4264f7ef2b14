"""Strongly connected components on CUDA."""
