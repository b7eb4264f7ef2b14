"""Results as files for other programs, under the ids that the input uses.

A BFS gives the columns `source, vertex, distance, predecessor`; components give `vertex, component`; edge
lists, graphs, orders, ids and measurements have columns of their own (`gravel.pipeline.export.columns`).
"""
