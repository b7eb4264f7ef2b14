"""Moschou, GPU Acceleration with CUDA: Adaptive BFS & Afforest."""
