"""Searches that several papers compare with: a check of every vertex, and queues of vertices."""
