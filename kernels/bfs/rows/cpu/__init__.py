"""Searches of encoded rows on the CPU: the level loop of `kernels.bfs.cpu` over rows decoded one by one."""
