"""Stages of installed packages, by the entry point `gravel.stages`: `NAME = "module:STAGE"`.

Nothing of a package is imported before a workflow names its stage, and a broken one harms nobody else.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from gravel.pipeline.core.errors import RequestError
from gravel.stages.stage import Origin, Stage, all_stages

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

__all__ = ["GROUP", "Catalogue", "known_stages"]

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
    try:
        if GROUP.encode() not in path.read_bytes():
            return []
    except OSError:
        return []
    from importlib.metadata import PathDistribution

    found = PathDistribution(path.parent)
    package = f"{found.metadata['Name']} {found.version}"
    return [_Offer(package, entry) for entry in found.entry_points if entry.group == GROUP]


def _load(name: str, offers: list[_Offer]) -> Stage:
    from gravel.pipeline.plugins.checking import faults_of
    from gravel.pipeline.plugins.code import package_code

    if len(offers) > 1:
        packages = " and ".join(offer.package for offer in offers)
        raise RequestError(f"the stage {name!r} comes from {packages}", hint="uninstall one of them")
    package, entry = offers[0].package, offers[0].entry
    hint = f"update or uninstall {package.partition(' ')[0]}"
    try:
        stage = entry.load()
    except (Exception, SystemExit) as error:
        raise RequestError(
            f"the stage {name!r} of {package} cannot be imported: {type(error).__name__}: {error}", hint=hint
        ) from error
    if not isinstance(stage, Stage):
        message = f"the stage {name!r} of {package} is a {type(stage).__name__}"
        raise RequestError(f"{message}, and a gravel.stages.stage.Stage is expected", hint=hint)
    faults = faults_of(stage)
    if stage.name != name:
        faults.append(f"its entry point calls it {name!r}")
    if faults:
        raise RequestError(f"the stage {stage.name!r} of {package}: {'; '.join(faults)}", hint=hint)
    return replace(stage, origin=Origin(package, package_code(entry.module)))
