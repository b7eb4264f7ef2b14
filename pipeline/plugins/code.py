"""The digest of a plugin's code: what its results may depend on besides parameters and inputs.

It covers the plugin's file, or all modules of the package that its module leads to, without comments,
docstrings and formatting; of what these import, modules outside `site-packages` (gravel's own in a checkout,
say) in the same way, and installed packages by their versions. The standard library is left out, and so are
the packages that gravel rests on, whose results do not change with their versions.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from importlib.machinery import PathFinder
from pathlib import Path

from blake3 import blake3

from pipeline.fingerprint import Sources, names_in, python_digest

__all__ = ["file_code", "package_code"]

RESTS_ON = frozenset(
    {
        "blake3",
        "cupy",
        "cupyx",
        "dask",
        "distributed",
        "numba",
        "numpy",
        "pyarrow",
        "pydantic",
        "scipy",
        "zarr",
    }
)


def file_code(text: bytes) -> str:
    """Digest the code of a plugin file; raises SyntaxError or ValueError if it is no Python."""
    import io
    import tokenize

    with io.TextIOWrapper(io.BytesIO(text), tokenize.detect_encoding(io.BytesIO(text).readline)[0]) as reader:
        source = reader.read()
    return _digest({"": python_digest(source)}, names_in(source))


def package_code(module: str) -> str:
    """Digest the code of a stage's module in an installed package, with what it leads to there."""
    top = module.partition(".")[0]
    root = _root_of(top)
    if root is None:
        return _digest({"": _version(top)}, ())
    sources = Sources(root, (top,))
    own = [name for name in sources.closure(module) if "/" not in name]
    used = {
        name
        for each in own
        if (path := sources.path(each)) is not None
        for name in names_in(path.read_text("utf-8"))
    }
    return _digest({"": sources.digest(module)}, {name for name in used if name.partition(".")[0] != top})


def _digest(parts: dict[str, str], used: Iterable[str]) -> str:
    by_top: dict[str, set[str]] = {}
    for name in used:
        by_top.setdefault(name.partition(".")[0], set()).add(name)
    found = dict(parts)
    own = {"kernels", "stages"} & by_top.keys()
    for top in sorted(by_top.keys() - sys.stdlib_module_names - RESTS_ON - {"pipeline"} - own):
        root = _root_of(top)
        if root is not None:
            inside = _installed(root)
            found[top] = _version(top) if inside else _closure(root, (top,), by_top[top])
    if own:
        root = Path(__file__).resolve().parents[2]
        named = {name for top in own for name in by_top[top]}
        found["gravel"] = (
            _version("gravel") if _installed(root) else _closure(root, ("stages", "kernels"), named)
        )
    return blake3(json.dumps(found, sort_keys=True).encode()).hexdigest()


def _closure(root: Path, packages: tuple[str, ...], named: Iterable[str]) -> str:
    sources = Sources(root, packages)
    return sources.digest(*(name for name in sorted(named) if sources.path(name) is not None))


def _root_of(top: str) -> Path | None:
    """Return the folder that holds a top-level package or module written in Python, without importing it."""
    try:
        spec = PathFinder.find_spec(top)
    except (ImportError, ValueError):
        return None
    if spec is None or spec.origin is None or not spec.origin.endswith(".py"):
        return None
    path = Path(spec.origin)
    return path.parent.parent if path.name == "__init__.py" else path.parent


def _installed(root: Path) -> bool:
    return root.name in ("site-packages", "dist-packages")


def _version(package: str) -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(package)
    except PackageNotFoundError:
        return ""
