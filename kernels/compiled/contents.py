"""A digest of everything that a function is compiled from.

Numba compiles into a function whatever it calls, the constants that its code names, and what overloads and
intrinsics generate. So a function counts by its bytecode, the values of the names in it, and the source file
of its module, and so does each function among these values. Of a module that generates code all functions
count. What else a module holds does not: other processes may have replaced it, as tests do.

The file alone would not do: it may be newer than what the process loaded, and bytecode that Python cached may
be older than the file. Then the two parts differ, and the digest is one that no other process makes.
"""

from __future__ import annotations

import functools
import hashlib
import importlib
import operator
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any, NamedTuple

import numpy
from numba.core.dispatcher import Dispatcher

OWN = __name__.removesuffix(".compiled.contents")
"""The package whose functions are followed from anywhere."""

EXTENDING = "numba.core.extending"
"""Where the decorators come from whose functions run while a kernel is compiled: `overload`, `intrinsic`."""

_PLAIN = frozenset({type(None), bool, int, float, complex, str, bytes, type(Ellipsis), range})

LARGE_BYTES = 1_000_000
"""Numba compiles the address of a larger array in, and such code is not kept: its content does not count."""


class _Part(NamedTuple):
    """A function, class or module that was digested."""

    values: list[Any]  # of the names in it then, by identity
    digest: bytes
    leads: list[Any]  # functions, classes and modules that count too, in the order of the text


_parts: dict[Any, _Part] = {}


def contents_of(function: Callable[..., Any], also: Iterable[Any] = ()) -> bytes:
    """Digest a function and all that it leads to, and what the classes `also`, of its arguments, lead to."""
    numbers: dict[Any, int] = {}  # in the order in which they are reached, which is the same in every process
    waiting = [*also, function]
    digest = hashlib.sha256()
    while waiting:
        each = waiting.pop()
        if each in numbers:
            digest.update(b"%d" % numbers[each])
            continue
        numbers[each] = len(numbers)
        part = _part(each)
        digest.update(part.digest)
        waiting += part.leads
    return digest.digest()


def _part(thing: Any) -> _Part:
    """Digest a function, class or module, or return what it was if its names still have the same values."""
    named = list(_named(thing))
    values, known = [value for _, value in named], _parts.get(thing)
    if known and len(known.values) == len(values) and all(map(operator.is_, known.values, values)):
        return known
    description = _Description(thing.__name__ if isinstance(thing, ModuleType) else thing.__module__)
    description.parts.append(f"{type(thing).__name__} {getattr(thing, '__qualname__', '')} ")
    if isinstance(thing, FunctionType):
        description.write_code(thing.__code__)
        description.write([thing.__defaults__, thing.__kwdefaults__])
    for name, value in named:
        description.parts.append(f"\n{name}=")
        description.write(value)
    if isinstance(thing, ModuleType):
        description.parts.append(_source(thing))
    else:
        description.leads.append(sys.modules[thing.__module__])
    found = _parts[thing] = _Part(values, description.digest(), description.leads)
    return found


def _named(thing: Any) -> Iterator[tuple[str, Any]]:
    """Give the names whose values count, in an order that is the same in every process."""
    if isinstance(thing, FunctionType):
        names = _names(thing.__code__)
        yield from _values(thing.__globals__, names)
        for name, cell in zip(thing.__code__.co_freevars, thing.__closure__ or (), strict=True):
            with suppress(ValueError):  # defined later in the same function
                yield name, cell.cell_contents
        if _generates(sys.modules[thing.__module__]):
            for module in filter(_is_own, names):  # which is imported while it runs
                yield from _values(vars(importlib.import_module(module)), names)
    elif isinstance(thing, type) or _generates(thing):
        module = thing.__module__ if isinstance(thing, type) else thing.__name__
        for name, value in vars(thing).copy().items():
            function = getattr(value, "__func__", value)
            if isinstance(function, Dispatcher) or getattr(function, "__module__", None) == module:
                yield name, function


def _values(
    place: dict[str, Any], names: Iterable[str], seen: tuple[ModuleType, ...] = ()
) -> Iterator[tuple[str, Any]]:
    """Give the values of names in a module, and in modules of this package that it has by such a name."""
    for name in names:
        if name not in place:
            continue
        value = place[name]
        if not isinstance(value, ModuleType):
            yield name, value
        elif _is_own(value.__name__) and value not in seen:
            yield from _values(vars(value), names, (*seen, value))


