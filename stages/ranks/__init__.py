"""Searches and components over groups of ranks, each with its part of a partition or a distributed graph."""
