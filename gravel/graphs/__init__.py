"""Graphs in memory: made, searched, measured, saved and loaded."""