@functools.cache
def _names(code: CodeType) -> tuple[str, ...]:
    """Give the names of globals, attributes and imports in code and in the functions that it makes."""
    inner = (name for each in code.co_consts if isinstance(each, CodeType) for name in _names(each))
    return tuple(dict.fromkeys((*code.co_names, *inner)))


@functools.cache
def _generates(module: ModuleType) -> bool:
    """Whether functions of a module run while kernels are compiled."""
    return any(getattr(value, "__module__", None) == EXTENDING for value in vars(module).values())


def _is_own(module: str) -> bool:
    return module == OWN or module.startswith(f"{OWN}.")


@functools.cache
def _source(module: ModuleType) -> str:
    """Digest a module's source file; empty for one that has none that can be read."""
    file = getattr(module, "__file__", None)
    try:
        return hashlib.sha256(Path(file).read_bytes()).hexdigest() if file else ""
    except OSError:
        return ""


class _Description:
    """A text that is the same for equal content in every process, and what it leads to."""

    def __init__(self, module: str) -> None:
        self.parts = [module]
        self.leads: list[Any] = []
        self._top = module.partition(".")[0]
        self._inside: set[int] = set()  # values being written, which may hold themselves

    def digest(self) -> bytes:
        return hashlib.sha256("".join(self.parts).encode("utf-8", "surrogatepass")).digest()

    def write(self, value: Any) -> None:
        """Write the value of a name, a constant of code, a default."""
        kind = type(value)
        if kind in _PLAIN:
            self.parts.append(f"{kind.__name__}:{value!r};")
            return
        self.parts.append(f"{kind.__name__}:")
        if id(value) in self._inside:
            self.parts.append("itself;")
        else:
            self._inside.add(id(value))
            self._write_other(value)
            self._inside.discard(id(value))

    def _write_other(self, value: Any) -> None:
        if isinstance(value, Dispatcher):
            self.parts.append(repr(sorted(value.targetoptions.items())))
            self.leads.append(value.py_func)
        elif isinstance(value, FunctionType | type):
            self.parts.append(f"{value.__module__}.{value.__qualname__};")
            if _is_own(value.__module__) or value.__module__.partition(".")[0] == self._top:
                self.leads.append(value)
        elif isinstance(value, CodeType):
            self.write_code(value)
        elif isinstance(value, functools.partial):
            self._write_all([value.func, value.args, value.keywords])
        elif isinstance(value, list | tuple):
            self._write_all(value)
        elif isinstance(value, dict):
            self._write_all(part for item in value.items() for part in item)
        elif isinstance(value, set | frozenset):
            # Their order is another in each process.
            self.parts.append(",".join(sorted(map(repr, value))))
        elif "__wrapped__" in getattr(value, "__dict__", ()):  # an intrinsic, a memoised function
            self.write(value.__wrapped__)
        elif isinstance(value, numpy.ndarray | numpy.generic):
            content = value.tobytes().hex() if value.nbytes <= LARGE_BYTES else ""
            self.parts.append(f"{value.dtype} {value.shape} {content};")
        elif isinstance(value, numpy.dtype):
            self.parts.append(f"{value!r};")
        elif type(value).__module__.startswith("numba."):
            self.parts.append(f"{getattr(value, 'symbol', '')} {getattr(value, 'sig', '')} {value};")
        elif _is_own(type(value).__module__) and hasattr(value, "__dict__"):
            self.write(type(value))
            self.write(vars(value))
        else:
            # Neither Numba nor what runs at compile time has a use for it but through its type.
            self.parts.append(f"{type(value).__module__}.{type(value).__qualname__};")

    def _write_all(self, values: Iterable[Any]) -> None:
        for value in values:
            self.write(value)
        self.parts.append(";")

    def write_code(self, code: CodeType) -> None:
        """Write code without its place in the file."""
        self.parts.append(
            f"{code.co_code.hex()} {code.co_names} {code.co_varnames} {code.co_freevars} {code.co_cellvars} "
            f"{code.co_argcount} {code.co_posonlyargcount} {code.co_kwonlyargcount} {code.co_flags}"
        )
        if _PLAIN.issuperset(map(type, code.co_consts)):
            self.parts.append(repr(code.co_consts))
        else:
            self._write_all(code.co_consts)
