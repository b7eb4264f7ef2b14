"""CUDA source files as one text per kernel file, and the variants that each file declares.

A line `#include "kernels/..."` is replaced by that file, once; `#include <...>` is left to the compiler.
CuPy caches compiled code by its text, so that it would not see an edit in an included file. A macro's name in
braces, as in `#include "kernels/layouts/{LAYOUT}/rows.cuh"`, stands for its value.

A line `// variants NAME: a b c` declares the values that the macro NAME is compiled with. A path with a star
stands for what the star may be, and `with WORD` leaves those whose file has that word:
`// variants LAYOUT: kernels/layouts/*/rows.cuh with byte_offsets`.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

_GRID_BARRIER = "kernels/cuda/grid_barrier.cuh"
_INCLUDE = re.compile(r'^#include "(kernels/[^"]+)"\n', re.MULTILINE)
_MACRO = re.compile(r"\{(\w+)\}")
_VARIANTS = re.compile(r"^// variants (\w+): (.+)$", re.MULTILINE)
_EACH_FILE = re.compile(r"(\S*)\*(\S*)(?: with (\w+))?")

_HEADERS: dict[str, str] = {}


def add_header(path: str, text: str) -> None:
    """Let a text be the header of a path that is no file, such as that of a layout from elsewhere."""
    _HEADERS[path] = text
    _inlined.cache_clear()


def remove_header(path: str) -> None:
    """Take away a header that was added."""
    del _HEADERS[path]
    _inlined.cache_clear()


def read_source(path: str, macros: Mapping[str, object] | None = None) -> str:
    """Text of a kernel file with its own headers in place; `path` is such as "kernels/bfs/cuda/hybrid.cu".

    Headers that a macro names are left out where it is not given. Raises FileNotFoundError where the file or
    a header does not exist.
    """
    return _inlined(path, _values(macros or {}))[0]


def waits_for_the_grid(path: str) -> bool:
    """Whether blocks of a kernel file wait for each other: it includes the grid's barrier."""
    return _GRID_BARRIER in _inlined(path, ())[1]


def _values(macros: Mapping[str, object]) -> tuple[tuple[str, str], ...]:
    return tuple(sorted((name, str(value)) for name, value in macros.items()))


@cache
def _inlined(path: str, macros: tuple[tuple[str, str], ...]) -> tuple[str, frozenset[str]]:
    """Give a file's text with its headers in place, and their names."""
    seen: set[str] = set()
    values = dict(macros)

    def inline(name: str) -> str:
        if any(macro not in values for macro in _MACRO.findall(name)):
            return ""
        name = _MACRO.sub(lambda match: values[match[1]], name)
        if name in seen:
            return ""
        seen.add(name)
        return _INCLUDE.sub(lambda match: inline(match[1]), _text_of(name))

    return inline(path), frozenset(seen)


def _text_of(name: str) -> str:
    return _HEADERS[name] if name in _HEADERS else (ROOT / name).read_text(encoding="utf-8")


def declared_variants(text: str) -> dict[str, list[str]]:
    """Macros that a file takes, each with the values it is compiled with."""
    return {name: _declared(values) for name, values in _VARIANTS.findall(text)}


def _declared(values: str) -> list[str]:
    if (pattern := _EACH_FILE.fullmatch(values)) is None:
        return values.split()
    before, behind, word = pattern.groups()
    wanted = f"{before}*{behind}"
    files = {path.relative_to(ROOT).as_posix() for path in ROOT.glob(wanted)}
    files |= {name for name in _HEADERS if fnmatchcase(name, wanted)}
    kept = (name for name in sorted(files) if not word or re.search(rf"\b{word}\b", _text_of(name)))
    return [name.removeprefix(before).removesuffix(behind) for name in kept]


def each_variant(text: str) -> Iterator[dict[str, str]]:
    """Every combination of the declared values; one empty mapping where there are none."""
    declared = declared_variants(text)
    for values in itertools.product(*declared.values()):
        yield dict(zip(declared, values, strict=True))


def compiler_options(text: str, macros: Mapping[str, object]) -> tuple[str, ...]:
    """Options of one variant; raises ValueError unless exactly the declared macros are given."""
    declared = declared_variants(text)
    if set(declared) != set(macros):
        raise ValueError(f"the kernel takes the macros {sorted(declared)}; given were {sorted(macros)}")
    return ("--std=c++17", *(f"-D{name}={macros[name]}" for name in sorted(macros)))


def covering_variants(text: str) -> Iterator[dict[str, str]]:
    """As few of a file's variants as have every value of every macro once; {} where it declares none."""
    declared = declared_variants(text)
    for i in range(max(map(len, declared.values()), default=1)):
        yield {name: values[i % len(values)] for name, values in declared.items()}


def kernel_files() -> list[str]:
    """Every `.cu` file of the tree, as `read_source` takes it."""
    return sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "kernels").rglob("*.cu"))
