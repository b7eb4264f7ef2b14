"""Which values of the matrix axes go together: every one but the excluded, and the included."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

__all__ = ["Combinations", "choices", "count_choices"]

Place: TypeAlias = tuple[int, ...]


@dataclass(frozen=True)
class Combinations:
    """Axes with the combinations of their values that occur; `places` holds a position on each of `axes`.

    Axes of different `Combinations` are free of each other.
    """

    axes: tuple[str, ...]
    places: tuple[Place, ...]
    _found: dict[tuple[tuple[str, ...], tuple[str, ...]], dict[Place, list[Place]]] = field(
        default_factory=dict, compare=False, repr=False
    )  # what was asked of `project` before, since a large matrix is asked thousands of times

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

    def project(self, axes: Sequence[str], fixed: Mapping[str, int]) -> list[Place]:
        """Return what occurs on some of the axes, each once, where others are fixed at a position."""
        constant = tuple(axis for axis in self.axes if axis in fixed)
        key = tuple(axes), constant
        if key not in self._found:
            named, where = ([self.axes.index(axis) for axis in each] for each in key)
            found: dict[Place, dict[Place, None]] = {}
            for place in self.places:
                at = tuple(place[position] for position in where)
                found.setdefault(at, {})[tuple(place[position] for position in named)] = None
            self._found[key] = {at: list(several) for at, several in found.items()}
        return self._found[key].get(tuple(fixed[axis] for axis in constant), [])


def choices(
    groups: Iterable[Combinations], axes: Sequence[str], fixed: Mapping[str, int] | None = None
) -> Iterator[Place]:
    """Yield every choice of positions on `axes` that occurs, where others are fixed at a position."""
    order: list[str] = []
    parts: list[list[Place]] = []
    for group in groups:
        named = [axis for axis in axes if axis in group.axes]
        if named:
            order += named
            parts.append(group.project(named, fixed or {}))
    sorting = None if order == list(axes) else [order.index(axis) for axis in axes]
    for several in itertools.product(*parts):
        flat = tuple(itertools.chain.from_iterable(several))
        yield flat if sorting is None else tuple(flat[at] for at in sorting)


def count_choices(groups: Iterable[Combinations], axes: Sequence[str]) -> int:
    """Count what `choices` yields, without making it."""
    total = 1
    for group in groups:
        named = [axis for axis in axes if axis in group.axes]
        if named:
            total *= len(group.project(named, {})) if len(named) < len(group.axes) else len(group.places)
    return total
