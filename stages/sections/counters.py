"""Hardware counters of searches beside counted bytes, each by the arcs that a search reaches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

from gravel.stages.artifacts import Counters, Measurement
from gravel.stages.counting.ncu import (
    DRAM_READ,
    DRAM_WRITTEN,
    DURATION,
    HOST_SECTORS,
    INSTRUCTIONS,
    L2_HIT_RATE,
    NVLINK_RECEIVED,
    NVLINK_SENT,
    PCIE_READ,
    PCIE_WRITTEN,
    SECTOR_BYTES,
    THREAD_INSTRUCTIONS,
)
from gravel.stages.sections.rates import count, span
from gravel.stages.sections.repetitions import first_label
from gravel.stages.sections.section import Made, Section, table

PLAIN = "csr"


Searched = Measurement | Counters


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
    """Return whether the search decoded rows while it read them."""
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
    texts = [
        f"Counted bytes of a search: for each {'gathered arc' if counted else 'arc'} {read};",
        "two row offsets of 8 bytes for each reached vertex, and its labels once.",
    ]
    if not counted:
        texts.append("If gathered arcs were not counted, arcs are those of the reached vertices.")
    texts.append("Status look-ups and queues are not counted.")
    if not all(known):
        texts.append("They are left out if levels were searched bottom-up without counting what was read.")
    return " ".join(texts)


COUNTED = "counted"
"""What stands in the place of a tool where no counters were read."""

UNKNOWN = "not known"
"""The same where bytes cannot be counted either."""

HEADINGS = (
    "run | strategy | placement | bytes are | counted, B/arc | DRAM read, B/arc | DRAM written, B/arc | "
    "DRAM over counted | warp instructions/arc | thread instructions/arc | L2 hits, % | "
    "counted over the link, B/arc | host memory read by L2, B/arc | PCIe, B/arc | NVLink, B/arc | "
    "ms without the tool | passes"
)
COLUMNS = tuple(HEADINGS.split(" | "))

ALWAYS = 5
"""Columns that are shown also where they have no value."""

Members = Sequence[tuple[str, "Counters"]]


def counter_sections(members: Members) -> list[Made]:
    """Make the table of searches, then that of kernels, if any were measured."""
    return [_searches(members), *_kernels(members)]


def bytes_are(one: Counters) -> str:
    """Say where the bytes of searches come from: a tool's name, or one of `COUNTED` and `UNKNOWN`."""
    if one.tool:
        return str(one.tool["name"])
    return UNKNOWN if _counted(one) is None else COUNTED


def _searches(members: Members) -> dict[str, Any]:
    rows = [_row(label, one) for label, one in members]
    shown = [
        place
        for place in range(len(COLUMNS))
        if place < ALWAYS or any(row[place] is not None for row in rows)
    ]
    return table(
        "Hardware counters of searches",
        _about(members),
        [COLUMNS[place] for place in shown],
        [[row[place] for place in shown] for row in rows],
        result=300,
    )


def _row(label: str, one: Counters) -> list[Any]:
    arcs = sum(search["arcs"] for search in one.searches)
    link = [search["link_bytes"] for search in one.searches if "link_bytes" in search]
    read, written = one.totals.get(DRAM_READ), one.totals.get(DRAM_WRITTEN)
    counted = _counted(one)
    return [
        label,
        one.strategy,
        one.asked.get("placement", "host"),
        bytes_are(one),
        _by(counted, arcs),
        _by(read, arcs),
        _by(written, arcs),
        (read + written) / counted if counted and None not in (read, written) else None,
        _by(one.totals.get(INSTRUCTIONS), arcs),
        _by(one.totals.get(THREAD_INSTRUCTIONS), arcs),
        one.totals.get(L2_HIT_RATE),
        _by(sum(link), arcs) if link else None,
        *_links(one, arcs),
        fmean(search["milliseconds"] for search in one.searches) if one.searches else None,
        one.tool.get("passes"),
    ]


def dram_bytes_an_arc(one: Counters) -> float | None:
    """Return the bytes that a search read from and wrote to DRAM, an arc; None where not measured."""
    read, written = one.totals.get(DRAM_READ), one.totals.get(DRAM_WRITTEN)
    arcs = sum(search["arcs"] for search in one.searches)
    return None if read is None or written is None else _by(read + written, arcs)


def _counted(one: Counters) -> float | None:
    several = [counted_bytes(one, search) for search in one.searches]
    known = [each for each in several if each is not None]
    return sum(known) if several and len(known) == len(several) else None


