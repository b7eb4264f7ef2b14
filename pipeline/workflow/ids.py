"""Ids of vertices as an option gives them."""

from __future__ import annotations

from collections.abc import Sequence

from gravel.pipeline.core.errors import RequestError


def split_ids(texts: Sequence[str]) -> list[str]:
    """Split texts such as `alice,bob` at their commas; an id with a comma stands in double quotes."""
    import csv

    ids = [each.strip() for row in csv.reader(texts, skipinitialspace=True) for each in row]
    if texts and not (ids and all(ids)):
        raise RequestError("--sources has an empty id", hint="write it like --sources alice,bob")
    return ids
