"""Bytes and instructions of gathers: what their loads ask for, and what hardware counters say."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from gravel.stages.papers.merrill2012.bars import bars
from gravel.stages.sections.section import Made

if TYPE_CHECKING:
    from gravel.stages.artifacts import Probe

DRAM, INSTRUCTIONS = "dram_bytes", "thread_instructions"
"""Of each gather in `counted`, where a tool read its counters: over all levels of the first search."""

Members = Sequence[tuple[str, "Probe"]]
Counts = Mapping[str, float]


def counted_sections(members: Members) -> list[Made]:
    """Draw figures 5b and 5c: by counters where they were read, and else by what loads ask for."""
    gathers = [(label, one) for label, one in members if one.counted and one.measure == "gather"]
    read = [(label, one) for label, one in gathers if all(DRAM in each for each in one.counted.values())]
    return [*_asked(gathers), *_read(read)]


def _asked(members: Members) -> list[Made]:
    if not members:
        return []
    return [
        bars(
            "Bytes that gathers ask for, per arc",
            "Instead of figure 5b: sectors of 32 bytes that the loads request, and row ranges. "
            "They are counted, not measured. Caches serve some of them.",
            _by_method(members, lambda counts, arcs: counts["bytes"] / arcs if arcs else None),
            "bytes per arc",
        ),
        bars(
            "Lanes at work for each byte",
            "In the place of figure 5c: lanes of warps that load neighbours or list offsets, idle ones "
            "included, over the bytes asked for; counted and not measured. Other instructions are left out.",
            _by_method(members, lambda counts, _: counts["slots"] / counts["bytes"]),
            "lane slots per byte",
        ),
    ]


def _read(members: Members) -> list[Made]:
    if not members:
        return []
    tools = sorted({each for _, one in members for each in one.notes if each.startswith("ncu ")})
    by = f"Of the first search, read by {'; '.join(tools)}."
    return [
        bars(
            "DRAM bytes of gathers, per arc",
            f"As figure 5b: bytes read from and written to DRAM. {by}",
            _by_method(members, lambda counts, arcs: counts[DRAM] / arcs if arcs else None),
            "bytes per arc",
        ),
        bars(
            "Thread instructions for each DRAM byte",
            f"As figure 5c. {by}",
            _by_method(
                members,
                lambda counts, _: counts[INSTRUCTIONS] / counts[DRAM] if counts[DRAM] else None,
            ),
            "thread instructions per byte",
        ),
    ]


def _by_method(
    members: Members, value: Callable[[Counts, int], float | None]
) -> dict[str, dict[str, float | None]]:
    found: dict[str, dict[str, float | None]] = {}
    for label, one in members:
        arcs = sum(one.levels["arcs"])
        for method, counts in one.counted.items():
            found.setdefault(method, {})[label] = value(counts, arcs)
    return found
