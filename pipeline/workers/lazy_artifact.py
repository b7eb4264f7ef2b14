"""An artifact whose large arrays come from elsewhere, each field when it is first asked for."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection
from dataclasses import fields
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gravel.stages.artifact import Artifact

Fetch = Callable[[str], Any]
"""Brings the value of a field, by its name."""


def lazy_artifact(plain: Artifact, names: Collection[str], fetch: Fetch) -> Artifact:
    """Return `plain` with `fetch(name)` as the value of each of these fields, once that is read."""
    if not names:
        return plain
    kind: Any = type(plain)
    artifact: Artifact = object.__new__(_lazy_kind(kind, frozenset(names)))
    values = {each.name: getattr(plain, each.name) for each in fields(plain) if each.name not in names}
    artifact.__dict__.update(values, _fetch=fetch, _lock=threading.RLock())
    return artifact


class _Lazy:
    """What such artifacts have beside their kind."""

    def __init_subclass__(cls) -> None:
        """Keep the class from being registered: it is not a kind of its own."""

    def __reduce__(self) -> tuple[Any, ...]:
        kind: Any = type(self).__mro__[2]
        return _restore, (kind, {each.name: getattr(self, each.name) for each in fields(kind)})


class _Field:
    """A field that is not there yet; once it is, Python finds it in the instance first."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, artifact: Any, owner: type) -> Any:
        if artifact is None:
            raise AttributeError(self._name)
        known = artifact.__dict__
        with known["_lock"]:
            if self._name not in known:
                known[self._name] = known["_fetch"](self._name)
            return known[self._name]


@cache
def _lazy_kind(kind: Any, names: frozenset[str]) -> type[Any]:
    return type(kind.__name__, (_Lazy, kind), {name: _Field(name) for name in names})


def _restore(kind: type[Artifact], values: dict[str, Any]) -> Artifact:
    return kind(**values)
