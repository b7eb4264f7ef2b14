"""The digest of a plugin's code: what its results may depend on besides parameters and inputs.

It covers the plugin's file, or all modules of the package that its module leads to, without comments,
docstrings and formatting. Of what these import it covers modules outside `site-packages` in the same way,
with all that they import in turn; compiled modules there by their bytes; and installed distributions by their
versions. The standard library is left out.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from importlib.machinery import PathFinder
from importlib.util import decode_source
from pathlib import Path

from blake3 import blake3

from gravel.pipeline.core.files import ROOT
from gravel.pipeline.plugins.sources import GRAVEL, Sources, names_in, python_digest

ABSENT = "absent"
"""For a module that is not there; code that goes on without it may do otherwise once it is."""


def file_code(text: bytes) -> str:
    """Digest the code of a plugin file; raises SyntaxError or ValueError if it is no Python."""
    source = decode_source(text)
    return _digest({"": python_digest(source)}, names_in(source))


def package_code(module: str) -> str:
    """Digest the code of a stage's module in an installed package, with what it leads to there."""
    top = module.partition(".")[0]
    root = _root_of(top)
    if root is None:
        return _digest({"": ABSENT}, ())
    sources = Sources(root, (top,))
    used = {name for name in _named_by(sources, (module,)) if name.partition(".")[0] != top}
    return _digest({"": sources.digest(module)}, used)


def _digest(parts: dict[str, str], used: Iterable[str]) -> str:
    found = dict(parts)
    names, waiting = set[str](), set(used)
    outside: dict[str, Sources] = {}
    while waiting:
        names |= waiting
        new: set[str] = set()
        for top in {name.partition(".")[0] for name in waiting} - sys.stdlib_module_names - {"gravel"}:
            root = _root_of(top)
            if root is None:
                found[top] = ABSENT
            elif versions := _distributions_with(root, top):
                found[top] = versions
            else:
                sources = outside.setdefault(top, Sources(root, (top,)))
                new |= set(_named_by(sources, _of(top, names)))
        waiting = new - names
    for top, sources in outside.items():
        found[top] = _closure(sources, _of(top, names))
    if own := {name for name in _of("gravel", names) if name.startswith(GRAVEL)}:
        found["gravel"] = _distributions_with(ROOT, "gravel") or _closure(Sources(ROOT), own)
    return blake3(json.dumps(found, sort_keys=True).encode()).hexdigest()


def _of(top: str, names: Iterable[str]) -> list[str]:
    return sorted(name for name in names if name.partition(".")[0] == top)


def _named_by(sources: Sources, modules: Iterable[str]) -> Iterator[str]:
    """Yield what the modules, and all of the same package that they lead to, import or name."""
    there = [module for module in modules if sources.path(module) is not None]
    for module in sources.closure(*there):
        path = sources.root / module if "/" in module else sources.path(module)
        if path is not None and path.suffix == ".py":
            yield from names_in(path.read_text(encoding="utf-8"))


def _closure(sources: Sources, named: Iterable[str]) -> str:
    return sources.digest(*(name for name in sorted(named) if sources.path(name) is not None))


def _root_of(top: str) -> Path | None:
    """Return the folder that holds a top-level package or module, without importing it."""
    spec = None
    with suppress(ImportError, ValueError):
        spec = PathFinder.find_spec(top)
    if spec is None:
        return None
    if spec.origin is None:  # a package without __init__.py
        return Path(next(iter(spec.submodule_search_locations or ()), "/nowhere/none")).parent
    path = Path(spec.origin)
    return path.parent.parent if path.name.startswith("__init__.") else path.parent


def _distributions_with(root: Path, top: str) -> str:
    """Return names and versions of the distributions installed in a folder with a module; "" if none.

    A package without `__init__.py` may come from several. Their names are not always its own (`PIL`: pillow);
    `importlib.metadata.packages_distributions` answers too, in 100 ms, so the lists of files are searched.
    """
    if root.name not in ("site-packages", "dist-packages"):
        return ""
    found = [info.name.rsplit(".", 1)[0] for info in _declarations(root, top) if _holds(info, top)]
    return " ".join(sorted(found))


def _declarations(root: Path, top: str) -> list[Path]:
    every = [*root.glob("*.dist-info"), *root.glob("*.egg-info")]
    if (root / top).is_dir() and not (root / top / "__init__.py").is_file():
        return every
    # One distribution has it, which nearly always bears its name.
    same = [info for info in every if _plain(info.name.partition("-")[0]) == _plain(top)]
    return same if any(_holds(info, top) for info in same) else every


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "_", name).lower()


def _holds(info: Path, top: str) -> bool:
    for name in ("RECORD", "installed-files.txt", "top_level.txt"):
        with suppress(OSError):  # an egg-info may be a file
            text = (info / name).read_bytes()
            if re.search(rb"^(?:\.\./)?%s(?:[/.,\r]|$)" % re.escape(top.encode()), text, re.MULTILINE):
                return True
    return False
