"""Compiles protocols of kernels with the least order that the PTX memory model gives them, and runs them."""

from __future__ import annotations

import subprocess
from functools import cache
from pathlib import Path

from filelock import FileLock

from gravel.kernels.cuda.source import read_source
from tests.emulation import build
from tests.emulation.grid_kernels import without_cuda_alone

LITMUS = "tests/emulation/litmus"
SECONDS = 60.0
"""After which a program counts as one that hangs; each takes about one."""

_FOLDER = Path(__file__).resolve().parent / "litmus"
_WATCH = ("-fsanitize=thread", "-DWEAK_MEMORY")


class NoSuchText(Exception):
    """A mutation names what the kernel does not have, or has more than once."""


@cache
def _memory() -> Path:
    """Compile the memory itself, which is not watched."""
    source = _FOLDER / "weak_memory.cpp"
    made = build._folder(source.read_text()) / "weak_memory.o"
    with FileLock(made.with_suffix(".lock")):
        if not made.exists():
            build._compile("-c", str(source), made=made)
    return made


def _mutated(text: str, mutation: tuple[str, str] | None) -> str:
    if mutation is None:
        return text
    before, after = mutation
    if text.count(before) != 1:
        raise NoSuchText(f"{text.count(before)} times in the kernel: {before!r}")
    return text.replace(before, after)


def program(main: str, kernel: str, extra: str = "", mutation: tuple[str, str] | None = None) -> Path:
    """Compile a kernel and its `main`; `mutation` replaces a text of the kernel, which must be there once.

    `extra` are arguments that only this kernel takes.
    """
    text = _mutated(read_source(kernel, {"LAYOUT": "csr"}), mutation)
    text = without_cuda_alone(text)
    head, tail = (_FOLDER / main).read_text().split("// KERNEL\n")
    square = (_FOLDER / "square.hpp").read_text()
    tail = tail.replace(f'#include "{LITMUS}/square.hpp"\n', square)
    before = build.header(_FOLDER / "weak_memory.hpp", options=_WATCH)
    source = f"#define EXTRA {extra}\n{head}{text}\n{tail}"
    linked = str(_memory()), str(build.machine(("-DWEAK_MEMORY",)))
    folder = build._folder(str(before), source, *linked, *_WATCH)
    file, watched, made = folder / "main.cpp", folder / "main.o", folder / "main"
    with FileLock(folder / "lock"):
        if not made.exists():
            file.write_text(source)
            build._compile("-c", *_WATCH, "-include", str(before), str(file), made=watched)
            build._compile(str(watched), *linked, made=made)
    return made


def run(made: Path, seed: int, seconds: float = SECONDS) -> str | None:
    """Run a program; None if its protocol held, else what went wrong."""
    try:
        ended = subprocess.run([str(made), str(seed)], capture_output=True, text=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        return "it hangs"
    return None if ended.returncode == 0 else f"exit status {ended.returncode}: {ended.stdout}{ended.stderr}"
