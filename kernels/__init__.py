"""Inner loops over arrays already in memory, CUDA and CPU twins. Knows no file, no stage."""
