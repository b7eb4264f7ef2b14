"""What a dispatcher asks for compiled code before it compiles, and gives what it compiled.

Numba's own cache looks at the file of the compiled function only, not at those of the functions that it
calls, and two processes that write its index at once may file one signature's code under another's name.
"""

from __future__ import annotations

import hashlib
import pickle
import sys
from collections.abc import Callable
from contextlib import ExitStack
from functools import cache
from typing import Any

import llvmlite
import numba
import numpy
from numba import config, types
from numba.core import compiler
from numba.core.caching import NullCache
from numba.core.serialize import dumps

from gravel.kernels.compile_time import COMPILE_TIME
from gravel.kernels.compiled.contents import contents_of
from gravel.kernels.compiled.folder import Folder, folder_path

SETTINGS = (
    *("OPT", "LOOP_VECTORIZE", "SLP_VECTORIZE", "ENABLE_AVX", "DISABLE_INTEL_SVML", "USING_SVML"),
    *("BOUNDSCHECK", "DEBUGINFO_DEFAULT", "CAPTURED_ERRORS"),
    *("LLVM_REFPRUNE_PASS", "LLVM_REFPRUNE_FLAGS", "DISABLE_PERFORMANCE_WARNINGS", "USE_LEGACY_TYPE_SYSTEM"),
    *("USE_LLVMLITE_MEMORY_MANAGER", "LLVM_PASS_TIMINGS", "NRT_STATS", "EXTEND_VARIABLE_LIFETIMES"),
)
"""Numba's settings that the code may depend on; those that a version does not have count as None."""


@cache
def toolchain() -> str:
    """Name compiler, interpreter and settings; the processor is in what Numba says of its code generator."""
    versions = (numba.__version__, llvmlite.__version__, numpy.__version__, sys.version, sys.abiflags)
    settings = [(name, getattr(config, name, None)) for name in SETTINGS]
    return f"{versions} {settings}"


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


def _readable(function: Callable[..., Any]) -> str:
    """Name a kernel by its module in `gravel.kernels` and itself."""
    return f"{function.__module__.removeprefix('gravel.kernels.')}.{function.__name__}"


def leave_mark(name: str) -> None:
    """Write an entry that is no kernel, and says that certain ones are there."""
    folder = _folder()
    if folder is not None:
        folder.write(name, b"")


class CompiledCache(NullCache):  # type: ignore[misc]
    """The compiled code of one function, by signature."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._keys: dict[Any, str | None] = {}
        self._announced: dict[Any, ExitStack] = {}

    @property
    def cache_path(self) -> str | None:
        """The folder of entries."""
        folder = _folder()
        return None if folder is None else str(folder.path)

    def close(self, sig: Any) -> None:
        """Tell other processes that wait for the code of a signature that it is there, or will not be."""
        self._announced.pop(sig, ExitStack()).close()

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the code for a signature, or None."""
        target_context.refresh()
        folder = _folder()
        # Values may change while this is compiled; see `save_overload`.
        key = self._keys[sig] = None if folder is None else self._key(sig, target_context.codegen())
        content = None if folder is None or key is None else folder.read(key)
        if content is None:
            COMPILE_TIME.compiles(_readable(self._function))
            if folder is None or key is None:
                return None
            content = folder.read(key) if folder.wait_for(key) else None
            if content is None:
                self._announced[sig] = announced = ExitStack()
                announced.enter_context(folder.announce(key))
                return None
        return compiler.CompileResult._rebuild(target_context, *pickle.loads(content))

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep the code for a signature, unless it holds addresses of this process."""
        folder, key = _folder(), self._keys.pop(sig, None)
        if folder is None or key is None or data.lifted or data.library.has_dynamic_globals:
            return
        if self._key(sig, data.codegen) == key:  # nothing changed while it was compiled
            folder.write(key, dumps(data._reduce()))

    def _key(self, sig: Any, codegen: Any) -> str | None:
        """Name the entry of a signature; None if that cannot be told."""
        signature = _Signature()
        signature.add(sig)
        if signature.unknown:
            return None
        try:
            content = contents_of(self._function, signature.classes)
        except (AttributeError, ImportError, KeyError, TypeError, ValueError, RuntimeError):
            return None  # a module that is not among the loaded ones, a value that cannot be written
        text = f"{toolchain()} {_processor(codegen)} {' '.join(signature.parts)}"
        return hashlib.sha256(content + text.encode()).hexdigest()


class _Signature:
    """The types of a signature, and the classes of some of them."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.classes: list[type] = []
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
            self.classes.append(made)
            self.parts.append(f"{made.__module__}.{made.__qualname__} {kind.fields}")
            self.add(tuple(kind.types))
        elif isinstance(kind, types.BaseTuple):
            self.parts.append(type(kind).__name__)
            self.add(tuple(kind.types))
        elif isinstance(kind, types.Dispatcher):
            self.parts.append(contents_of(kind.dispatcher.py_func).hex())
        else:
            self.parts.append(f"{type(kind).__name__} {kind}")
            # Functions and the like are named by their address.
            self.unknown = self.unknown or "<" in str(kind)
