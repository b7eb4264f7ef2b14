"""Kernels of several GPUs that meet and read from each other, run on CPU threads."""
