"""The work of `centrality`: batches of searches that can be resumed, and values."""
