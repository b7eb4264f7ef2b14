"""The settings that each paper states, for the parameter `paper` of a stage.

A preset fills in what the paper states. A parameter that is given and contradicts it is refused, with both
named; one of several ways that the paper has may be chosen. What the paper does not state stays gravel's, and
is listed too, so that a page can say which settings are whose.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from gravel.stages.stage import declared, has_papers

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


ABSENT = (
    "needs the folders stages/papers and kernels/papers, and this copy of gravel lacks one: install gravel "
    "with both, or leave {} out"
)
"""Why something that serves papers alone is refused, after what it is; in it, what to leave out."""


@cache
def all_presets() -> tuple[Preset, ...]:
    """Return what papers declare as `PRESETS`, by name; nothing where they are not installed."""
    found = (each for presets in declared("papers", "PRESETS", deep=False) for each in presets)
    return tuple(sorted(found, key=lambda each: each.name))


def preset(stage: str, name: str) -> Preset:
    """Return a stage's preset; raises ValueError with the nearest name, or where no paper is installed."""
    if not has_papers():
        raise ValueError(f"paper {name!r} {ABSENT.format('paper')}")
    known = {each.name: each for each in all_presets() if each.stage == stage}
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
        if not setting.values or not applies(setting, result):
            continue
        there = value_of(result, setting.name)
        if there is None:
            _put(result, setting.name, setting.values[0])
        elif setting.strict and not any(is_same(there, value) for value in setting.values):
            stated = " or ".join(map(setting_text, setting.values))
            raise ValueError(
                f"paper {chosen.name} has {setting.name} {stated} ({setting.where}), and "
                f"{setting_text(there)} is asked for; leave {setting.name} out, or leave paper out"
            )
    return result


def applies(setting: Setting, given: Mapping[str, Any]) -> bool:
    """Return whether a setting has a meaning with these parameters."""
    defaults = {"algorithm": "bfs", "backend": "auto", "transport": "auto"}
    there = ((value_of(given, name) or defaults.get(name), values) for name, values in setting.when.items())
    return all(value in values for value, values in there)


def value_of(given: Mapping[str, Any], name: str) -> Any:
    """Return the value of the parameter or the constant of that name; None where it is not given."""
    if not name.startswith(TUNING):
        return given.get(name)
    return (given.get("tuning") or {}).get(name.removeprefix(TUNING))


def _put(given: dict[str, Any], name: str, value: Any) -> None:
    if name.startswith(TUNING):
        given["tuning"][name.removeprefix(TUNING)] = value
    else:
        given[name] = value


def is_same(there: Any, value: Any) -> bool:
    """Return whether what is given is what a paper states; of a mapping, in all that the paper says."""
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
