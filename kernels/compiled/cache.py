"""What a dispatcher asks for compiled code before it compiles, and gives what it compiled.

Numba's own cache looks at the file of the compiled function only, not at those of the functions that it
calls, and two processes that write its index at once may file one signature's code under another's name.
"""

from __future__ import annotations

import hashlib
import pickle
import re
import sys
from collections.abc import Callable
from contextlib import ExitStack
from functools import cache
from typing import Any, NamedTuple

from numba import types
from numba.core import compiler
from numba.core.caching import NullCache
from numba.core.serialize import dumps

from gravel.kernels.compile_time import COMPILE_TIME
from gravel.kernels.compiled.contents import OWN, contents_of
from gravel.kernels.compiled.folder import Folder, folder_path
from gravel.kernels.compiled.toolchain import toolchain

__all__ = ["CompiledCache"]


_MANGLED = re.compile("_ZN" + "".join(f"{len(part)}{part}" for part in OWN.split(".")))
_LENGTH = re.compile(r"\d+")


@cache
def _folder() -> Folder | None:
    """Open the folder once a process; None where it cannot be used, and then kernels are compiled anew."""
    try:
        return Folder(folder_path())
    except (OSError, RuntimeError):
        return None


@cache
def _processor(codegen: Any) -> str:
    """Name what code is generated for."""
    return str(codegen.magic_tuple())


class _Key(NamedTuple):
    """The name of an entry, and the modules that it covers."""

    name: str
    modules: frozenset[str]


def linked_modules(library: Any) -> set[str]:
    """Name the modules of this package whose functions are linked into a compiled one."""
    found, waiting, seen = set(), [library], set()
    while waiting:
        each = waiting.pop()
        if id(each) in seen:
            continue
        seen.add(id(each))
        waiting += each._linking_libraries
        for function in each.get_defined_functions():
            found.add(_module_of(function.name))
    return found - {""}


def _module_of(symbol: str) -> str:
    """Read the module of this package out of a mangled name; empty where there is none."""
    if not (start := _MANGLED.match(symbol)):
        return ""
    place, parts = start.end(), OWN.split(".")
    while length := _LENGTH.match(symbol, place):
        place = length.end() + int(length[0])
        name = ".".join([*parts, symbol[length.end() : place]])
        if name not in sys.modules:
            break
        parts.append(symbol[length.end() : place])
    return ".".join(parts)


def _readable(function: Callable[..., Any]) -> str:
    """Name a kernel by its module in `gravel.kernels` and itself."""
    return f"{function.__module__.removeprefix('gravel.kernels.')}.{function.__name__}"


_announces = False


def announce_all() -> None:
    """Let this process, which does nothing but compile, say of each kernel that it is being compiled here."""
    global _announces
    _announces = True


def leave_mark(name: str) -> None:
    """Write an entry that is no kernel, and says that certain ones are there."""
    folder = _folder()
    if folder is not None:
        folder.write(name, b"")


class CompiledCache(NullCache):  # type: ignore[misc]
    """The compiled code of one function, by signature."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._keys: dict[Any, _Key | None] = {}
        self._announced: dict[Any, ExitStack] = {}

    @property
    def cache_path(self) -> str | None:
        """The folder of entries."""
        folder = _folder()
        return None if folder is None else str(folder.path)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the code for a signature, or None."""
        target_context.refresh()
        folder = _folder()
        # Modules may change while this is compiled; see `save_overload`.
        key = self._keys[sig] = None if folder is None else self._key(sig, target_context.codegen())
        content = None if folder is None or key is None else folder.read(key.name)
        if content is None:
            COMPILE_TIME.compiles(_readable(self._function))
        if content is None and folder is not None and key is not None:
            if _announces:
                self._announced[sig] = announced = ExitStack()
                announced.enter_context(folder.announce(key.name))
            elif folder.wait_for(key.name):
                content = folder.read(key.name)
        if content is None:
            return None
        return compiler.CompileResult._rebuild(target_context, *pickle.loads(content))

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep the code for a signature, unless it holds addresses of this process."""
        with self._announced.pop(sig, ExitStack()):
            self._save(sig, data)

    def _save(self, sig: Any, data: Any) -> None:
        folder, known = _folder(), self._keys.pop(sig, None)
        if folder is None or known is None or data.lifted or data.library.has_dynamic_globals:
            return
        # Nothing changed while it was compiled, and nothing was compiled in that its name does not cover.
        if self._key(sig, data.codegen) == known and linked_modules(data.library) <= known.modules:
            folder.write(known.name, dumps(data._reduce()))

    def _key(self, sig: Any, codegen: Any) -> _Key | None:
        """Name the entry of a signature; None if that cannot be told."""
        signature = _Signature()
        signature.add(sig)
        if signature.unknown:
            return None
        try:
            content = contents_of(self._function, signature.modules)
        except (AttributeError, KeyError, TypeError, ValueError, RuntimeError):
            return None  # a module that is not among the loaded ones, a value that cannot be written
        text = f"{toolchain()} {_processor(codegen)} {' '.join(signature.parts)}"
        return _Key(hashlib.sha256(content.digest + text.encode()).hexdigest(), content.modules)


class _Signature:
    """The types of a signature, and the modules that define some of them."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.modules: set[str] = set()
        self.unknown = False  # there is a type whose name may be another one's, or another in each process

    def add(self, kind: Any) -> None:
        """Add a type, a signature or a tuple of types."""
        if kind is None:
            self.parts.append("None")
        elif isinstance(kind, tuple):
            self.parts.append(f"({len(kind)}")
            for each in kind:
                self.add(each)
        elif hasattr(kind, "args") and hasattr(kind, "return_type"):
            self.add((kind.args, kind.return_type))
        elif isinstance(kind, types.NamedTuple | types.NamedUniTuple):
            made = kind.instance_class
            self.modules.add(made.__module__)
            self.parts.append(f"{made.__module__}.{made.__qualname__} {kind.fields}")
            self.add(tuple(kind.types))
        elif isinstance(kind, types.BaseTuple):
            self.parts.append(type(kind).__name__)
            self.add(tuple(kind.types))
        elif isinstance(kind, types.Dispatcher):
            function = kind.dispatcher.py_func
            self.modules.add(function.__module__)
            self.parts.append(contents_of(function).digest.hex())
        else:
            self.parts.append(f"{type(kind).__name__} {kind}")
            # Functions and the like are named by their address.
            self.unknown = self.unknown or "<" in str(kind)
