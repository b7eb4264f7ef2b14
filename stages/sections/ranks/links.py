"""What messages between ranks take, by their size: times, rates, and what follows for the cost model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gravel.stages.sections.plot import PALETTE, draw_panels

if TYPE_CHECKING:
    from gravel.kernels.partition.machines import LinkCurve, Machine
    from gravel.stages.artifacts import Links

PATTERNS = {
    "pair": "one message",
    "exchange": "a message to each rank",
    "cut": "as much, cut into messages",
    "reduce": "reduction of masks",
}
"""Patterns with sizes, as `gravel.kernels.probes.links` names them."""

BASES = {"peer": "cuda", "nccl": "cuda", "wire": "cpu"}
"""Backend of the searches whose messages a transport carries."""


def link_sections(members: Sequence[tuple[str, Links]]) -> list[dict[str, Any]]:
    """List and draw the links; none where none were measured."""
    if not members:
        return []
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


def _bytes(value: float, _: Any = None) -> str:
    for unit, size in (("MiB", 1 << 20), ("KiB", 1 << 10)):
        if value >= size:
            return f"{value / size:g} {unit}"
    return f"{value:g} B"


def _panels(
    named: Mapping[str, Mapping[str, Any]], height: Callable[[Mapping[str, Any]], float | None]
) -> list[tuple[str, Callable[[Any], None]]]:
    def painter(pattern: str) -> Callable[[Any], None]:
        def paint(axes: Any) -> None:
            for (name, patterns), color in zip(named.items(), PALETTE, strict=False):
                points = [(point["bytes"], height(point)) for point in patterns.get(pattern, ())]
                drawn = [(size, value) for size, value in points if value is not None]
                if drawn:
                    axes.plot(*zip(*drawn, strict=True), "o-", ms=3, lw=1.2, color=color, label=name)
            axes.set_xscale("log", base=2)
            axes.set_yscale("log")
            axes.xaxis.set_major_formatter(_bytes)
            axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")

        return paint

    there = [pattern for pattern in PATTERNS if any(pattern in patterns for patterns in named.values())]
    return [(PATTERNS[pattern], painter(pattern)) for pattern in there]


def _times(members: Sequence[tuple[str, Links]]) -> dict[str, Any]:
    named = _named(members)
    return {
        "kind": "figure",
        "title": "Time of messages by their size",
        "about": "The slowest rank's time, the median of the repetitions. In reductions every rank learns "
        "the masks of all others.",
        "svg": draw_panels(
            _panels(named, lambda point: 1e6 * point["seconds"]),
            columns=2,
            height=2.3,
            across="bytes of a message",
            up="microseconds",
            alt=f"Time of messages over their size, {len(named)} curves a pattern",
        ),
        "data": {name: dict(patterns) for name, patterns in named.items()},
    }


def _rate(point: Mapping[str, Any]) -> float | None:
    return point["carried"] / point["seconds"] / 1e9 if point["seconds"] > 0 and point["carried"] else None


def _rates(members: Sequence[tuple[str, Links]]) -> dict[str, Any]:
    named = _named(members)
    return {
        "kind": "figure",
        "title": "Rate of messages by their size",
        "about": "What a rank receives in a second.",
        "svg": draw_panels(
            _panels(named, _rate),
            columns=2,
            height=2.3,
            across="bytes of a message",
            up="GB/s a rank",
            alt=f"Rate of messages over their size, {len(named)} curves a pattern",
        ),
        "data": {
            name: {pattern: [_rate(point) for point in points] for pattern, points in patterns.items()}
            for name, patterns in named.items()
        },
    }


def _table(members: Sequence[tuple[str, Links]]) -> dict[str, Any]:
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
    return {
        "kind": "table",
        "title": "Links between ranks",
        "about": " ".join(
            [
                "The best size is that of the messages into which as much for every rank is cut fastest.",
                *measured,
                *(f"{note}." for note in sorted(notes)),
            ]
        ),
        "columns": [
            "run",
            "transport",
            "ranks",
            "meeting, us",
            "smallest message, us",
            "message, GB/s",
            "exchange, GB/s a rank",
            "reduction, GB/s a rank",
            "best size, bytes",
        ],
        "rows": rows,
    }
