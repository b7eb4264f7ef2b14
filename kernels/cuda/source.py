"""CUDA source files as one text per kernel file, and the variants that each file declares.

A line `#include "kernels/..."` is replaced by that file, once; `#include <...>` is left to the compiler.
CuPy caches compiled code by its text, so that it would not see an edit in an included file.

A line `// variants NAME: a b c` declares the values that the macro NAME is compiled with.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

_GRID_BARRIER = "kernels/cuda/grid_barrier.cuh"
_INCLUDE = re.compile(r'^#include "(kernels/[^"]+)"\n', re.MULTILINE)
_VARIANTS = re.compile(r"^// variants (\w+): (.+)$", re.MULTILINE)


def read_source(path: str) -> str:
    """Text of a kernel file with its own headers in place; `path` is such as "kernels/bfs/two_phase.cu".

    Raises FileNotFoundError where the file or a header does not exist.
    """
    return _inlined(path)[0]


def waits_for_the_grid(path: str) -> bool:
    """Whether blocks of a kernel file wait for each other: it includes the grid's barrier."""
    return _GRID_BARRIER in _inlined(path)[1]


@cache
def _inlined(path: str) -> tuple[str, frozenset[str]]:
    """Give a file's text with its headers in place, and their names."""
    seen: set[str] = set()

    def inline(name: str) -> str:
        if name in seen:
            return ""
        seen.add(name)
        text = (ROOT / name).read_text(encoding="utf-8")
        return _INCLUDE.sub(lambda match: inline(match[1]), text)

    return inline(path), frozenset(seen)


def declared_variants(text: str) -> dict[str, list[str]]:
    """Macros that a file takes, each with the values it is compiled with."""
    return {name: values.split() for name, values in _VARIANTS.findall(text)}


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
