"""Sets of 64-bit ids and each id's rank in them: `bitmap` on the CPU, `cuda` on the GPU."""
