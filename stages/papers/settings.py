"""Settings of a search side by side: those of its paper, and gravel's own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from gravel.stages.presets import applies, is_same, preset, setting_text, value_of
from gravel.stages.sections.section import Made, Runs, Section, table


def preset_sections(members: Runs) -> list[Made]:
    """List the settings of runs that name a paper, alike runs together; none where none does."""
    rows: dict[tuple[str, ...], list[str]] = {}
    for label, one in members:
        paper = one.asked.get("paper")
        if paper is None:
            continue
        options = {**one.asked.get("tuning", {}), **one.ran.get("options", {})}
        used = {**one.asked, "algorithm": one.algorithm, "tuning": options, "backend": one.backend}
        for row in whose(paper, used):
            rows.setdefault((paper, *row), []).append(label)
    if not rows:
        return []
    return [
        table(
            "Settings: the paper's and gravel's",
            "For runs with `paper`: what the paper states, what was used, and where it comes "
            "from. Settings that the paper does not state are gravel's, chosen on current GPUs.",
            "paper | setting | the paper's | in force | whose | runs",
            [[*row, ", ".join(labels)] for row, labels in rows.items()],
        )
    ]


def whose(name: str, used: Mapping[str, Any]) -> Iterator[tuple[str, str, str, str]]:
    """Yield each setting of a traversal's preset: its name, the paper's, what was used, and whose that is.

    `used` are parameters by name, those of `tuning` with all constants in force.
    """
    for setting in preset("traverse", name).settings:
        if not applies(setting, used):
            continue
        there = value_of(used, setting.name)
        stated = " or ".join(map(setting_text, setting.values)) or "not stated"
        mine = any(is_same(there, value) for value in setting.values)
        where = f" ({setting.where})" if setting.where else ""
        yield setting.name, f"{stated}{where}", setting_text(there), "the paper's" if mine else "gravel's"


SECTIONS = (Section(rank=111, make=preset_sections, needs=("measured",)),)
