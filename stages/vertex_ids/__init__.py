"""From the ids of a file to internal indices in bounded memory: spool edges, collect ids, rank them."""
