"""Statements changed on purpose: each number of an estimate halved and doubled, one at a time.

Numbers are found in every function of the stages that runs while a statement is made, with the constants in
capitals that it names. Comparisons and shifts are left out: thresholds and units.
"""

from __future__ import annotations

import ast
import inspect
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from types import CodeType, FunctionType, ModuleType
from typing import Any

FACTORS = (0.5, 2)

Change = tuple[str, Any, set[str]]


def functions_of(make_all: Callable[[], Any]) -> dict[str, FunctionType]:
    """Return the functions of gravel's stages that run while statements are made."""
    codes: set[CodeType] = set()

    def note(frame: Any, event: str, _: Any) -> None:
        if event == "call" and frame.f_globals.get("__name__", "").startswith("gravel.stages."):
            codes.add(frame.f_code)

    sys.setprofile(note)
    try:
        make_all()
    finally:
        sys.setprofile(None)
    found = {}
    for module in list(_modules()):
        for function in _functions(module):
            if function.__code__ in codes and not function.__code__.co_filename.startswith("<"):
                found[f"{function.__module__}:{function.__qualname__}"] = function
    return found


def changes(running: Mapping[str, set[str]], functions: dict[str, FunctionType]) -> Iterator[Change]:
    """Yield, for each number and factor, a name, a context in which the number is another, and the cases.

    `running` has the functions that run for each case, by name.
    """
    constants: dict[tuple[str, int], set[str]] = {}
    for name, function in sorted(functions.items()):
        cases = {case for case, names in running.items() if name in names}
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
        places = list(_numbers(tree))
        for place, number in enumerate(places):
            for factor in FACTORS:
                yield (
                    f"{name} line {number.lineno}: {number.value} x {factor}",
                    _literal(function, place, factor),
                    cases,
                )
        for used in function.__code__.co_names:
            value = function.__globals__.get(used)
            if used.isupper() and type(value) is int and value > 1:
                constants.setdefault((used, value), set()).update(cases)
    for (used, value), cases in sorted(constants.items()):
        for factor in FACTORS:
            yield f"{used} = {value} x {factor}", _constant(used, value, factor), cases


@contextmanager
def _literal(function: FunctionType, place: int, factor: float) -> Iterator[None]:
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    number = list(_numbers(tree))[place]
    number.value = max(1, int(number.value * factor))
    head = tree.body[0]
    assert isinstance(head, ast.FunctionDef)
    head.decorator_list = []
    made: dict[str, Any] = {}
    exec(compile(tree, function.__code__.co_filename, "exec"), function.__globals__.copy(), made)
    before, function.__code__ = function.__code__, made[head.name].__code__
    try:
        yield
    finally:
        function.__code__ = before


@contextmanager
def _constant(name: str, value: int, factor: float) -> Iterator[None]:
    holders = [module for module in _modules() if vars(module).get(name) == value]
    for module in holders:
        setattr(module, name, int(value * factor))
    try:
        yield
    finally:
        for module in holders:
            setattr(module, name, value)


def _numbers(tree: ast.AST) -> Iterator[ast.Constant]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Compare) or (isinstance(node, ast.BinOp) and isinstance(node.op, ast.LShift)):
            continue
        if isinstance(node, ast.Constant) and type(node.value) is int and node.value > 1:
            yield node
        yield from _numbers(node)


def _modules() -> Iterator[ModuleType]:
    for name, module in sorted(sys.modules.items()):
        if name.startswith(("gravel.stages", "gravel.kernels")) and isinstance(module, ModuleType):
            yield module


def _functions(module: ModuleType) -> Iterator[FunctionType]:
    for value in list(vars(module).values()):
        members = [value]
        if inspect.isclass(value) and value.__module__ == module.__name__:
            members = [each.fget if isinstance(each, property) else each for each in vars(value).values()]
        for each in members:
            with suppress(AttributeError):
                each = inspect.unwrap(each)
            if isinstance(each, FunctionType) and each.__module__ == module.__name__:
                yield each
