"""Merrill, Garland, Grimshaw, PPoPP 2012: searches by queues of arcs, and parts of searches alone."""
