"""Messages between ranks by their size: times, rates, and what follows for the cost model."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gravel.stages.artifacts import Links
from gravel.stages.charts import COLORS, Axis, Curves, Line
from gravel.stages.sections.section import Made, Section, figure, table

if TYPE_CHECKING:
    from gravel.kernels.partition.machines import LinkCurve, Machine

PATTERNS = {
    "pair": "one message",
    "exchange": "a message to each rank",
    "cut": "as much, cut into messages",
    "reduce": "reduction of masks",
}
"""Patterns with sizes, as `gravel.kernels.papers.pan2018.links` names them."""

BASES = {"peer": "cuda", "nccl": "cuda", "wire": "cpu"}
"""Backend of the searches whose messages a transport carries."""


def link_sections(members: Sequence[tuple[str, Links]]) -> list[Made]:
    """List and draw the links."""
    return [_times(members), _rates(members), _table(members)]


def link_curves(
    members: Sequence[tuple[str, Links]], backend: str, over: str | None = None
) -> list[LinkCurve]:
    """Give the curves of what carries messages on a backend, over one transport if `over` names it.

    They are those of the first member that has any.
    """
    from gravel.kernels.partition.machines import LinkCurve

    for _, one in members:
        for transport, where in BASES.items():
            found = [curve for curve in one.curves if curve["transport"] == transport]
            if found and where == backend and over in (None, transport):
                return [
                    LinkCurve(
                        transport,
                        curve["pattern"],
                        tuple(point["carried"] for point in curve["points"]),
                        tuple(point["seconds"] for point in curve["points"]),
                    )
                    for curve in found
                ]
    return []


def machine_with(
    members: Sequence[tuple[str, Links]], machine: Machine, backend: str, over: str | None = None
) -> Machine:
    """Put the links that were measured in the place of a machine's own."""
    from gravel.kernels.partition.machines import with_links

    return with_links(machine, link_curves(members, backend, over))


def _named(members: Sequence[tuple[str, Links]]) -> dict[str, dict[str, Any]]:
    """Name each transport of each member, and its curves by pattern."""
    several = len(members) > 1
    found: dict[str, dict[str, Any]] = {}
    for label, one in members:
        for curve in one.curves:
            name = f"{curve['transport']}, {one.ranks} ranks" + (f", {label}" if several else "")
            found.setdefault(name, {})[curve["pattern"]] = curve["points"]
    return found


def _panels(
    named: Mapping[str, Mapping[str, Any]], unit: str, height: Callable[[Mapping[str, Any]], float | None]
) -> list[Curves]:
    def lines(pattern: str) -> Iterator[Line]:
        for place, (name, patterns) in enumerate(named.items()):
            points = [(point["bytes"], height(point)) for point in patterns.get(pattern, ())]
            drawn = [(size, value) for size, value in points if value is not None]
            if drawn and place < COLORS:
                x, y = zip(*drawn, strict=True)
                yield Line(name=name, x=x, y=y, draw="marked", color=place)

    there = [pattern for pattern in PATTERNS if any(pattern in patterns for patterns in named.values())]
    return [
        Curves(
            title=PATTERNS[pattern],
            x=Axis(label="bytes of a message", scale="log2", unit="bytes"),
            y=Axis(label=unit, scale="log10"),
            lines=tuple(lines(pattern)),
        )
        for pattern in there
    ]


def _times(members: Sequence[tuple[str, Links]]) -> Made:
    named = _named(members)
    return figure(
        "Time of messages by their size",
        "Time of the slowest rank, median of the repetitions. In a reduction, every rank "
        "receives the masks of all others.",
        _panels(named, "microseconds", lambda point: 1e6 * point["seconds"]),
        {name: dict(patterns) for name, patterns in named.items()},
        columns=2,
        alt=f"Time of messages over their size, {len(named)} curves a pattern",
        answer=140,
    )


def _rate(point: Mapping[str, Any]) -> float | None:
    return point["carried"] / point["seconds"] / 1e9 if point["seconds"] > 0 and point["carried"] else None


def _rates(members: Sequence[tuple[str, Links]]) -> dict[str, Any]:
    named = _named(members)
    return figure(
        "Rate of messages by their size",
        "Bytes that a rank receives per second.",
        _panels(named, "GB/s a rank", _rate),
        {
            name: {pattern: [_rate(point) for point in points] for pattern, points in patterns.items()}
            for name, patterns in named.items()
        },
        columns=2,
        alt=f"Rate of messages over their size, {len(named)} curves a pattern",
        result=400,
    )


def _table(members: Sequence[tuple[str, Links]]) -> Made:
    rows: list[list[Any]] = []
    for label, one in members:
        for transport in dict.fromkeys(curve["transport"] for curve in one.curves):
            curves = {c["pattern"]: c["points"] for c in one.curves if c["transport"] == transport}
            cut = curves.get("cut", ())
            best = min(cut, key=lambda point: point["seconds"]) if cut else None
            rows.append(
                [
                    label,
                    transport,
                    one.ranks,
                    1e6 * curves["meet"][0]["seconds"] if "meet" in curves else None,
                    1e6 * curves["pair"][0]["seconds"] if "pair" in curves else None,
                    *(
                        max((_rate(point) or 0.0 for point in curves.get(pattern, ())), default=None)
                        for pattern in ("pair", "exchange", "reduce")
                    ),
                    best["bytes"] if best else None,
                ]
            )
    notes = {note.removesuffix(".") for _, one in members for note in one.notes}
    measured = sorted({f"Measured on {one.hardware}." for _, one in members})
    return table(
        "Links between ranks",
        " ".join(
            [
                "The best size is that with which the same total amount arrives fastest.",
                *measured,
                *(f"{note}." for note in sorted(notes)),
            ]
        ),
        "run | transport | ranks | meeting, us | smallest message, us | message, GB/s | exchange,"
        " GB/s a rank | reduction, GB/s a rank | best size, bytes",
        rows,
        result=290,
    )


def _says(several: Sequence[Links]) -> str:
    return f"Messages between {several[0].ranks} ranks timed by size; searches were not measured"


SECTIONS = (Section(rank=86, make=link_sections, kinds=("Links",), says=_says),)
