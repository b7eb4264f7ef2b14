"""How often each drill tries: `pytest tests/drills -m slow --tries kills=22 --tries damage=500`."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.drills.small import Small, prepare

TRIES = {
    "kills": 220,
    "damage": 15_000,
    "pieces": 300,
    "fuzz": 10_000,
    "at_once": 240,
    "disk_full": 50,
    "clock": 40,
}
"""The full numbers; what each counts is said in `tests/drills/__init__.py`."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--tries",
        action="append",
        default=[],
        metavar="DRILL=NUMBER",
        help=f"tries of a drill, one of {', '.join(TRIES)}; may be repeated",
    )
    parser.addoption("--drill-seed", type=int, default=1, help="seed of the random choices of all drills")


@pytest.fixture(scope="session")
def tries(pytestconfig: pytest.Config) -> Callable[[str], int]:
    """Return the number of tries of a drill."""
    chosen = dict(TRIES)
    for words in pytestconfig.getoption("--tries", default=[]):
        name, _, number = words.partition("=")
        if name not in TRIES or not number.isdigit():
            raise pytest.UsageError(f"--tries {words}: write DRILL=NUMBER, with one of {', '.join(TRIES)}")
        chosen[name] = int(number)
    return chosen.__getitem__


@pytest.fixture(scope="session")
def seed(pytestconfig: pytest.Config) -> int:
    """Return the seed of the random choices."""
    return int(pytestconfig.getoption("--drill-seed", default=1))


def share(total: int, part: int, parts: int) -> int:
    """Return how many of all tries one of several tests makes; pytest-xdist spreads them over cores."""
    return total // parts + (part < total % parts)


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> Small:
    """A small workflow with a bit of everything that was run; drills work on copies of its cache."""
    return prepare(tmp_path_factory.mktemp("small"))
