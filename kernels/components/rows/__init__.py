"""Connected components of rows as they are stored: each is decoded where it is read, and kept nowhere.

Rows come in any of `gravel.kernels.layouts.LAYOUTS`, in device memory or in pinned memory that the device
reads, or with a stream that is read part by part (`streamed`). The labels are those of
`gravel.kernels.components`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from gravel.kernels.strategy import ENCODED, backend_of, strategies_in

if TYPE_CHECKING:
    from gravel.kernels.components import ComponentsResult
    from gravel.kernels.layouts import EncodedRows

__all__ = ["RowComponents", "components", "prepare"]


class RowComponents(Protocol):
    """Rows made ready, whose components may be found any number of times."""

    prepare_milliseconds: float

    def run(self) -> ComponentsResult:
        """Find the components; the labels are valid until the next call."""
        ...


def prepare(
    rows: EncodedRows, *, symmetric: bool, strategy: str = "afforest", **tuning: Any
) -> RowComponents:
    """Make encoded rows ready.

    Parameters
    ----------
    rows : a square graph in one of `gravel.kernels.layouts.LAYOUTS`; labels live where its arrays do.
    symmetric : whether every arc has its reverse.
    strategy : `afforest`, or `streamed`, whose stream is any array of bytes that can be sliced.
    tuning : as the strategy's function takes it.

    Raises ValueError for a name that is none, for a value that a parameter cannot have, and on the CPU for
    bytes that are no rows.

    """
    on_device = any(backend_of(array) == "cuda" for array in rows.arrays.values())
    known = strategies_in("gravel.kernels.components", ENCODED)
    if strategy not in known:
        raise ValueError(f"strategy {strategy!r} does not read encoded rows; there are {', '.join(known)}")
    make = known[strategy].load("cuda" if on_device else "cpu")
    search: RowComponents = make(rows, symmetric=symmetric, **tuning)
    return search


def components(rows: EncodedRows, *, symmetric: bool, **tuning: Any) -> ComponentsResult:
    """Label every vertex with the smallest of its component, once; see `prepare`."""
    return prepare(rows, symmetric=symmetric, **tuning).run()
