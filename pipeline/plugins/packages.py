"""Stages of installed packages, by the entry point `gravel.stages`: `NAME = "module:STAGE"`.

Nothing of a package is imported before a workflow names its stage, and a broken one harms nobody else.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gravel.pipeline.core.errors import RequestError
from gravel.stages import artifacts
from gravel.stages.artifact import Artifact
from gravel.stages.stage import Origin, Parameters, Slot, Stage, all_stages

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


RESERVED = {
    "stage": "the stage that this entry runs",
    "input": "the entry that feeds the stage's one slot, or its slot `input`",
    "inputs": "a list for a slot that takes several, or a mapping slot -> entry",
    "keep": "true, the default: the result is stored; false: it stays in memory and is not stored",
    "repeat": "how often a stage that measures does so; every repetition is kept",
    "time_limit": "how long a run may take, such as `10 min`; then it is stopped and counts as failed",
    "over": "`matrix`, or a list of axes: gather their combinations in one run; `none`: one run each",
    "about": "what the entry is for",
}
"""Keys of an entry that are not parameters of its stage."""

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")

KINDS = tuple(name for name, kind in Artifact.kinds.items() if kind.__module__ == artifacts.__name__)
"""The kinds of artifact that there are; a cache is read without the plugins that filled it."""


def faults_of(stage: Any) -> list[str]:
    """Say what is wrong with the declarations of a `Stage`, in plain sentences; empty if nothing is.

    Dataclasses do not check types, so nothing is taken for granted.
    """
    if not isinstance(stage.name, str) or not NAME.fullmatch(stage.name):
        return [f"the name {stage.name!r} has other characters than letters, digits, _ and -"]
    faults = []
    if type(stage.version) is not int or stage.version < 1:
        faults.append(f"`version` is {stage.version!r}, and a whole number from 1 on is expected")
    if not isinstance(stage.about, str) or not stage.about.strip():
        faults.append("`about` is empty, and one sentence is expected")
    if not (isinstance(stage.parameters, type) and issubclass(stage.parameters, Parameters)):
        faults.append("`parameters` is no subclass of gravel.stages.stage.Parameters")
    else:
        faults += _parameter_faults(stage)
    faults += _slot_faults(stage)
    if not isinstance(stage.outputs, tuple) or not stage.outputs:
        faults.append(f"`outputs` is {stage.outputs!r:.80}, and a tuple of kinds is expected")
    else:
        faults += [f"`outputs` names {kind!r}; {_KINDS}" for kind in stage.outputs if kind not in KINDS]
    faults += [f for name in ("run", "estimate") for f in _function_faults(name, getattr(stage, name))]
    return faults


_KINDS = f"the kinds of artifact are {', '.join(KINDS)}"


def _parameter_faults(stage: Stage) -> list[str]:
    fields = stage.parameters.model_fields
    taken = {*RESERVED, "with", *(stage.inputs if isinstance(stage.inputs, dict) else ())}
    faults = [
        f"the parameter {name!r}{_place_of(stage.parameters, name)} has a name that a workflow reads "
        f"otherwise: in an entry, `{name}` is no parameter; rename it, to `{name}_value` perhaps"
        for name in filter(taken.__contains__, fields)
    ]
    unknown = [name for name in stage.hidden if name not in fields]
    return faults + [f"`hidden` names {name!r}, which is no parameter" for name in unknown]


def _place_of(parameters: type, name: str) -> str:
    """Return " (file:line)" of a field of a class, nothing if its source cannot be read."""
    import ast

    holders = (each for each in parameters.__mro__ if name in vars(each).get("__annotations__", {}))
    kind = next(holders, parameters)
    file = getattr(sys.modules.get(kind.__module__), "__file__", None)
    try:
        tree = ast.parse(Path(str(file)).read_bytes())
    except (OSError, SyntaxError, ValueError):
        return ""
    classes = (node for node in ast.walk(tree) if isinstance(node, ast.ClassDef))
    for part in (part for node in classes if node.name == kind.__name__ for part in node.body):
        if isinstance(part, ast.AnnAssign) and ast.unparse(part.target) == name:
            return f" ({file}:{part.lineno})"
    return ""


def _slot_faults(stage: Stage) -> list[str]:
    slots = stage.inputs
    if not isinstance(slots, dict) or not all(isinstance(slot, Slot) for slot in slots.values()):
        return [f"`inputs` is {slots!r:.80}, and a dict of names to Slot is expected"]
    faults = []
    for name, slot in slots.items():
        takes = f"the slot {name!r} takes"
        if not name.isidentifier():
            faults.append(f"the slot {name!r} cannot be an argument of `run`")
        if not isinstance(slot.kinds, tuple) or not slot.kinds:
            faults.append(f"{takes} {slot.kinds!r:.80}, and a tuple of kinds is expected")
        else:
            faults += [f"{takes} {kind!r}; {_KINDS}" for kind in slot.kinds if kind not in KINDS]
    return faults


def _function_faults(name: str, function: Any) -> list[str]:
    """Workers find functions by module and name, so lambdas and inner functions cannot travel."""
    where = getattr(function, "__qualname__", None)
    if not callable(function) or where is None:
        return [f"`{name}` is {function!r:.80}, and a function is expected"]
    if "<" in where:
        return [f"`{name}` is {where}, which workers cannot find; define it with def at the top of its file"]
    return []


GROUP = "gravel.stages"


@dataclass(frozen=True)
class _Offer:
    """A stage that a package declares; `package` is its name and version."""

    package: str
    entry: EntryPoint


class Catalogue(Mapping[str, Stage]):
    """Stages by name: gravel's own, then those of packages, which are imported when asked for.

    Asking for one raises RequestError if its package cannot give it. A package's stage of a name that
    gravel has is never used; `problems` tells it.
    """

    def __init__(self, own: Mapping[str, Stage], offers: Mapping[str, list[_Offer]]) -> None:
        self._own = own
        self._offers = offers
        self._loaded: dict[str, Stage] = {}

    def __getitem__(self, name: str) -> Stage:
        if name in self._own:
            return self._own[name]
        if name not in self._loaded:
            self._loaded[name] = _load(name, self._offers[name])
        return self._loaded[name]

    def __contains__(self, name: object) -> bool:
        return name in self._own or name in self._offers

    def __iter__(self) -> Iterator[str]:
        yield from self._own
        yield from (name for name in self._offers if name not in self._own)

    def __len__(self) -> int:
        return len({*self._own, *self._offers})

    def problems(self) -> dict[str, str]:
        """Import the stages of every package and say which cannot be used, and why."""
        found = {}
        for name, offers in self._offers.items():
            if name in self._own:
                found[name] = f"gravel has a stage of that name; {offers[0].package} must choose another"
                continue
            try:
                self[name]
            except RequestError as error:
                found[name] = str(error)
        return found

    def sound(self) -> dict[str, Stage]:
        """Return every stage that can be used."""
        broken = self.problems()
        return {name: self[name] for name in self if name in self._own or name not in broken}


@cache
def known_stages() -> Catalogue:
    """Return gravel's stages and those of installed packages."""
    return Catalogue(all_stages(), find_offers(sys.path))


