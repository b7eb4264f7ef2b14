"""Python, the packages that gravel rests on, its compiler's threads, stages of other packages."""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Iterator
from typing import TYPE_CHECKING

from gravel.pipeline.core.installation import ROOT
from gravel.pipeline.doctor.finding import Finding, checked

if TYPE_CHECKING:
    from packaging.requirements import Requirement


def python() -> Iterator[Finding]:
    """Check the version of Python."""
    found = f"{'.'.join(map(str, sys.version_info[:3]))} at {sys.executable}"
    yield checked("python", found, None if sys.version_info >= (3, 11) else "use Python 3.11 or later", "bad")


def packages() -> Iterator[Finding]:
    """Check that every package is there, in a version that gravel was made for."""
    there = {name: installed(name) for name in ("gravel", *(each.name for each in requirements("gravel")))}
    missing = [name for name, found in there.items() if found is None]
    yield Finding("packages", "good", ", ".join(f"{name} {found}" for name, found in there.items() if found))
    if missing == ["gravel"]:
        cure = "not needed to run from here; pip install -e . gives the command and its version"
        yield Finding("packages", "note", "gravel itself is not installed, but run from a folder", cure)
    elif missing:
        yield Finding("packages", "bad", f"missing: {', '.join(missing)}", "pip install -e . in the checkout")
    for requirement, wrong in unfit("gravel"):
        cure = f"pip install '{requirement}'"
        yield Finding("packages", "bad", f"{wrong} is here, and {requirement} is needed", cure)


def requirements(package: str) -> list[Requirement]:
    """Return what a package needs, without its extras; of a folder that is not installed, by its metadata."""
    from importlib import metadata

    from packaging.requirements import Requirement

    try:
        texts = metadata.requires(package) or []
    except metadata.PackageNotFoundError:
        texts = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    found = [Requirement(text) for text in texts]
    return [each for each in found if each.marker is None or each.marker.evaluate({"extra": ""})]


def unfit(package: str) -> list[tuple[str, str]]:
    """Return the requirements of a package that the installed versions do not meet, with these."""
    return [
        (f"{each.name}{each.specifier}", f"{each.name} {version}")
        for each in requirements(package)
        if (version := installed(each.name)) and not each.specifier.contains(version, prereleases=True)
    ]


def installed(package: str) -> str | None:
    """Return the version of an installed package."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(package)
    except PackageNotFoundError:
        return None


def own_stages() -> Iterator[Finding]:
    """Check the stages that installed packages add."""
    from gravel.pipeline.plugins.installed import known_stages

    catalogue = known_stages()
    sound = [f"{stage.name} of {stage.origin.place}" for stage in catalogue.sound().values() if stage.origin]
    if sound:
        yield Finding("own stages", "good", ", ".join(sound))
    for problem in catalogue.problems().values():
        cure = "update or uninstall the package; its stage is left out until then"
        yield Finding("own stages", "note", problem, cure)
