"""A graph in memory: what makes it, searches it, measures it and keeps it."""
