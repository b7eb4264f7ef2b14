"""Betweenness by Brandes' algorithm: searches that count shortest paths, and sums on the way back."""
