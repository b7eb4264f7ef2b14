"""The order in which a page shows what sections made, and what it leaves to `report.json`.

Each table and figure gets a `part`: "answer", "results", "details" (folded), or "data", which says in another
shape what something on the page says already.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

PARTS = ("answer", "results", "details", "data")

LAST = 1 << 30
"""The rank of what is a result only because a check failed."""


def arranged(made: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Put tables and figures into the order of the page, each with a part; the answer comes first."""
    places = [each.get("place", {}) for each in made]
    answering = [number for number, place in enumerate(places) if "answer" in place]
    chart = min(answering, key=lambda number: places[number]["answer"], default=None)
    names = {place["name"] for place in places if "name" in place}
    ranked = []
    for number, (each, place) in enumerate(zip(made, places, strict=True)):
        part = "answer" if number == chart or each["kind"] == "answer" else _part(each, place, names)
        rank = place.get("result", LAST) if part == "results" else each["kind"] != "answer"
        content = {name: value for name, value in each.items() if name != "place"}
        ranked.append((PARTS.index(part), rank, number, {**content, "part": part}))
    return [each for *_, each in sorted(ranked, key=lambda item: item[:3])]


def _part(each: dict[str, Any], place: dict[str, Any], names: set[str]) -> str:
    if names.intersection(place.get("covered_by", ())) - {place.get("name")}:
        return "data"
    if names.intersection(place.get("summed_up_by", ())):
        return "details"
    # What did not pass is no detail.
    failed = any(cell == "FAILED" for row in each.get("rows", ()) for cell in row if isinstance(cell, str))
    return "results" if "result" in place or failed else "details"
