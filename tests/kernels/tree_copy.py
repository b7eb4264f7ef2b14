"""A copy of gravel's packages that a test may edit, and programs that run on it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from tests import forked

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("kernels", "stages", "pipeline")


def link_packages(folder: Path) -> None:
    """Give packages below a folder the one name that they are imported by."""
    (folder / "gravel").mkdir()
    for file in (ROOT / "gravel").glob("*.py"):
        shutil.copy(file, folder / "gravel")
    for package in PACKAGES:
        if (folder / package).is_dir():
            (folder / "gravel" / package).symlink_to(f"../{package}")


class TreeCopy:
    """The packages below a folder, with a folder of compiled kernels of their own."""

    def __init__(self, folder: Path, packages: Sequence[str] = PACKAGES) -> None:
        self.folder = folder / "tree"
        self.compiled = folder / "compiled"
        for package in packages:
            ignored = shutil.ignore_patterns("__pycache__")
            shutil.copytree(ROOT / package, self.folder / package, ignore=ignored)
        link_packages(self.folder)

    def replace(self, name: str, old: str, new: str) -> None:
        """Replace a text that a file has exactly once."""
        path = self.folder / name
        text = path.read_text(encoding="utf-8")
        assert text.count(old) == 1, f"{name} has {text.count(old)} times {old!r}"
        path.write_text(text.replace(old, new), encoding="utf-8")

    def python(self, *words: str, expect: int = 0, **variables: str) -> str:
        """Run Python on the copy; returns what it printed."""
        variables = {
            "GRAVEL_COMPILED": str(self.compiled),
            "PYTHONPATH": str(self.folder),
            "PYTHONDONTWRITEBYTECODE": "",
        } | variables
        left = {name: value for name, value in os.environ.items() if not name.startswith("GRAVEL_")}
        done = forked.run(words, cwd=self.folder, env=left | variables)
        assert done.returncode == expect, done.stdout + done.stderr
        return done.stdout

    def entries(self) -> dict[str, bytes]:
        """Return the compiled kernels by name."""
        return {path.name: path.read_bytes() for path in self.compiled.iterdir()}
