"""The list of slow tests in docs/development.md: `python -m tests.slow_tests` writes it anew.

The run of all tests compares it with what it collects (`tests/conftest.py`, `tests/test_slow_tests.py`).
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "development.md"
BEGIN, END = "<!-- slow tests -->\n", "<!-- end of slow tests -->\n"


def slow_among(items: Iterable[pytest.Item]) -> set[tuple[str, str]]:
    """Return file and function of each slow test that needs no GPU."""
    return {
        (item.nodeid.partition("::")[0], getattr(item, "originalname", item.name))
        for item in items
        if item.get_closest_marker("slow") and not item.get_closest_marker("gpu")
    }


def listed() -> set[tuple[str, str]]:
    """Return what the page lists."""
    return {
        (file.strip(" `"), name.strip(" `"))
        for line in _parts()[1].splitlines()
        if line.startswith("| `")
        for file, _, names in [line.strip("|").split("|")]
        for name in names.split("<br>")
    }


def write(slow: set[tuple[str, str]]) -> None:
    """Replace the page's list."""
    by_file: dict[str, list[str]] = defaultdict(list)
    for file, name in sorted(slow):
        by_file[file].append(f"`{name}`")
    rows = [f"| `{file}` | {_about(file)} | {'<br>'.join(names)} |" for file, names in by_file.items()]
    table = "\n".join(["| file | what it tests | functions with slow cases |", "|---|---|---|", *rows])
    before, _, after = _parts()
    PAGE.write_text(f"{before}{BEGIN}{table}\n{END}{after}", encoding="utf-8")


def _parts() -> tuple[str, str, str]:
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    table, _, after = rest.partition(END)
    return before, table, after


def _about(file: str) -> str:
    """Return the first sentence of a file's docstring."""
    text = ast.get_docstring(ast.parse((ROOT / file).read_text(encoding="utf-8"))) or ""
    return " ".join(text.split("\n\n")[0].split()).replace("|", "\\|")


class _Collector:
    def __init__(self) -> None:
        self.slow: set[tuple[str, str]] = set()

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        self.slow = slow_among(items)


if __name__ == "__main__":
    collector = _Collector()
    pytest.main(["--collect-only", "-qq", "-m", "slow", "-p", "no:cacheprovider"], plugins=[collector])
    write(collector.slow)
