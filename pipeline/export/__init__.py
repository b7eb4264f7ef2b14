"""Results as files for other programs, under the ids that the input uses.

A BFS gives the columns `source, vertex, distance, predecessor`; components give `vertex, component`; edge
lists, graphs, orders, ids and measurements have columns of their own (`gravel.pipeline.export.columns`).
"""

from __future__ import annotations

from gravel.pipeline.export.columns import EXPORTABLE, columns_of
from gravel.pipeline.export.writers import FORMATS, write_file

__all__ = ["EXPORTABLE", "FORMATS", "columns_of", "write_file"]
