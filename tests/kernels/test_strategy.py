"""The tables of strategies: nothing runs that is not in them, and a name stands for code of its own."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
from collections import Counter
from itertools import product
from pathlib import Path

import numpy
import pytest

from gravel.kernels import bfs
from gravel.kernels.bfs import choice, strategies
from gravel.kernels.layouts import encode
from gravel.kernels.strategy import COLUMNS, ENCODED, Strategy, strategies_in, table

PACKAGES = ("gravel.kernels.bfs", "gravel.kernels.components", "gravel.kernels.sssp")
LAYOUTS = (COLUMNS, ENCODED)
PATH = numpy.array([0, 1, 3, 4]), numpy.array([1, 0, 2, 1], numpy.uint32)


@pytest.mark.parametrize(("package", "layout", "backend"), [*product(PACKAGES, LAYOUTS, ("cpu", "cuda"))])
def test_no_two_names_stand_for_one_function(package: str, layout: str, backend: str) -> None:
    found = strategies_in(package, layout).values()
    named = Counter(each.target(backend) for each in found if each.target(backend))
    assert {target: count for target, count in named.items() if count > 1} == {}


@pytest.mark.parametrize("folder", ["cpu", "cuda"])
def test_every_search_of_the_package_is_in_the_table(folder: str) -> None:
    assert unlisted(f"gravel.kernels.bfs.{folder}") == []


def unlisted(name: str) -> list[str]:
    """Name the searches of a package that are in no table."""
    package = importlib.import_module(name)
    every = strategies_in("gravel.kernels.bfs").values()
    named = {each.target(backend) for each in every for backend in ("cpu", "cuda")}
    modules = [each.name for each in pkgutil.walk_packages(package.__path__, f"{name}.")]
    paths = {module: importlib.import_module(module).__file__ or "" for module in modules}
    found = [f"{module}:{each}" for module, path in paths.items() for each in _strategies_of(path)]
    assert found
    return [each for each in found if each not in named]


def _strategies_of(path: str) -> list[str]:
    """Name what a module makes graphs ready with: `prepare`, or a class that names its strategy."""
    found = []
    for node in ast.parse(Path(path).read_text()).body:
        if isinstance(node, ast.ClassDef):
            named = [ast.unparse(line) for line in node.body if isinstance(line, ast.Assign)]
            found += [node.name for line in named if re.match(r"strategy = '\w", line)]
        elif isinstance(node, ast.FunctionDef | ast.Assign):
            name = node.name if isinstance(node, ast.FunctionDef) else ast.unparse(node.targets[0])
            found += [name] if name == "prepare" or "= strategy_of_queues(" in ast.unparse(node) else []
    return found


def test_what_is_not_in_the_table_cannot_run(monkeypatch: pytest.MonkeyPatch) -> None:
    assert bfs.bfs(*PATH, 0, symmetric=True, strategy="top_down").distance.tolist() == [0, 1, 2]
    less = {name: each for name, each in strategies.STRATEGIES.items() if name != "top_down"}
    monkeypatch.setattr(strategies, "STRATEGIES", less)
    with pytest.raises(ValueError, match=r"unknown BFS strategy 'top_down'; there are \w+, "):
        bfs.prepare(*PATH, symmetric=True, strategy="top_down")
    with pytest.raises(ValueError, match="'top_down' does not search encoded rows"):
        bfs.prepare_rows(encode("varint", *PATH), symmetric=True, strategy="top_down")


def test_a_name_stands_once() -> None:
    with pytest.raises(ValueError, match="stands twice"):
        table(Strategy("a", "", "", cpu="m:f"), Strategy("a", "", "", cpu="m:g"))


def test_auto_stands_for_strategies_that_the_table_says() -> None:
    every = strategies.STRATEGIES
    for symmetric in (True, False):
        assert "cpu" in every[choice.choose(*PATH, symmetric=symmetric).strategy].automatic
        rows = encode("varint", *PATH)
        assert "cpu" in every[choice.choose_for_rows(rows, symmetric=symmetric).strategy].automatic
    for name, each in every.items():
        assert all(each.target(backend) for backend in (*each.automatic, *each.counts)), name


def test_a_strategy_that_does_not_run_here_says_so() -> None:
    with pytest.raises(ValueError, match="'hybrid' does not run on the CPU; it has GPU code alone"):
        strategies_in("gravel.kernels.bfs")["hybrid"].load("cpu")
    with pytest.raises(ValueError, match="'serial' does not run on a GPU; it has CPU code alone"):
        strategies_in("gravel.kernels.bfs")["serial"].load("cuda")


def test_what_ran_has_defaults_and_what_was_given() -> None:
    ran = strategies_in("gravel.kernels.bfs")["top_down"].ran("cpu", {"serial_below": 9})
    assert ran.function == "gravel.kernels.bfs.cpu.search:top_down"
    assert ran.options == {"serial_below": 9, "threads": None}
