"""What fits where: the placements, what each takes, and the choice among them.

| placement | rows | beside them on the device |
|---|---|---|
| `device` | device memory | all that the search makes |
| `split` | pinned host memory; the hottest also on the device | first neighbours of every vertex |
| `pinned` | pinned host memory | offsets, labels and bitmaps; of components first neighbours |
| `streamed` | where they are stored; a few buffers in pinned memory | the same, and as many buffers |
| `host` | host memory of a CPU search | - |

Only numbers are looked at here, so that a run is refused before it reads anything.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

PLACEMENTS = ("device", "split", "pinned", "streamed")
"""The names that may be asked for, by how fast a search is."""

WORDS = {
    "device": "on the device",
    "split": "pinned in host memory",
    "pinned": "pinned in host memory",
    "streamed": "streamed",
    "host": "in host memory",
}

HEADS = (8, 4)
"""First neighbours that `split` keeps of every vertex, tried in this order (docs/tuning.md)."""

HEAD_SHARE = 0.5
"""Part of what is free on the device that first neighbours may take; the rest is for the longest rows."""

BUFFERS = 3
"""Buffers of a streamed search: one that is read into, one that is copied, one that is searched."""

BUFFER_BYTES = 64 << 20
"""Of each, at most."""

LEAST_BUFFER = 1 << 12
"""Of each, at least: a word of lines of 32-bit columns (kernels/bfs/cuda/host_rows.cuh)."""


NOTHING_LEFT = "of a split nothing is left for host memory"


class DoesNotFit(ValueError):
    """A placement does not fit its limits; `hint` says what would."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


@dataclass(frozen=True)
class Sizes:
    """What decides where a graph fits, in bytes.

    `rows` are the columns, or the stream of encoded rows; `on_device` is what a search of rows on the device
    takes, rows included; `beside` what a search of rows elsewhere takes on the device, `head` what one
    first neighbour of every vertex takes there, and `link` what pinned rows are copied into to be read.
    `pinned_heads` is how many first neighbours a search of pinned rows has on the device where they fit. Of
    `split`, `heads` are the numbers of first neighbours to try, and `kept` is the most bytes of the longest
    rows that the device can use, None for all rows.
    """

    rows: int
    on_device: int
    beside: int
    head: int
    link: int = 0
    pinned_heads: int = 0
    heads: Sequence[int] = HEADS
    kept: int | None = None


@dataclass(frozen=True)
class Limits:
    """Bytes that a search may take on the device and rows in host memory; None without limit."""

    device: int | None = None
    host: int | None = None


@dataclass(frozen=True)
class Plan:
    """A placement with what it takes.

    `heads` are first neighbours of every vertex that the device has of rows elsewhere, and `keep` is how many
    bytes of the longest rows it has of a `split` beside them.
    """

    placement: str
    device_bytes: int
    host_bytes: int  # of rows and buffers
    reason: str  # why it was chosen
    heads: int = 0
    keep: int = 0
    buffer_bytes: int = 0

    def described(self) -> str:
        """Say where the rows lie and why."""
        more = ""
        if self.placement == "split":
            more = f", with {self.heads} first neighbours of every vertex"
            more += f" and up to {size_text(self.keep)} of the longest rows" if self.keep else ""
            more += " on the device"
        elif self.placement == "pinned" and self.heads:
            more = f", with {self.heads} first neighbours of every vertex on the device"
        elif self.placement == "streamed":
            more = f", {size_text(self.buffer_bytes)} at a time"
        return f"rows {WORDS[self.placement]}{more}: {self.reason}"


def on_gpu(sizes: Sizes, limits: Limits, asked: str = "auto", *, among: Sequence[str] | None = None) -> Plan:
    """Choose a placement for a search on a GPU, or check the one that is asked for.

    `auto` takes the first of `among`, in the order of `PLACEMENTS`, that fits. `split` is `device` where the
    rows fit there with all that a search takes: nothing is left to be pinned. Raises `DoesNotFit` with the
    numbers where no placement fits, or not the one that is asked for.
    """
    known = [name for name in PLACEMENTS if among is None or name in among]
    plans = {name: _plan(name, sizes, limits) for name in PLACEMENTS}
    if asked == "split" and _fits(plans["device"], limits):
        return replace(plans["device"], reason=NOTHING_LEFT)
    if asked != "auto":
        if _fits(plans[asked], limits):
            return replace(plans[asked], reason="asked for")
        fitting = [name for name in known if _fits(plans[name], limits)]
        raise DoesNotFit(
            f"placement {asked!r} needs {_needs(plans[asked])}; {_allowed(limits)}",
            _cure(plans[asked], limits, fitting),
        )
    for name in known:
        if _fits(plans[name], limits):
            return plans[name]
    smallest = plans[known[-1]]
    raise DoesNotFit(
        f"no placement fits: {known[-1]}, the least, needs {_needs(smallest)}; {_allowed(limits)}",
        _cure(smallest, limits, []),
    )


