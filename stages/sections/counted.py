"""The bytes that a search cannot avoid reading and writing, counted from the rows that it read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

PLAIN = "csr"


class Searched(Protocol):
    """What is needed of a measurement, or of counters."""

    @property
    def searches(self) -> Any:
        """A record for each search."""
        ...

    @property
    def graph(self) -> Any:
        """What was searched."""
        ...

    @property
    def asked(self) -> Any:
        """How it was searched."""
        ...


def counted_bytes(one: Searched, search: Mapping[str, Any]) -> float | None:
    """Count the bytes of a search; see `counting_rule`.

    None where they are not known: a search that visited levels bottom-up without counting the arcs it read,
    and encoded rows whose size was not recorded.
    """
    if "expanded" not in search and search.get("levels", {}).get("pulled"):
        return None
    each = _bytes_per_arc(one)
    if each is None:
        return None
    tree = 4 if one.graph["vertices"] < 1 << 31 else 8
    output = one.asked["output"]
    labels = (4 if output != "predecessor" else 0) + (tree if output != "distance" else 0)
    arcs = search.get("expanded", search["arcs"])
    return float(arcs * each + search["reached"] * (16 + labels))


def mean_bytes(one: Searched) -> float | None:
    """Count the bytes of a search in the mean over all; None where they are not known of any."""
    several = [counted_bytes(one, search) for search in one.searches]
    known = [each for each in several if each is not None]
    return sum(known) / len(known) if several and len(known) == len(several) else None


def is_encoded(one: Searched) -> bool:
    """Tell whether the search decoded rows while it read them."""
    rows = one.graph.get("rows") or {}
    codec = rows.get("codec", PLAIN)
    return bool(codec != PLAIN and one.asked.get("layout") == codec)


def _bytes_per_arc(one: Searched) -> float | None:
    if is_encoded(one):
        bits = one.graph["rows"].get("bits_per_arc")
        return None if bits is None else float(bits) / 8
    return 4 if one.graph["vertices"] < 1 << 32 else 8


def counting_rule(several: Sequence[Searched]) -> str:
    """Say how the bytes of these measurements were counted, and of which they were not; empty if of none."""
    known = [mean_bytes(one) is not None for one in several]
    if not any(known):
        return ""
    counted = all("expanded" in search for one in several for search in one.searches)
    encoded = [is_encoded(one) for one in several]
    read = {
        (True, False): "its column index",
        (False, True): "the layout's mean bytes an arc",
        (True, True): "its column index (of encoded rows the layout's mean bytes an arc)",
    }[not all(encoded), any(encoded)]
    told = [
        f"Counted bytes of a search: for each {'gathered arc' if counted else 'arc'} {read};",
        "two row offsets of 8 bytes for each reached vertex, and its labels once.",
    ]
    if not counted:
        told.append("If gathered arcs were not counted, arcs are those of the reached vertices.")
    told.append("Status look-ups and queues are not counted.")
    if not all(known):
        told.append("They are left out if levels were searched bottom-up without counting what was read.")
    return " ".join(told)
