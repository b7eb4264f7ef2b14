"""Large counts as they are shown."""

from __future__ import annotations


def format_count(count: float) -> str:
    """Write a count with three digits: 950, 12.3k, 4.56M."""
    for limit, suffix in ((1e3, ""), (1e6, "k"), (1e9, "M"), (1e12, "G")):
        if abs(count) < limit * 0.9995:
            scaled = count / (limit / 1e3)
            return f"{scaled:.3g}{suffix}" if suffix else f"{count:.0f}"
    return f"{count / 1e12:.3g}T"
