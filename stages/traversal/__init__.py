"""Parts of `traverse`: a graph opened for a search, its strategy, the searches and their labels."""
