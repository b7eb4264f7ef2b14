"""One search for the distances from a vertex, over rows wherever and however they are stored."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gravel.kernels.bfs import prepare_rows
from gravel.kernels.bfs.query import Query
from gravel.kernels.layouts.layout import is_read_in_parts

if TYPE_CHECKING:
    from gravel.kernels.layouts import EncodedRows


def single_search(rows: EncodedRows, strategy: str) -> Any:
    """Make a symmetric graph ready for a search that finds distances; rows in parts have their own strategy.

    Raises ValueError for a part that fits no buffer.
    """
    if is_read_in_parts(rows):
        from gravel.kernels.bfs.cuda.streamed import StreamedSearch

        return StreamedSearch(rows, Query(symmetric=True, output="distance"))
    return prepare_rows(rows, strategy=strategy, output="distance", symmetric=True)
