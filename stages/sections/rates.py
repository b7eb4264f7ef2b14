"""Rates of searches, their means, and how sentences write numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from gravel.stages.artifacts import Measurement

EDGE_RATE = "GTEPS (distinct edges)"
"""Label of a rate that counts each distinct undirected edge of the searched component once."""

ARC_RATE = "G stored arcs/s"
"""Label of a rate that counts stored arcs: both directions of an undirected edge."""

GENERATED_RATE = "GTEPS (generated edges)"
"""Label of a rate that counts the edges of the generator's list, multiple edges and self-loops included."""


TITLES = {
    "bfs": "BFS",
    "shortest_paths": "shortest paths",
    "components": "components",
    "strong_components": "strong components",
}
"""What pages call algorithms."""

NO_START = "as no vertex has an edge from which a search could start"


def rates(searches: Sequence[dict[str, Any]], unit: str, *, mapped_back: bool = False) -> list[float]:
    """Return 10^9 `edges` or `arcs` a second for each search that reached any, with mapping back or not."""
    return [
        search[unit]
        / (search["milliseconds"] + (search["map_back_milliseconds"] if mapped_back else 0))
        / 1e6
        for search in searches
        if search[unit] > 0 and search["milliseconds"] > 0
    ]


def mean_rate(one: Measurement) -> float | None:
    """Return the harmonic mean of GTEPS over distinct edges, None where no search reached an edge."""
    speeds = rates(one.searches, "edges")
    return harmonic_mean(speeds) if speeds else None


def milliseconds(one: Measurement) -> list[float]:
    """List the times of searches."""
    return [search["milliseconds"] for search in one.searches]


def median_milliseconds(one: Measurement) -> float:
    """Return the median time of a search."""
    return float(median(milliseconds(one)))


def median_search(one: Measurement) -> Mapping[str, Any]:
    """Return the search with the median time, of an even number the faster of the middle two."""
    ordered = sorted(one.searches, key=lambda search: (search["milliseconds"], search["source"]))
    found: Mapping[str, Any] = ordered[(len(ordered) - 1) // 2]
    return found


def harmonic_mean(values: Sequence[float]) -> float:
    """Return the mean that Graph500 asks for: total work over total time if searches do equal work."""
    return len(values) / sum(1 / value for value in values)


def geometric_mean(values: Sequence[float]) -> float:
    """Return the mean that Pan, Pearce and Owens (IPDPS 2018, section VI) use."""
    return math.exp(sum(math.log(value) for value in values) / len(values))


def quartile(ordered: Sequence[float], number: int) -> float:
    """Return a quartile of ascending values, between the two nearest in proportion."""
    place = (len(ordered) - 1) * number / 4
    low = int(place)
    return ordered[low] + (place - low) * (ordered[min(low + 1, len(ordered) - 1)] - ordered[low])


def count(number: int, noun: str) -> str:
    """Write a number of things."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def percent(part: float, whole: float) -> str:
    """Write a share."""
    return f"{100 * part / whole:.3g} %"


def capital(text: str) -> str:
    """Write a text as the start of a sentence."""
    return text[:1].upper() + text[1:]


def vertices(number: int) -> str:
    """Write a number of vertices."""
    return "1 vertex" if number == 1 else f"{number:,} vertices"


def span(values: Sequence[float]) -> str:
    """Write the first and the last of ascending values, or the one that both are."""
    least, most = f"{values[0]:.3g}", f"{values[-1]:.3g}"
    return least if least == most else f"{least} to {most}"
