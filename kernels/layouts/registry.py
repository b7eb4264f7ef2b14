"""The layouts that there are. To add one, list it here.

Other rooms tell `csr`, whose rows are plain columns, from all others, whose rows are streams. They name no
other layout but `varint`, the default of `compress`.
"""

from __future__ import annotations

from gravel.kernels.layouts.blocks import BLOCKS
from gravel.kernels.layouts.csr import CSR
from gravel.kernels.layouts.elias_fano import ELIAS_FANO
from gravel.kernels.layouts.layout import Layout
from gravel.kernels.layouts.varint import VARINT

_ALL: dict[str, Layout] = {layout.name: layout for layout in (CSR, VARINT, BLOCKS, ELIAS_FANO)}


def layouts() -> dict[str, Layout]:
    """Return all layouts by name, columns (`csr`) first."""
    return dict(_ALL)


def encoded_layouts() -> tuple[str, ...]:
    """Name the layouts whose rows are streams of bytes."""
    return tuple(name for name, layout in _ALL.items() if layout.encoded)


def layout_of(name: str) -> Layout:
    """Find a layout by name; raises ValueError for a name that is none."""
    if name not in _ALL:
        raise ValueError(f"{name!r} is no layout; there are {', '.join(_ALL)}")
    return _ALL[name]


def register(layout: Layout) -> None:
    """Add a layout from elsewhere for this process; raises ValueError where its name is taken."""
    if layout.name in _ALL:
        raise ValueError(f"there is a layout {layout.name!r} already")
    from gravel.kernels.cuda.source import add_header

    for file, text in layout.headers.items():
        add_header(f"kernels/layouts/{layout.name}/{file}", text)
    _ALL[layout.name] = layout


def unregister(layout: Layout) -> None:
    """Take away a layout that was added by `register`."""
    from gravel.kernels.cuda.source import remove_header

    for file in layout.headers:
        remove_header(f"kernels/layouts/{layout.name}/{file}")
    del _ALL[layout.name]
