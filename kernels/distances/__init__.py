"""Numbers about the distances of whole graphs: eccentricities, and how far all others are in sum."""