def find_offers(folders: list[str]) -> dict[str, list[_Offer]]:
    """Find the entry points on a search path.

    Only the packages that name the group are read with `importlib.metadata`, whose import and scan take
    30 ms; looking into every `entry_points.txt` takes 2.
    """
    offers: dict[str, list[_Offer]] = {}
    for folder in dict.fromkeys(folders):
        for pattern in ("*.dist-info/entry_points.txt", "*.egg-info/entry_points.txt"):
            for path in sorted(Path(folder or ".").glob(pattern)):
                for offer in _read(path):
                    there = offers.setdefault(offer.entry.name, [])
                    # A package that is found twice, as from a checkout and installed, is the first one.
                    if all(_project(each) != _project(offer) for each in there):
                        there.append(offer)
    return offers


def _project(offer: _Offer) -> str:
    return offer.package.partition(" ")[0].lower().replace("-", "_")


def _read(path: Path) -> list[_Offer]:
    text = b""
    with suppress(OSError):
        text = path.read_bytes()
    if GROUP.encode() not in text:
        return []
    from importlib.metadata import PathDistribution

    found = PathDistribution(path.parent)
    package = f"{found.metadata['Name']} {found.version}"
    return [_Offer(package, entry) for entry in found.entry_points if entry.group == GROUP]


def _load(name: str, offers: list[_Offer]) -> Stage:
    from gravel.pipeline.plugins.code import package_code

    if len(offers) > 1:
        packages = " and ".join(offer.package for offer in offers)
        raise RequestError(f"the stage {name!r} comes from {packages}", hint="uninstall one of them")
    package, entry = offers[0].package, offers[0].entry
    hint = f"update or uninstall {package.partition(' ')[0]}"
    try:
        stage = entry.load()
    except (Exception, SystemExit) as error:
        problem = f"the stage {name!r} of {package} cannot be imported: {type(error).__name__}: {error}"
        raise RequestError(problem, hint=hint) from error
    if not isinstance(stage, Stage):
        problem = f"the stage {name!r} of {package} is a {type(stage).__name__}"
        raise RequestError(f"{problem}, and a gravel.stages.stage.Stage is expected", hint=hint)
    faults = faults_of(stage)
    if stage.name != name:
        faults.append(f"its entry point calls it {name!r}")
    if faults:
        raise RequestError(f"the stage {stage.name!r} of {package}: {'; '.join(faults)}", hint=hint)
    return replace(stage, origin=Origin(package, package_code(entry.module)))
