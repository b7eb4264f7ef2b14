"""What each paper states of its own settings, for the parameter `paper` of a stage.

A preset fills in what the paper states. A parameter that is given and contradicts it is refused, with both
named; one of several ways that the paper has may be chosen. What the paper does not state stays gravel's, and
is listed too, so that a page can say which settings are whose.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

TUNING = "tuning."
"""Before the name of a strategy's constant."""


@dataclass(frozen=True)
class Setting:
    """A setting by the parameter that has it, such as `strategy` or `tuning.claim`.

    `values` are the paper's, the first of them taken where none is given; none where it states nothing.
    `when` names other parameters and the values with which it has a meaning. One that is not `strict` may be
    given otherwise, such as the number of sources.
    """

    name: str
    values: tuple[Any, ...] = ()
    where: str = ""  # in the paper
    when: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    strict: bool = True


@dataclass(frozen=True)
class Preset:
    """The settings of a paper for one stage."""

    name: str
    stage: str
    paper: str
    settings: tuple[Setting, ...]


_BFS, _COMPONENTS = {"algorithm": ("bfs",)}, {"algorithm": ("components",)}
_PLAIN, _PACKED = {"strategy": ("adaptive",)}, {"strategy": ("top_down",)}
_FACTORS = tuple(
    setting
    for name in ("nd", "dn", "dd")
    for setting in (
        Setting(f"tuning.{name}_backward", (0.5,), "section VI-B: near the best for all three"),
        Setting(f"tuning.{name}_forward", (0.0,), "section VI-B: no way back on RMAT"),
    )
)

PRESETS: tuple[Preset, ...] = (
    Preset(
        "merrill2012",
        "traverse",
        "Merrill, Garland, Grimshaw, PPoPP 2012",
        (
            Setting("strategy", ("hybrid", "two_phase", "contract_expand", "expand_contract"), "section 5"),
            Setting("tuning.claim", ("racing",), "section 4.2: no atomic operations"),
            Setting("tuning.warp_culling", (True,), "section 4.2"),
            Setting("tuning.history_culling", (True,), "section 4.2"),
            Setting("tuning.gather", ("scan_warp_cta",), "section 4.1"),
            Setting("tuning.tiles", ("runs", "stealing"), "section 4.1: both ways of scheduling"),
            Setting("tuning.crowd", (1.0,), "section 5.4: resident threads", {"strategy": ("hybrid",)}),
            Setting("sources", ({"random": 100},), "section 5.5", strict=False),
            Setting("tuning.block"),
            Setting("tuning.blocks"),
            Setting("tuning.least"),
        ),
    ),
    Preset(
        "topc2015",
        "traverse",
        "Merrill, Garland, Grimshaw, TOPC 2015",
        (
            Setting("strategy", ("quadratic", "linear_queue"), "algorithms 2 and 3"),
            Setting("tuning.mapping", ("thread",), "algorithm 2", {"strategy": ("quadratic",)}),
            Setting("sources", ({"random": 100},), "as PPoPP 2012", strict=False),
            Setting("tuning.block"),
        ),
    ),
    Preset(
        "flexbfs",
        "traverse",
        "Liu et al., FlexBFS, PPoPP 2012 (poster)",
        (
            Setting("strategy", ("flex",), "section 2"),
            Setting(
                "tuning.configuration", ("config3", "config2", "config1", "baseline", "fixed"), "table 1"
            ),
            Setting("tuning.fixed_threads"),
            Setting("tuning.headroom"),
            Setting("tuning.shrink"),
            Setting("tuning.hub_degree"),
            Setting("tuning.hub_share"),
            Setting("tuning.block"),
        ),
    ),
    Preset(
        "pan2018",
        "traverse",
        "Pan, Pearce, Owens, IPDPS 2018",
        (
            Setting("tuning.direction_optimized", (True, False), "DO, section VI-B"),
            Setting("tuning.local_all_to_all", (False, True), "L, section VI-B"),
            Setting("tuning.uniquify", (False, True), "U, section VI-B"),
            Setting("tuning.reduction", ("blocking", "overlapped"), "BR and IR, section VI-B"),
            Setting(
                "tuning.reduction_algorithm",
                ("tree", "recursive_doubling"),
                "section V-A: tree-like; or as MPI_Allreduce",
                {"transport": ("auto", "peer")},
            ),
            Setting("tuning.changed_only", (False,), "section V-A: whole masks are reduced"),
            Setting(
                "tuning.message_bytes",
                (4 << 20,),
                "section VI-A1: about 4 MB for data of more than 2 MB",
                strict=False,
            ),
            Setting("tuning.nn_directed", (False,), "section IV-B: nn is visited forward alone"),
            *_FACTORS,
            Setting("sources", ({"random": 140},), "section VI-A3", strict=False),
            Setting("tuning.groups"),
            Setting("tuning.predecessors"),
        ),
    ),
    Preset(
        "pan2018",
        "partition",
        "Pan, Pearce, Owens, IPDPS 2018",
        (
            Setting("scheme", ("delegates",), "section III-A"),
            Setting("threshold", (64,), "section VI-B; other graphs have others", strict=False),
        ),
    ),
    Preset(
        "moschou2024",
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
        "moschou2024",
        "compress",
        "Moschou, Adaptive BFS & Afforest",
        (Setting("codec", ("varint",), "section 2.1"),),
    ),
)


