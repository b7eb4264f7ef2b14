"""A digest of everything that a function is compiled from.

Numba compiles into a function whatever it calls, the constants of every module on the way, and what
overloads and intrinsics generate. All of these are reached through the modules of these functions. A module
counts as it is loaded, by its functions' bytecode and its constants, and by its source file. A file alone
would not do: it may be newer than what the process loaded, and bytecode that Python cached may be older than
the file. Then the two parts differ, and the digest is one that no other process makes.
"""

from __future__ import annotations

import functools
import hashlib
import importlib
import operator
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any, NamedTuple

import numpy
from numba.core.dispatcher import Dispatcher

OWN = __name__.removesuffix(".compiled.contents")
"""The package whose modules are followed from anywhere."""

EXTENDING = "numba.core.extending"
"""Where the decorators come from whose functions run while a kernel is compiled: `overload`, `intrinsic`."""

_PLAIN = frozenset({type(None), bool, int, float, complex, str, bytes, type(Ellipsis), range})
_SKIPPED = frozenset(
    {"__builtins__", "__cached__", "__doc__", "__file__", "__loader__", "__path__", "__spec__"}
)


LARGE_BYTES = 1_000_000
"""Numba compiles the address of a larger array in, and such code is not kept: its content does not count."""

MAX_PARTS = 200_000
"""Parts of a description. A module that holds more, such as a notebook's with its data, takes too long to
describe: what it defines is compiled in each process."""


class _Module(NamedTuple):
    """A module that was digested; `values` are those of its names then, by identity."""

    values: tuple[Any, ...]
    digest: bytes
    reached: frozenset[str]
    late: frozenset[tuple[str, ...]]  # what functions that generate code import while they run


_digested: dict[str, _Module] = {}


class Contents(NamedTuple):
    """A digest and the modules that went into it."""

    digest: bytes
    modules: frozenset[str]


def contents_of(function: Callable[..., Any], also: Iterable[str] = ()) -> Contents:
    """Digest a function and all modules that it reaches, and that the modules `also` reach.

    `also` are those of the types that it is called with. For such types, functions that generate code may
    import what works on them; that counts too.
    """
    own = _Description(function.__module__)
    own.write_function(function)
    seen: dict[str, bytes] = {}
    waiting = {function.__module__, *own.reached, *also}
    while waiting:
        name = waiting.pop()
        found = _module(name)
        seen[name] = found.digest
        waiting |= found.reached - seen.keys()
        if also:
            waiting |= {module for name in found.late for module in _imported(name)} - seen.keys()
    parts = [own.digest(), *(name.encode() + seen[name] for name in sorted(seen))]
    return Contents(hashlib.sha256(b"".join(parts)).digest(), frozenset(seen))


@functools.cache
def _imported(names: tuple[str, ...]) -> frozenset[str]:
    """Import a module, and those of its modules that are among the further names; returns them all."""
    package = importlib.import_module(names[0])
    found = {names[0]}
    for folder in getattr(package, "__path__", ()):
        for name in names[1:]:
            if (Path(folder) / f"{name}.py").is_file() or (Path(folder) / name / "__init__.py").is_file():
                found.add(importlib.import_module(f"{names[0]}.{name}").__name__)
    return frozenset(found)


def _is_own(module: str) -> bool:
    return module == OWN or module.startswith(f"{OWN}.")


def _module(name: str) -> _Module:
    """Digest one module, or return what it was if all its names still have the same values."""
    module = vars(sys.modules[name])
    values = tuple(module.values())
    known = _digested.get(name)
    if known and len(known.values) == len(values) and all(map(operator.is_, known.values, values)):
        return known
    names = {key: value for key, value in module.copy().items() if key not in _SKIPPED}
    if name.startswith(__package__):
        names = {}  # what is remembered here differs between processes; the files say what these modules do
    description = _Description(name)
    # Modules among the names count if the code mentions them, so what was imported elsewhere does not.
    modules = [key for key, value in names.items() if isinstance(value, ModuleType)]
    for key in sorted(names.keys() - set(modules)):
        description.parts.append(f"\n{key}=")
        description.write(names[key])
    for key in sorted(description.mentioned.intersection(modules)):
        description.parts.append(f"\n{key}=")
        description.write_module(names[key])
    description.parts.append(f"\nfile {_source(name)}")
    late: frozenset[tuple[str, ...]] = frozenset()
    if any(getattr(value, "__module__", None) == EXTENDING for value in values):
        mentioned = sorted(description.mentioned)
        late = frozenset((each, *mentioned) for each in mentioned if each.startswith(f"{OWN}."))
    found = _Module(values, description.digest(), frozenset(description.reached), late)
    _digested[name] = found
    return found


