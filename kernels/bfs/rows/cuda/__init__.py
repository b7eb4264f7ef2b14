"""Searches of encoded rows on the GPU; the kernels are `kernels/bfs/rows/search.cu`."""
