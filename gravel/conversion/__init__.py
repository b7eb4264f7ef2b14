"""Graphs of other libraries as arrays: one module for each library."""