def _source(name: str) -> str:
    """Digest a module's source file; empty for one that has none that can be read."""
    file = getattr(sys.modules[name], "__file__", None)
    try:
        return hashlib.sha256(Path(file).read_bytes()).hexdigest() if file else ""
    except OSError:
        return ""


class _Description:
    """A text that is the same for equal content in every process, and the modules that it leads to."""

    def __init__(self, module: str) -> None:
        self.parts: list[str] = []
        self.reached: set[str] = set()
        self.mentioned: set[str] = set()  # names in code
        self._module = module
        self._top = module.partition(".")[0]
        self._inside: set[int] = set()  # values being written, which may hold themselves

    def digest(self) -> bytes:
        return hashlib.sha256("".join(self.parts).encode("utf-8", "surrogatepass")).digest()

    def write(self, value: Any) -> None:
        """Write a value of a module, a constant of code, a cell."""
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
            self.reached.add(value.py_func.__module__)
            self.parts.append(repr(sorted(value.targetoptions.items())))
            self._write_named(value.py_func)
        elif isinstance(value, FunctionType | type):
            self._write_named(value)
        elif isinstance(value, CodeType):
            self._write_code(value)
        elif isinstance(value, ModuleType):
            self.write_module(value)
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
            self._write_named(type(value))
            self.write(vars(value))
        else:
            # Neither Numba nor what runs at compile time has a use for it but through its type.
            self.parts.append(f"{type(value).__module__}.{type(value).__qualname__};")

    def _write_all(self, values: Iterable[Any]) -> None:
        for value in values:
            self.write(value)
            if len(self.parts) > MAX_PARTS:
                raise ValueError(f"module {self._module} holds too much to be described")
        self.parts.append(";")

    def _write_named(self, value: Any) -> None:
        """Write a function or class: in full where it is defined, elsewhere by its name."""
        module = value.__module__
        if module == self._module and isinstance(value, FunctionType):
            self.write_function(value)
            return
        if module == self._module:
            for base in value.__mro__[1:]:
                self._follow(base.__module__)
            for name, member in sorted(vars(value).items()):
                if name not in ("__dict__", "__doc__", "__weakref__") and not hasattr(member, "__objclass__"):
                    self.parts.append(f" {name}=")
                    self.write(getattr(member, "fget", getattr(member, "__func__", member)))
        self._follow(module)
        self.parts.append(f"{module}.{value.__qualname__};")

    def _follow(self, module: str) -> None:
        if module in sys.modules and (_is_own(module) or module.partition(".")[0] == self._top):
            self.reached.add(module)

    def write_module(self, module: ModuleType) -> None:
        """Follow a module that code mentions, and those of its modules that the code mentions behind it."""
        self._follow(module.__name__)
        self.parts.append(f"{module.__name__};")
        if _is_own(module.__name__):
            for name in sorted(self.mentioned.intersection(vars(module))):
                inner = vars(module)[name]
                if isinstance(inner, ModuleType) and inner.__name__ == f"{module.__name__}.{name}":
                    self.write_module(inner)

    def write_function(self, function: Any) -> None:
        """Write a Python function with all that it was made with."""
        self.parts.append(f"{function.__qualname__} ")
        self._write_code(function.__code__)
        self._write_all([function.__defaults__, function.__kwdefaults__])
        for cell in function.__closure__ or ():
            try:
                self.write(cell.cell_contents)
            except ValueError:
                self.parts.append("empty;")  # defined later in the same function

    def _write_code(self, code: CodeType) -> None:
        """Write code without its place in the file."""
        self.mentioned.update(code.co_names)
        self.parts.append(
            f"{code.co_code.hex()} {code.co_names} {code.co_varnames} {code.co_freevars} {code.co_cellvars} "
            f"{code.co_argcount} {code.co_posonlyargcount} {code.co_kwonlyargcount} {code.co_flags}"
        )
        if _PLAIN.issuperset(map(type, code.co_consts)):
            self.parts.append(repr(code.co_consts))
        else:
            self._write_all(code.co_consts)