def preset(stage: str, name: str) -> Preset:
    """Return a stage's preset; raises ValueError with the nearest name."""
    known = {each.name: each for each in PRESETS if each.stage == stage}
    if name not in known:
        near = difflib.get_close_matches(str(name), known, 1)
        meant = f" (did you mean {near[0]!r}?)" if near else ""
        raise ValueError(f"there is no preset {name!r} of a paper{meant}; there are {', '.join(known)}")
    return known[name]


def filled(stage: str, given: Any) -> Any:
    """Add a preset's settings to parameters as a workflow gives them; without `paper` they stay as they are.

    Raises ValueError for one that contradicts the paper, naming both.
    """
    if not isinstance(given, Mapping) or given.get("paper") is None:
        return given
    chosen = preset(stage, given["paper"])
    result = {**given, **({"tuning": dict(given.get("tuning") or {})} if stage == "traverse" else {})}
    for setting in chosen.settings:
        if not setting.values or not _applies(setting, result):
            continue
        there = _value(result, setting.name)
        if there is None:
            _put(result, setting.name, setting.values[0])
        elif setting.strict and not any(_same(there, value) for value in setting.values):
            stated = " or ".join(map(setting_text, setting.values))
            raise ValueError(
                f"paper {chosen.name} has {setting.name} {stated} ({setting.where}), and "
                f"{setting_text(there)} is asked for; leave {setting.name} out, or leave paper out"
            )
    return result


def whose(name: str, used: Mapping[str, Any]) -> Iterator[tuple[str, str, str, str]]:
    """Yield each setting of a traversal's preset: its name, the paper's, what was used, and whose that is.

    `used` are parameters by name, those of `tuning` with all constants in force.
    """
    for setting in preset("traverse", name).settings:
        if not _applies(setting, used):
            continue
        there = _value(used, setting.name)
        stated = " or ".join(map(setting_text, setting.values)) or "not stated"
        mine = any(_same(there, value) for value in setting.values)
        where = f" ({setting.where})" if setting.where else ""
        yield setting.name, f"{stated}{where}", setting_text(there), "the paper's" if mine else "gravel's"


def _applies(setting: Setting, given: Mapping[str, Any]) -> bool:
    defaults = {"algorithm": "bfs", "backend": "auto", "transport": "auto"}
    return all((given.get(name) or defaults.get(name)) in values for name, values in setting.when.items())


def _value(given: Mapping[str, Any], name: str) -> Any:
    if not name.startswith(TUNING):
        return given.get(name)
    return (given.get("tuning") or {}).get(name.removeprefix(TUNING))


def _put(given: dict[str, Any], name: str, value: Any) -> None:
    if name.startswith(TUNING):
        given["tuning"][name.removeprefix(TUNING)] = value
    else:
        given[name] = value


def _same(there: Any, value: Any) -> bool:
    if isinstance(value, Mapping):
        return isinstance(there, Mapping) and all(there.get(name) == each for name, each in value.items())
    return bool(there == value) and isinstance(there, bool) == isinstance(value, bool)


def setting_text(value: Any) -> str:
    """Write a value as a page shows it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {each}" for name, each in value.items())
    return "chosen by the device or graph" if value is None else str(value)
