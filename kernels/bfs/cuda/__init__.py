"""BFS on CUDA: each module prepares one strategy and launches its `.cu` file."""
