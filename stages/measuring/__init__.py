"""How the stage `centrality` computes: batches of searches that can be resumed, and values."""
