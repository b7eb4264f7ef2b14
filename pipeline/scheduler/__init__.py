"""Carrying out a plan: what is cached is used, the rest runs on a cluster that starts when it is needed."""
