"""Internal indices for the ids of a file, in bounded memory: spool edges, collect ids, rank them."""
