"""What a traversal executed, for its measurement: the function, the backend and the constants in force."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, is_dataclass
from typing import Any

from gravel.kernels.strategy import Ran, strategies_in


def executed(search: Any, backend: str) -> dict[str, Any]:
    """Return `function`, `backend` and `options` of a prepared search, as `Measurement.ran` has them.

    A search that no strategy made, such as one over ranks, is named by its class.
    """
    ran: Ran | None = getattr(search, "ran", None)
    if ran is None:
        kind = type(search)
        ran = Ran(f"{kind.__module__}:{kind.__qualname__}", {})
    return told(ran, backend)


def told(ran: Ran, backend: str) -> dict[str, Any]:
    """Return the record of what ran."""
    return {"function": ran.function, "backend": backend, "options": _plain(ran.options)}


def with_options(search: Any, options: Any) -> Any:
    """Say which options a search over ranks is made with; returns the search."""
    kind = type(search)
    search.ran = Ran(f"{kind.__module__}:{kind.__qualname__}", asdict(options))
    return search


def components_ran(package: str, name: str, backend: str, constants: Mapping[str, Any]) -> Ran:
    """Name what finds components, with its constants."""
    strategy = strategies_in(package)[name]
    return strategy.ran(backend, constants)


def _plain(options: Mapping[str, Any]) -> dict[str, Any]:
    """Leave what JSON has; a constant of another kind is told as text."""
    plain: dict[str, Any] = {}
    for name, value in options.items():
        if is_dataclass(value) and not isinstance(value, type):
            plain[name] = asdict(value)
        elif value is None or isinstance(value, bool | int | float | str):
            plain[name] = value
        else:
            plain[name] = value.item() if hasattr(value, "item") else str(value)
    return plain
