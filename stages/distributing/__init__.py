"""Graphs from files over ranks: owners number the ids, and get the arcs of their rows."""
