"""Where the rows of a graph lie while it is searched: on the device, in pinned host memory, or in both."""
