"""Which values of the matrix axes go together: every one but the excluded, and the included."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

__all__ = ["Combinations", "choices"]


@dataclass(frozen=True)
class Combinations:
    """Axes with the combinations of their values that occur; `places` holds a position on each of `axes`.

    Axes of different `Combinations` are free of each other.
    """

    axes: tuple[str, ...]
    places: tuple[tuple[int, ...], ...]

    def kept(self, chosen: Mapping[str, Collection[int]]) -> Combinations:
        """Keep the combinations whose position on each axis is among those chosen."""
        allowed = [set(chosen[axis]) for axis in self.axes]
        return Combinations(
            self.axes,
            tuple(
                place
                for place in self.places
                if all(at in positions for at, positions in zip(place, allowed, strict=True))
            ),
        )

    def project(self, axes: Sequence[str], fixed: Mapping[str, int]) -> list[tuple[int, ...]]:
        """Return what occurs on some of the axes, each once, where others are fixed at a position."""
        named = [self.axes.index(axis) for axis in axes]
        held = [(at, fixed[axis]) for at, axis in enumerate(self.axes) if axis in fixed]
        return list(
            dict.fromkeys(
                tuple(place[at] for at in named)
                for place in self.places
                if all(place[at] == position for at, position in held)
            )
        )


def choices(
    groups: Iterable[Combinations], axes: Sequence[str], fixed: Mapping[str, int] | None = None
) -> Iterator[tuple[int, ...]]:
    """Yield every choice of positions on `axes` that occurs, where others are fixed at a position."""
    order: list[str] = []
    parts: list[list[tuple[int, ...]]] = []
    for group in groups:
        named = [axis for axis in axes if axis in group.axes]
        if named:
            order += named
            parts.append(group.project(named, fixed or {}))
    sorting = None if order == list(axes) else [order.index(axis) for axis in axes]
    for several in itertools.product(*parts):
        flat = tuple(itertools.chain.from_iterable(several))
        yield flat if sorting is None else tuple(flat[at] for at in sorting)
