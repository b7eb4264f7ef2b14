"""Results that are cheaper to make again than to read back: their recipe is kept, their data are not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gravel.stages.sizes import Extent

KINDS = frozenset({"EdgeList", "Graph", "Ordering", "Partition", "CompressedGraph"})
"""Kinds of artifact that only stages read. Others (the names of vertices, what was measured or checked) are
looked into by exports, reports and recipes, and are always written."""

MAX_WRITTEN_BYTES = 8 << 20
"""Bytes of a stage's other outputs up to which they are written at once, and the rest may be left out."""


@dataclass(frozen=True)
class NotWritten:
    """What a recipe's record says of outputs that were not written.

    `extents` are their sizes by id. `seconds` is what making them took, from what is stored, and
    `read_seconds` what reading them back would take.
    """

    extents: Mapping[str, Extent]
    seconds: float
    read_seconds: float

    @property
    def bytes(self) -> int:
        """The size of what was not written."""
        return sum(extent.bytes for extent in self.extents.values())

    @property
    def text(self) -> str:
        """Both times, for a reader."""
        return f"not written: made in {_shown(self.seconds)}, read in {_shown(self.read_seconds)}"

    def to_json(self) -> dict[str, Any]:
        """Return it for a record."""
        return {
            "extents": {name: vars(extent) for name, extent in self.extents.items()},
            "seconds": self.seconds,
            "read_seconds": self.read_seconds,
        }

    @staticmethod
    def from_json(body: Mapping[str, Any]) -> NotWritten:
        """Read it back; raises KeyError or TypeError for what is no such part."""
        extents = {name: Extent(**extent) for name, extent in body["extents"].items()}
        return NotWritten(extents, body["seconds"], body["read_seconds"])


def _shown(seconds: float) -> str:
    if seconds < 0.001:
        return "under 1 ms"
    return f"{seconds:.0f} s" if seconds >= 10 else f"{seconds:.2g} s"


@dataclass(frozen=True)
class Terms:
    """When a result is not written, decided before its stage runs, all but the time that this takes.

    `read_rate` is that of the disk in bytes per second, `input_seconds` what it takes to have those inputs
    again that are in memory now; with `always` times do not count.
    """

    read_rate: float
    input_seconds: float
    always: bool = False

    def decide(self, names: Sequence[str], extents: Sequence[Extent], seconds: float) -> NotWritten | None:
        """Return what is not written of a result that took so many seconds; None if all of it is."""
        pairs = tuple(zip(names, extents, strict=True))
        left_out = {name: extent for name, extent in pairs if extent.kind in KINDS}
        rest = sum(extent.bytes for name, extent in pairs if name not in left_out)
        if not left_out or rest > MAX_WRITTEN_BYTES:
            return None
        size = sum(extent.bytes for extent in left_out.values())
        found = NotWritten(left_out, seconds + self.input_seconds, size / self.read_rate)
        return found if self.always or found.seconds < found.read_seconds else None
