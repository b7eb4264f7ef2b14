"""Searches of encoded rows on the CPU: the loop of `gravel.kernels.bfs.cpu`, rows decoded one by one."""
