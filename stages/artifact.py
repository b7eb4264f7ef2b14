"""Base of what stages exchange: dataclasses of named arrays and plain attributes, and what fields may be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeAlias

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray


Json: TypeAlias = Any
"""None, bool, int, float, str, and lists and string-keyed dicts of those."""


class Array(Protocol):
    """Interface of an array field: slices read only what they need."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The length of each axis."""
        ...

    @property
    def dtype(self) -> numpy.dtype[Any]:
        """The type of the elements."""
        ...

    def __len__(self) -> int: ...
    def __getitem__(self, key: Any, /) -> NDArray[Any]: ...
    def __array__(self, dtype: Any = None, /, *, copy: bool | None = None) -> NDArray[Any]: ...


ArrayGroup: TypeAlias = Mapping[str, Array]


@dataclass(frozen=True, kw_only=True)
class Artifact:
    """Base of everything a stage reads or writes."""

    kinds: ClassVar[dict[str, type[Artifact]]] = {}
    implied: ClassVar[dict[str, Any]] = {}
    """Attributes that are neither stored nor part of the id while they have these values, their defaults."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        Artifact.kinds[cls.__name__] = cls
