"""Tests of graphs from files over ranks."""
