"""What searches over ranks tell of their directions, as far as the CPU, NCCL and peer devices agree."""

from collections.abc import Iterable
from typing import Any


def without_nn(backward: Iterable[Iterable[str]]) -> list[list[str]]:
    """Leave out nn, which only devices that read each other's memory visit backward."""
    return [[name for name in each if name != "nn"] for each in backward]


def same_levels(mine: dict[str, Any], theirs: dict[str, Any]) -> bool:
    """Compare what two measurements tell of the levels of a search."""
    return (mine["normal"], mine["delegates"], without_nn(mine["backward"])) == (
        theirs["normal"],
        theirs["delegates"],
        without_nn(theirs["backward"]),
    )
