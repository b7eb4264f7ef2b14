"""Results of a long stage so far, kept so that a later run of the same recipe goes on from there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

if TYPE_CHECKING:
    from numpy.typing import NDArray

Arrays: TypeAlias = "Mapping[str, NDArray[Any]]"


class Checkpoint(Protocol):
    """The place of one recipe."""

    def load(self) -> Arrays | None:
        """Return what was saved last, or None; what is damaged, or another stage's, counts as not saved."""
        ...

    def drop(self, reason: str) -> None:
        """Remove what was saved last; `reason` says what is wrong with it, after its name."""
        ...

    def save(self, arrays: Callable[[], Arrays]) -> None:
        """Keep these arrays in the place of those before, unless the last ones are recent.

        `arrays` is called only if they are kept.
        """
        ...


class NoCheckpoint:
    """A checkpoint outside a workflow, where nothing is kept."""

    def load(self) -> None:
        """Do nothing: nothing is kept."""

    def drop(self, reason: str) -> None:
        """Do nothing: nothing is kept."""

    def save(self, arrays: Callable[[], Arrays]) -> None:
        """Keep nothing."""


def differs(found: Arrays, expected: Arrays) -> str | None:
    """Say which of the arrays has another name, dtype or shape than is expected; None if none has."""
    for name in sorted({*found, *expected}):
        forms = [(each[name].dtype, each[name].shape) for each in (found, expected) if name in each]
        if len(forms) != 2 or forms[0] != forms[1]:
            return name
    return None
