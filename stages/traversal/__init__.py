"""What `traverse` is made of: the graph in memory, its sources, the searches and the components."""