def on_host(sizes: Sizes, limits: Limits, asked: str = "auto") -> Plan:
    """Choose for a search on the CPU: rows in memory, or streamed where they exceed their limit.

    Other placements are a GPU's; here they mean `auto`. Raises `DoesNotFit` where not even buffers fit.
    """
    if asked != "streamed" and (limits.host is None or sizes.rows <= limits.host):
        return Plan("host", 0, sizes.rows, "the rows fit host memory")
    streamed = replace(_plan("streamed", sizes, Limits(None, limits.host)), device_bytes=0)
    if not _fits(streamed, limits):
        raise DoesNotFit(
            f"streaming needs {_needs(streamed)}; {_allowed(limits)}", _cure(streamed, limits, [])
        )
    return replace(streamed, reason="asked for") if asked == "streamed" else streamed


def _plan(name: str, sizes: Sizes, limits: Limits) -> Plan:
    if name == "device":
        return Plan(name, sizes.on_device, 0, "all fits the device")
    if name == "pinned":
        reason = "the device has no room for more than offsets, labels and bitmaps"
        device, heads = sizes.beside + sizes.link, sizes.pinned_heads
        if limits.device is not None and device + heads * sizes.head > limits.device:
            heads = 0
        return Plan(name, device + heads * sizes.head, sizes.rows, reason, heads)
    if name == "split":
        heads, keep = _shares(sizes, limits)
        device = sizes.beside + sizes.link + heads * sizes.head + keep
        reason = "the rows do not fit the device"
        return Plan(name, device, sizes.rows, reason, heads, keep)
    buffer = BUFFER_BYTES
    if limits.host is not None:
        buffer = min(buffer, limits.host // BUFFERS)
    if limits.device is not None:
        buffer = min(buffer, (limits.device - sizes.beside) // BUFFERS)
    buffer = max(LEAST_BUFFER, buffer // LEAST_BUFFER * LEAST_BUFFER)
    taken = BUFFERS * buffer
    # On the device no buffer is larger than the rows.
    there = BUFFERS * min(buffer, max(LEAST_BUFFER, sizes.rows))
    reason = "the rows exceed host memory"
    return Plan(name, sizes.beside + there, taken, reason, buffer_bytes=buffer)


def _shares(sizes: Sizes, limits: Limits) -> tuple[int, int]:
    """First neighbours and bytes of rows that go on the device with the rest pinned."""
    most = sizes.rows if sizes.kept is None else sizes.kept
    if limits.device is None:
        return sizes.heads[0], most
    free = max(0, limits.device - sizes.beside - sizes.link)
    fitting = (count for count in sizes.heads if count * sizes.head <= free * HEAD_SHARE)
    heads = next(fitting, sizes.heads[-1])
    return heads, min(most, max(0, free - heads * sizes.head))


def _fits(plan: Plan, limits: Limits) -> bool:
    return (limits.device is None or plan.device_bytes <= limits.device) and (
        limits.host is None or plan.host_bytes <= limits.host
    )


def _needs(plan: Plan) -> str:
    device = f"{size_text(plan.device_bytes)} of device memory"
    host = f"{size_text(plan.host_bytes)} of host memory for rows"
    return " and ".join([device] * (plan.device_bytes > 0) + [host] * (plan.host_bytes > 0)) or "nothing"


def _allowed(limits: Limits) -> str:
    parts = [
        f"{size_text(limit)} of {name} memory"
        for name, limit in (("device", limits.device), ("host", limits.host))
        if limit is not None
    ]
    return f"it may take {' and '.join(parts)}"


def _cure(plan: Plan, limits: Limits, fitting: list[str]) -> str:
    cures = [f"placement: {name}" for name in fitting]
    if limits.device is not None and plan.device_bytes > limits.device:
        cures.append(f"device_memory of at least {size_text(plan.device_bytes)}")
    if limits.host is not None and plan.host_bytes > limits.host:
        cures.append(f"host_memory of at least {size_text(plan.host_bytes)}")
    return f"what would fit: {', or '.join(cures)}"


def size_text(size: int) -> str:
    """Write a size with three digits and a decimal unit, as parameters take it."""
    value = float(size)
    for unit in ("B", "kB", "MB"):
        if value < 1000:
            return f"{value:.3g} {unit}"
        value /= 1000
    return f"{value:.3g} GB"
