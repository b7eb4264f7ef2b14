"""Builds libraries of emulated kernels, each once for all processes that test."""

from __future__ import annotations

import ctypes
import hashlib
import os
import subprocess
import tempfile
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from filelock import FileLock

from gravel.kernels.compiled.folder import Folder

_HEADER = Path(__file__).resolve().parent / "cuda_on_cpu.hpp"
_MACHINE = _HEADER.with_suffix(".cpp")
# Kernels read words as what they were not written as. Higher levels take longer to compile than they save.
# A variable of an inline function, as much of shared memory is, would be one for all libraries of a process,
# and as large as the library that was loaded first has it.
_FLAGS = (
    *("-std=c++17", "-Og", "-fPIC", "-pthread", "-fno-gnu-unique"),
    *("-fno-strict-aliasing", "-fpermissive", "-w"),
)


def _compile(*arguments: str, made: Path) -> None:
    """Let `made` appear whole: processes that died while they compiled must leave nothing that counts."""
    part = made.with_suffix(".part")
    subprocess.run(["g++", *_FLAGS, *arguments, "-o", str(part)], check=True)
    part.rename(made)


@cache
def _compiler() -> str:
    """Name the compiler: a library of another one is not what the texts compile to."""
    return subprocess.run(["g++", "-v"], check=True, capture_output=True, text=True).stderr


@cache
def _base(temporary: str) -> Path:
    """Where libraries are kept: a folder that only this user can write, since they are loaded."""
    base = Path(temporary) / f"gravel-emulated-{os.geteuid()}"
    Folder(base).close()
    return base


def _folder(*parts: str) -> Path:
    """Where what is made of these texts is kept, for later runs too."""
    name = hashlib.sha256("\0".join((_compiler(), *_FLAGS, *parts)).encode()).hexdigest()[:20]
    folder = _base(tempfile.gettempdir()) / name
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@cache
def header(*more: Path, options: tuple[str, ...] = ()) -> Path:
    """Precompile it and what follows it: most of a small kernel's time goes into what it includes."""
    text = "\n".join(file.read_text() for file in (_HEADER, *more))
    folder = _folder(text, *options)
    found, made = folder / _HEADER.name, folder / f"{_HEADER.name}.gch"
    with FileLock(folder / "lock"):
        if not made.exists():
            found.write_text(text)
            _compile("-x", "c++-header", *options, str(found), made=made)
    return found


@cache
def machine(options: tuple[str, ...] = ()) -> Path:
    """Compile what runs blocks; it is linked to each library, and optimised since all waiting is in it."""
    folder = _folder(_HEADER.read_text(), _MACHINE.read_text(), *options)
    made = folder / "machine.o"
    with FileLock(folder / "lock"):
        if not made.exists():
            _compile("-O2", *options, "-c", "-include", str(_HEADER), str(_MACHINE), made=made)
    return made


def expanded(source: str, options: Iterable[str]) -> str:
    """Give the source as the compiler sees it after the header."""
    command = ["g++", *_FLAGS, *options, "-include", str(_HEADER), "-E", "-P", "-x", "c++", "-"]
    return subprocess.run(command, input=source, check=True, capture_output=True, text=True).stdout


def library(source: str, options: Iterable[str]) -> ctypes.CDLL:
    """Compile what needs no more than the header, which comes first."""
    before, linked, options = header(), machine(), tuple(options)
    folder = _folder(str(before), str(linked), source, *options)
    file, made = folder / "kernels.cpp", folder / "kernels.so"
    with FileLock(folder / "lock"):
        if not made.exists():
            file.write_text(source)
            _compile("-shared", *options, "-include", str(before), str(file), str(linked), made=made)
    return ctypes.CDLL(str(made))