def _by(value: float | None, arcs: int) -> float | None:
    return value / arcs if value is not None and arcs else None


def _links(one: Counters, arcs: int) -> list[float | None]:
    """Give the bytes that L2 read of host memory, and those of both directions of either link."""
    sectors = one.totals.get(HOST_SECTORS)
    pairs = [(PCIE_READ, PCIE_WRITTEN), (NVLINK_RECEIVED, NVLINK_SENT)]
    found = [None if sectors is None else sectors * SECTOR_BYTES]
    if one.asked.get("placement") == "device":
        # What little crosses the link then is commands, not rows.
        return [None] * (1 + len(pairs))
    for names in pairs:
        known = [value for value in map(one.totals.get, names) if value is not None]
        found.append(sum(known) if len(known) == len(names) else None)
    return [_by(value, arcs) for value in found]


def _about(members: Members) -> str:
    texts = [
        "Over all searches of a run, for each stored arc of the reached vertices. `bytes are` names the tool "
        f"that read the counters, or says `{COUNTED}` where bytes were counted from the rows alone."
    ]
    reasons: dict[str, list[str]] = {}
    notes: dict[str, list[str]] = {}
    for label, one in members:
        if not one.tool:
            reasons.setdefault(one.why, []).append(label)
        for note in one.notes:
            notes.setdefault(note.removesuffix("."), []).append(label)
    for why, labels in reasons.items():
        whose = "" if len(labels) == len(members) else f" of {_named(labels)}"
        texts.append(f"Counters{whose} were not read: {why}.")
    tools = {
        f"{one.tool['name']} {one.tool['version']} ({', '.join(one.tool['metrics'])})"
        for _, one in members
        if one.tool
    }
    if tools:
        texts.append(f"Read by {'; '.join(sorted(tools))}.")
        texts.append(
            "The tool runs each kernel once for each of its passes. It restores memory in between, but not "
            "the caches. Copies and fills are not kernels and not included. Rates of several kernels are "
            "weighted by sectors."
        )
    unknown = sorted({name for _, one in members for name in one.tool.get("unknown", ())})
    if unknown:
        texts.append(f"This GPU or tool has no {', '.join(unknown)}.")
    texts.append(counting_rule([one for _, one in members]))
    texts += [f"Measured on {hardware}." for hardware in sorted({one.hardware for _, one in members})]
    texts += [f"{_named(labels)}: {note}." for note, labels in notes.items()]
    return " ".join(filter(None, texts))


def _named(labels: Sequence[str]) -> str:
    names = list(dict.fromkeys(first_label(label)[0] for label in labels))
    return ", ".join(names) if len(names) <= 4 else f"{len(names)} runs"


def _kernels(members: Members) -> list[Made]:
    rows = []
    for label, one in members:
        for kernel in one.kernels:
            values = kernel["values"]
            time = values[DURATION]
            facts = (label, kernel["name"], kernel["launches"], None if time is None else time / 1e6)
            millions = [_mega(values[name]) for name in (DRAM_READ, DRAM_WRITTEN, INSTRUCTIONS)]
            rows.append([*facts, *millions, values[L2_HIT_RATE]])
    if not rows:
        return []
    return [
        table(
            "Hardware counters of kernels",
            "All launches of a kernel, over all searches of a run. Times are those of the tool's replays. "
            "The table above has the time of a search without the tool.",
            "run | kernel | launches | ms under the tool | DRAM read, MB | DRAM written, MB | warp "
            "instructions, millions | L2 hits, %",
            rows,
        )
    ]


def _mega(value: float | None) -> float | None:
    return None if value is None else value / 1e6


def _says(several: Sequence[Counters]) -> str:
    read = [one for one in several if one.tool]
    counted = sum(bytes_are(one) == COUNTED for one in several)
    if not read:
        return f"Bytes of {count(counted, 'measurement')} counted; hardware counters were not read"
    tools = " and ".join(sorted({f"{one.tool['name']} {one.tool['version']}" for one in read}))
    rest = f"; bytes of {counted} more counted" if counted else ""
    found = sorted(each for each in map(dram_bytes_an_arc, read) if each is not None)
    figures = f": {span(found)} bytes of DRAM an arc" if found else ""
    return f"Hardware counters of {count(len(read), 'measurement')}, read by {tools}{figures}{rest}"


SECTIONS = (Section(rank=125, make=counter_sections, kinds=("Counters",), says=_says),)
