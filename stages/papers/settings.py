"""Settings of papers without code of their own, and the table of settings: the paper's and gravel's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from gravel.stages.presets import TUNING, Preset, Setting, applies, is_same, preset, setting_text, value_of
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
        used["unread"] = set(one.asked.get("tuning", {})) - set(one.ran.get("options", options))
        for row in whose(paper, used):
            rows.setdefault((paper, *row), []).append(label)
    if not rows:
        return []
    return [
        table(
            "Settings: the paper's and gravel's",
            "For runs with `paper`: what the paper states, what was used, and where it comes "
            "from. Settings that the paper does not state are gravel's, chosen on current GPUs. Some are not "
            "used on the device that searched, or between its ranks.",
            "paper | setting | the paper's | in force | whose | runs",
            [[*row, ", ".join(labels)] for row, labels in rows.items()],
        )
    ]


def whose(name: str, used: Mapping[str, Any]) -> Iterator[tuple[str, str, str, str]]:
    """Yield each setting of a traversal's preset: its name, the paper's, what was used, and whose that is.

    `used` are parameters by name, those of `tuning` with all constants; `unread` are those without effect.
    """
    for setting in preset("traverse", name).settings:
        if not applies(setting, used):
            continue
        there = value_of(used, setting.name)
        stated = " or ".join(map(setting_text, setting.values)) or "not stated"
        where = f" ({setting.where})" if setting.where else ""
        if setting.name.removeprefix(TUNING) in used.get("unread", ()):
            yield setting.name, f"{stated}{where}", "not used", ""
            continue
        mine = any(is_same(there, value) for value in setting.values)
        yield setting.name, f"{stated}{where}", setting_text(there), "the paper's" if mine else "gravel's"


_BFS, _COMPONENTS = {"algorithm": ("bfs",)}, {"algorithm": ("components",)}
_PLAIN, _PACKED = {"strategy": ("adaptive",)}, {"strategy": ("top_down",)}

PRESETS = (
    Preset(
        "moschou",
        "traverse",
        "Moschou, Adaptive BFS & Afforest",
        (
            Setting("strategy", ("adaptive", "top_down"), "sections 2.2 and 2.3", _BFS),
            Setting("strategy", ("afforest_single_pass", "afforest_multi_pass"), "section 2.4", _COMPONENTS),
            Setting("tuning.decoder", ("one_lane",), "section 2.3: compressed rows", _BFS | _PACKED),
            Setting("backend", ("cuda",), "section 2.3", _BFS | _PACKED),
            Setting("tuning.prune", (True, False), "section 2.4", _COMPONENTS),
            Setting("tuning.giant", ("first",), "section 2.4: that of vertex 0", _COMPONENTS),
            Setting("placement", ("pinned",), "section 3.1", {"backend": ("cuda",)}, strict=False),
            Setting("tuning.threshold", when=_BFS | _PLAIN),
            Setting("tuning.block", when=_BFS),
        ),
    ),
    Preset(
        "moschou",
        "compress",
        "Moschou, Adaptive BFS & Afforest",
        (Setting("codec", ("varint",), "section 2.1"),),
    ),
)

SECTIONS = (Section(rank=111, make=preset_sections, needs=("measured",)),)
