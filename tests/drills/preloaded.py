"""Small libraries in C that are preloaded into the processes of a drill."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest


def preloaded(source: str, folder: Path) -> Path:
    """Compile a library of this folder, such as `full_disk.c`; skips the test without a compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("there is no C compiler")
    library = folder / f"{source.removesuffix('.c')}.so"
    words = [compiler, "-shared", "-fPIC", "-O1", "-o", library, Path(__file__).with_name(source), "-ldl"]
    subprocess.run(words, check=True)
    return library
